package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/batch"
	"retwis/index/internal/members"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// What Adopt leaves as it is.
const (
	foundUnreadable = "not an entry of this index"
	foundSeveral    = "one of several entries of this id"
)

// Adopt makes an index of a sorted set made by hand, with the entries that the index
// would have written, but without a reverse index, from id to entry, and a declaration.
// It makes both, in steps of 200; then Put and the other methods accept the index. The
// sorted set must not change meanwhile. Adopt can be repeated, and does not harm an
// index.
//
// Report.Checked is the number of entries in the index now. The report has the entries
// that stay as they are: those that cannot be read (Dangling), and those whose id has
// several or whose score is not 0 (Stale). Put the ids of those again, or Repair with a
// source. If no entry can be read, the sorted set is something else, and Adopt fails.
func (x *Lexical) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	r := engine.Start(opt)
	err := x.adoption().adoptAll(ctx, r)
	return r.Report, x.wrap(ctx, err)
}

// lexicalAdoption fills the reverse index of entries that another program has written.
type lexicalAdoption struct{ x *Lexical }

func (x *Lexical) adoption() lexicalAdoption { return lexicalAdoption{x} }

func (la lexicalAdoption) adoptAll(ctx context.Context, r *engine.Run) error {
	all, err := la.adoptable(ctx)
	if err != nil {
		return err
	}
	for i := range la.x.set.Keys {
		keys := &la.x.set.Keys[i]
		err := la.x.reverse().Restorable(ctx, r, keys, func(only []members.Member) error { return la.adoptPage(ctx, keys, only) })
		if err == nil {
			err = la.reviewAdopted(ctx, r, keys)
		}
		if err != nil {
			return err
		}
	}
	return adopted(ctx, la.x.set, r, all)
}

// adopted declares an index, unless it has none of the entries that there are.
func adopted(ctx context.Context, set *partition.Set, r *engine.Run, all int64) error {
	if all > 0 && r.Report.Checked == 0 {
		return fmt.Errorf("%w: none of the %d entries of %q is an entry of %s", ErrValue, all, set.Key, set.Declaration())
	}
	return set.Adopt(ctx)
}

// adoptable returns how many entries there are to adopt. It fails if there are no data at
// all.
func (la lexicalAdoption) adoptable(ctx context.Context) (int64, error) {
	all, err := la.x.set.Len(ctx)
	if err != nil || all > 0 {
		return all, err
	}
	other, err := la.x.set.Sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return la.x.set.Client.B().Exists().Key(k.Content, k.Meta).Build()
	})
	if err == nil && other == 0 {
		err = fmt.Errorf("%w: there is no sorted set %q", ErrNotFound, la.x.set.Keys[0].Index)
	}
	return 0, err
}

// adoptPage puts entries into the reverse index.
func (la lexicalAdoption) adoptPage(ctx context.Context, keys *partition.Keys, only []members.Member) error {
	wrong, err := la.x.reverse().Scores(ctx, keys, only)
	if err != nil {
		return err
	}
	var args []string
	for _, p := range only {
		if _, moved := wrong[p.Member]; !moved {
			args = append(args, p.ID, p.Member)
		}
	}
	for some := range slices.Chunk(args, 2*batch.Entries) {
		if err := la.x.adopt.Run(ctx, la.x.set.Client, keys.All(), append(la.x.set.Args(), some...)).Error(); err != nil {
			return err
		}
	}
	return nil
}

// reviewAdopted counts the entries of a partition, and reports those left as they are.
func (la lexicalAdoption) reviewAdopted(ctx context.Context, r *engine.Run, keys *partition.Keys) error {
	before := r.Report.Problems()
	err := la.x.reverse().Lost(ctx, r, keys, func(lost []members.Member) error {
		wrong, err := la.x.reverse().Scores(ctx, keys, lost)
		if err != nil {
			return err
		}
		for _, p := range lost {
			problem := maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: la.x.describe(p.Member) + ", " + foundSeveral}
			score, moved := wrong[p.Member]
			switch {
			case p.ID == "":
				problem = maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q, %s", p.Member, foundUnreadable)}
			case moved:
				problem.Found = fmt.Sprintf("%s with the score %g, which is not 0", la.x.describe(p.Member), score)
			}
			r.Found(problem)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := la.x.set.Client.Do(ctx, la.x.set.Client.B().Zcard().Key(keys.Index).Build()).AsInt64()
	if err != nil {
		return err
	}
	return r.Step(ctx, int(max(0, all-(r.Report.Problems()-before))))
}

// Adopt makes an index of a sorted set made by hand, of ids scored by numbers, in steps
// of 200. Report.Checked is the number of entries in the index now. Entries that the
// index could not have written are reported as Invalid and stay as they are; if all are
// of that kind, Adopt fails.
func (x *Numeric[N]) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	r := engine.Start(opt)
	err := x.adoptAll(ctx, r)
	return r.Report, x.wrap(ctx, err)
}

func (x *Numeric[N]) adoptAll(ctx context.Context, r *engine.Run) error {
	all, err := x.set.Len(ctx)
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
	return adopted(ctx, x.set, r, all)
}

// readable reports whether the index could have written an entry.
func (x *Numeric[N]) readable(keys *partition.Keys, id, score string) bool {
	v, err := (Column{Name: "value", Type: Float}).Parse(score)
	f, ok := v.(float64)
	if err != nil || !ok || checkID(id) != nil || x.set.Of(id).Index != keys.Index {
		return false
	}
	e, err := entryOf[N](id, f)
	return err == nil && checkNumber(e.Number) == nil
}
