package index

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
)

//go:embed adopt.lua
var adoptLua string

// adopting words what Adopt found.
const (
	foundUnreadable = "not an entry of this index"
	foundSeveral    = "one of several entries of this id"
)

// Adopt makes an index of a sorted set that somebody made by hand: its entries are
// what the index would have written, but there is no reverse index, from id to
// entry, and no declaration. It makes both, in steps of 200, and then Put and the
// others take the index. Nobody should change the sorted set meanwhile. It can be
// repeated, and does no harm to an index.
//
// The report has in Checked how many entries are in the index now, and tells of
// what was left as it is: entries that cannot be read (Dangling), and those of
// which an id has several, or with another score than 0 (Stale). Put the ids of
// those again, or Repair with a source. It fails where no entry at all can be
// read, for then the set is something else.
func (x *Lexical) Adopt(ctx context.Context, up maintain.Options) (maintain.Report, error) {
	r := engine.Start(up)
	err := x.adoptAll(ctx, r)
	return r.Report, x.wrap(ctx, err)
}

func (x *Lexical) adoptAll(ctx context.Context, r *engine.Run) error {
	if err := x.set.Check(ctx); err != nil {
		return err
	}
	there, err := x.adoptable(ctx)
	if err != nil {
		return err
	}
	for i := range x.set.Keys {
		keys := &x.set.Keys[i]
		err := x.restorable(ctx, r, keys, func(only []pair) error { return x.adoptPage(ctx, keys, only) })
		if err == nil {
			err = x.reviewAdopted(ctx, r, keys)
		}
		if err != nil {
			return err
		}
	}
	if there && r.Report.Checked == 0 {
		return fmt.Errorf("%w: none of the %d entries of %q is one of %s", ErrValue, r.Report.Problems(), x.set.Key, x.set.Declaration())
	}
	return x.set.Adopt(ctx)
}

// adoptable tells whether there are entries to adopt. It fails where there is
// nothing.
func (x *Lexical) adoptable(ctx context.Context) (bool, error) {
	entries, err := sum(ctx, x.set, func(k *partition.Keys) rueidis.Completed { return x.set.Client.B().Zcard().Key(k.Index).Build() })
	if err != nil || entries > 0 {
		return true, err
	}
	beside, err := sum(ctx, x.set, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Exists().Key(k.Content, k.Meta).Build()
	})
	if err == nil && beside == 0 {
		err = fmt.Errorf("%w: there is no sorted set %q", ErrNotFound, x.set.Keys[0].Index)
	}
	return false, err
}

// adoptPage puts entries into the reverse index.
func (x *Lexical) adoptPage(ctx context.Context, keys *partition.Keys, only []pair) error {
	wrong, err := x.scoresOf(ctx, keys, only)
	if err != nil {
		return err
	}
	var args []string
	for _, p := range only {
		if _, moved := wrong[p.member]; !moved {
			args = append(args, p.id, p.member)
		}
	}
	for some := range slices.Chunk(args, 2*batchEntries) {
		if err := x.adopt.Run(ctx, x.set.Client, keys.All(), append(x.set.Args(), some...)).Error(); err != nil {
			return err
		}
	}
	return nil
}

// reviewAdopted counts what a partition has now, and tells of what was left.
func (x *Lexical) reviewAdopted(ctx context.Context, r *engine.Run, keys *partition.Keys) error {
	before := r.Report.Problems()
	err := x.lostEntries(ctx, r, keys, func(lost []pair) error {
		wrong, err := x.scoresOf(ctx, keys, lost)
		if err != nil {
			return err
		}
		for _, p := range lost {
			problem := maintain.Problem{Kind: maintain.Stale, ID: p.id, Found: x.describe(p.member) + ", " + foundSeveral}
			score, moved := wrong[p.member]
			switch {
			case p.id == "":
				problem = maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q, %s", p.member, foundUnreadable)}
			case moved:
				problem.Found = fmt.Sprintf("%s with the score %g, which is not 0", x.describe(p.member), score)
			}
			r.Found(problem)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := x.set.Client.Do(ctx, x.set.Client.B().Zcard().Key(keys.Index).Build()).AsInt64()
	if err != nil {
		return err
	}
	return r.Step(ctx, int(max(0, all-(r.Report.Problems()-before))))
}

// Adopt makes an index of a sorted set that somebody made by hand, of ids and
// their numbers, in steps of 200. The report has in Checked how many entries are
// in the index now, and tells of those that it could not have written (Invalid),
// which stay as they are. It fails where all are of that kind.
func (x *Numeric[N]) Adopt(ctx context.Context, up maintain.Options) (maintain.Report, error) {
	r := engine.Start(up)
	err := x.adoptAll(ctx, r)
	return r.Report, x.wrap(ctx, err)
}

func (x *Numeric[N]) adoptAll(ctx context.Context, r *engine.Run) error {
	all, err := x.Len(ctx) // of what is declared otherwise it says so
	if err != nil {
		return err
	}
	if all == 0 {
		return fmt.Errorf("%w: there is no sorted set %q", ErrNotFound, x.set.Keys[0].Index)
	}
	err = r.Entries(ctx, x.set, pageSize, func(i int, pairs []string) (int, error) {
		keys := &x.set.Keys[i]
		left := 0
		for i := 0; i+1 < len(pairs); i += 2 {
			if !x.readable(keys, pairs[i], pairs[i+1]) {
				left++
				r.Found(maintain.Problem{Kind: maintain.Invalid, ID: pairs[i], Found: pairs[i+1]})
			}
		}
		return len(pairs)/2 - left, nil
	})
	if err != nil {
		return err
	}
	if r.Report.Checked == 0 {
		return fmt.Errorf("%w: none of the %d entries of %q is one of %s", ErrValue, all, x.set.Key, x.set.Declaration())
	}
	return x.set.Adopt(ctx)
}

// readable tells whether the index could have written an entry.
func (x *Numeric[N]) readable(keys *partition.Keys, id, score string) bool {
	v, err := (Column{Name: "value", Type: Float}).Parse(score)
	f, ok := v.(float64)
	if err != nil || !ok || checkID(id) != nil || x.set.Of(id).Index != keys.Index {
		return false
	}
	e, err := entryOf[N](id, f)
	return err == nil && checkNumber(e.Number) == nil
}
