package suggest

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
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
func (x *Index) Verify(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.walkOver(ctx, opt, false)
}

// Repair is Verify that mends what it finds, in the very step that finds it. Of a
// term and its entry the term in <key>.content is right; where it is lost, it is
// made of the entry.
func (x *Index) Repair(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	return x.walkOver(ctx, opt, true)
}

// upkeep is a run of Verify or Repair.
type upkeep struct {
	*engine.Run
	x    *Index
	mend bool
	look int // how many entries the next step looks at
}

func (x *Index) walkOver(ctx context.Context, opt maintain.Options, mend bool) (report maintain.Report, err error) {
	defer x.wrap(&err)
	if _, err := partition.Read(ctx, x.set.Client, x.set.Key); err != nil && !(mend && errors.Is(err, index.ErrNotFound)) {
		return maintain.Report{}, err
	}
	if err := x.set.Check(ctx); err != nil {
		return maintain.Report{}, err
	}
	u := upkeep{Run: engine.Start(opt), x: x, mend: mend}
	if u.Total, err = x.len(ctx); err != nil {
		return maintain.Report{}, err
	}
	if err := u.leftovers(ctx); err != nil {
		return u.Report, err
	}
	// Order matters: invalid heads go before missing ones are looked for, and so do
	// entries.
	for part := range x.keys {
		for _, what := range []string{"heads", "entries", "content"} {
			u.look = looked
			for cursor, more := "0", true; more; more = cursor != "0" {
				if cursor, err = u.step(ctx, part, what, cursor); err != nil {
					return u.Report, err
				}
			}
		}
	}
	return u.Report, nil
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

// step looks at the next few of a partition, and returns the cursor after them.
func (u *upkeep) step(ctx context.Context, part int, what, cursor string) (next string, err error) {
	mend := "0"
	if u.mend {
		mend = "1"
	}
	args := append(u.x.set.Args(), what, cursor, strconv.Itoa(u.look), mend)
	reply, err := u.x.scripts.verify.Run(ctx, u.x.set.Client, u.x.keys[part].all(), args).ToArray()
	if err := u.x.set.Error(ctx, err); err != nil {
		return "", err
	}
	if next, err = reply[0].ToString(); err != nil {
		return "", err
	}
	n, err := reply[1].AsInt64()
	if err != nil {
		return "", err
	}
	problems, err := reply[2].AsStrSlice()
	if err != nil {
		return "", err
	}
	bytes, err := reply[3].AsInt64()
	if err != nil {
		return "", err
	}
	if n > 0 {
		u.look = int(max(1, min(batchTerms, batchBytes*n/max(bytes, 1))))
	}
	if err := u.note(ctx, part, problems); err != nil {
		return "", err
	}
	if what != "entries" {
		return next, u.Uncounted(ctx, int(n))
	}
	return next, u.Step(ctx, int(n))
}

// note counts problems, as verify.lua tells them, and mends the heads that it
// left.
func (u *upkeep) note(ctx context.Context, part int, problems []string) error {
	for ; len(problems) >= 5; problems = problems[5:] {
		p := maintain.Problem{Kind: maintain.Kind(problems[0]), ID: problems[1], Found: problems[2], Want: problems[3]}
		u.Found(p)
		if problems[4] == "mend" {
			if err := u.x.mend(ctx, part, p.ID); err != nil {
				return err
			}
		}
		if problems[4] != "" {
			u.Report.Repaired++
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
