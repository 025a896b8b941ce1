package suggest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retwis/index"
	"retwis/internal/partition"
	"retwis/internal/scan"
)

// looked is how many entries the first step of a walk looks at, about. The next
// ones look at as many as make a batch, if their names are as long as those were:
// each byte of a name is a prefix that may have a head.
const looked = 10

// Verify looks whether entries, terms and heads agree with each other, and
// returns what does not: entries without a term, terms without an entry or with
// another, entries out of order, heads that miss a term that belongs there. It
// looks at fifty at a time, about, fewer of long ones, each in one step with all that it must agree
// with, so that writers neither disturb it nor are kept waiting. What is written
// meanwhile is right, and may be looked at or not. Of no index at all it says
// index.ErrNotFound.
func (x *Index) Verify(ctx context.Context, opt index.Upkeep) (index.Report, error) {
	return x.walkOver(ctx, opt, false)
}

// Repair is Verify that mends what it finds, in the very step that finds it. Of a
// term and its entry the term in <key>.content is right; where it is lost, it is
// made of the entry.
func (x *Index) Repair(ctx context.Context, opt index.Upkeep) (index.Report, error) {
	return x.walkOver(ctx, opt, true)
}

// upkeep is a run of Verify or Repair.
type upkeep struct {
	x      *Index
	opt    index.Upkeep
	mend   bool
	pace   *partition.Pace
	begin  time.Time
	total  int64
	look   int // how many entries the next step looks at
	report index.Report
}

func (x *Index) walkOver(ctx context.Context, opt index.Upkeep, mend bool) (report index.Report, err error) {
	defer x.wrap(&err)
	if _, err := partition.Read(ctx, x.set.Client, x.set.Key); err != nil && !(mend && errors.Is(err, index.ErrNotFound)) {
		return index.Report{}, err
	}
	if err := x.set.Check(ctx); err != nil {
		return index.Report{}, err
	}
	u := upkeep{x: x, opt: opt, mend: mend, pace: partition.NewPace(opt.Rate), begin: time.Now(), look: looked}
	at, err := parsePlace(opt.After, len(x.keys))
	if err != nil {
		return index.Report{}, err
	}
	if u.total, err = x.len(ctx); err != nil {
		return index.Report{}, err
	}
	if opt.After == "" {
		if err := u.leftovers(ctx); err != nil {
			return u.report, err
		}
	}
	for more := true; more; {
		if more, err = u.step(ctx, &at); err != nil {
			return u.report, err
		}
	}
	return u.report, nil
}

// place is how far a run has come: which partition, which of its walks, and the
// cursor of that.
type place struct {
	part, walk int
	cursor     string
}

// walks are those of a partition, in order: a head that is none must have gone
// before one is missed, and an entry that is none before one is missed.
func walks() []string { return []string{"heads", "entries", "content"} }

func (p place) String() string {
	return scan.EncodeCursor(fmt.Sprintf("%d %d %s", p.part, p.walk, p.cursor))
}

func parsePlace(cursor string, partitions int) (place, error) {
	if cursor == "" {
		return place{cursor: "0"}, nil
	}
	text, err := scan.DecodeCursor(cursor)
	if err == nil {
		var p place
		_, err = fmt.Sscanf(text, "%d %d %s", &p.part, &p.walk, &p.cursor)
		if _, wrong := strconv.ParseUint(p.cursor, 10, 64); err == nil && wrong == nil &&
			p.part >= 0 && p.part < partitions && p.walk >= 0 && p.walk < len(walks()) {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("%w: Upkeep.After is not a cursor that Progress gave", index.ErrValue)
}

// leftovers looks for what a rebuild has left that was killed.
func (u *upkeep) leftovers(ctx context.Context) error {
	do, done := "leftover", ""
	if u.mend {
		do, done = "clear", "mended"
	}
	r := rebuild{x: u.x}
	for i, k := range u.x.keys {
		n, err := r.step(ctx, i, do, 0)
		if err == nil && n > 0 {
			err = u.note(ctx, i, []string{"dangling", "", k.Next + ", of a rebuild that was killed", "", done})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step looks at the next few, and goes on. It returns false at the end.
func (u *upkeep) step(ctx context.Context, at *place) (bool, error) {
	k := u.x.keys[at.part]
	mend := "0"
	if u.mend {
		mend = "1"
	}
	args := append(u.x.set.Args(), walks()[at.walk], at.cursor, strconv.Itoa(u.look), mend)
	reply, err := u.x.scripts.verify.Run(ctx, u.x.set.Client, k.all(), args).ToArray()
	if err := u.x.set.Error(ctx, err); err != nil {
		return false, err
	}
	next, err := reply[0].ToString()
	if err != nil {
		return false, err
	}
	n, err := reply[1].AsInt64()
	if err != nil {
		return false, err
	}
	problems, err := reply[2].AsStrSlice()
	if err != nil {
		return false, err
	}
	bytes, err := reply[3].AsInt64()
	if err != nil {
		return false, err
	}
	if n > 0 {
		u.look = int(max(1, min(batchTerms, batchBytes*n/max(bytes, 1))))
	}
	if walks()[at.walk] == "entries" {
		u.report.Checked += n
	}
	if err := u.note(ctx, at.part, problems); err != nil {
		return false, err
	}
	if at.cursor = next; next == "0" {
		at.walk++
		u.look = looked
	}
	if at.walk == len(walks()) {
		at.walk = 0
		at.part++
	}
	if u.opt.Progress != nil {
		p := index.Progress{Report: u.report, Total: u.total, Elapsed: time.Since(u.begin)}
		if at.part < len(u.x.keys) {
			p.Cursor = at.String()
		}
		u.opt.Progress(p)
	}
	return at.part < len(u.x.keys), u.pace.Done(ctx, int(n))
}

// note counts problems, as verify.lua tells them, and mends the heads that it
// left.
func (u *upkeep) note(ctx context.Context, part int, problems []string) error {
	examples := u.opt.Examples
	if examples == 0 {
		examples = 10
	}
	for ; len(problems) >= 5; problems = problems[5:] {
		p := index.Problem{Kind: problems[0], ID: problems[1], Found: problems[2], Want: problems[3]}
		switch p.Kind {
		case "missing":
			u.report.Missing++
		case "stale":
			u.report.Stale++
		case "dangling":
			u.report.Dangling++
		}
		if len(u.report.Examples) < examples {
			u.report.Examples = append(u.report.Examples, p)
		}
		if problems[4] == "mend" {
			if err := u.x.mend(ctx, part, p.ID); err != nil {
				return err
			}
		}
		if problems[4] != "" {
			u.report.Repaired++
		}
	}
	return nil
}

// rebuildError words what a script of a rebuild replied.
func (x *Index) rebuildError(ctx context.Context, err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "REPLACED") {
		return index.ErrReplaced
	}
	return x.set.Error(ctx, err)
}
