package entries

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/batch"
	engine "retwis/internal/maintain"
	"retwis/internal/ordered"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// What Adopt leaves as it is.
const (
	foundUnreadable = "not an entry of this index"
	foundSeveral    = "one of several entries of this id"
)

// Adopt makes an index of a sorted set made by hand, with the entries that the index would
// have written, but without a declaration and, unless it is scored, a reverse index. It makes
// both, in steps of 200; then Put and the other methods accept the index. The sorted set must
// not change meanwhile. Adopt can be repeated, and does not harm an index.
//
// Report.Checked is the number of entries in the index now. The report has the entries that
// stay as they are: those that cannot be read, and those whose id has several or whose score is
// not 0. If no entry can be read, the sorted set is something else, and Adopt fails.
func (x *Index) Adopt(ctx context.Context, opt maintain.Options) (maintain.Report, error) {
	r := engine.Start(opt)
	err := x.adoptAll(ctx, r)
	return r.Report, x.Wrap(ctx, err)
}

func (x *Index) adoptAll(ctx context.Context, r *engine.Run) error {
	all, err := x.adoptable(ctx)
	if err != nil {
		return err
	}
	if x.opt.Scored {
		err = x.adoptScores(ctx, r)
	} else {
		err = x.adoptMembers(ctx, r)
	}
	if err == nil && all > 0 && r.Report.Checked == 0 {
		err = fmt.Errorf("%w: none of the %d entries of %q is an entry of %s", ordered.ErrValue, all, x.Set.Key, x.Set.Declaration())
	}
	if err != nil {
		return err
	}
	return x.Set.Adopt(ctx)
}

// adoptScores counts the entries that the index could have written.
func (x *Index) adoptScores(ctx context.Context, r *engine.Run) error {
	return r.Entries(ctx, x.Set, pageSize, func(i int, pairs []string) (int, error) {
		left := 0
		for at := 0; at+1 < len(pairs); at += 2 {
			if id := pairs[at]; x.Set.Of(id) != &x.Set.Keys[i] || CheckID(id) != nil || x.opt.CheckScore(pairs[at+1]) != nil {
				left++
				r.Found(maintain.Problem{Kind: maintain.Invalid, ID: id, Found: pairs[at+1]})
			}
		}
		return len(pairs)/2 - left, nil
	})
}

// adoptMembers makes the reverse index.
func (x *Index) adoptMembers(ctx context.Context, r *engine.Run) error {
	for i := range x.Set.Keys {
		keys := &x.Set.Keys[i]
		err := x.restorable(ctx, r, keys, func(only []Entry) error { return x.adoptPage(ctx, keys, only) })
		if err == nil {
			err = x.reviewAdopted(ctx, r, keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adoptable returns how many entries there are to adopt. It fails if there are no data at
// all.
func (x *Index) adoptable(ctx context.Context) (int64, error) {
	all, err := x.Set.Len(ctx)
	if err != nil || all > 0 {
		return all, err
	}
	other, err := x.Set.Sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return x.Set.Client.B().Exists().Key(k.Content, k.Meta).Build()
	})
	if err == nil && other == 0 {
		err = fmt.Errorf("%w: there is no sorted set %q", partition.ErrNotFound, x.Set.Keys[0].Index)
	}
	return 0, err
}

// adoptPage puts entries into the reverse index.
func (x *Index) adoptPage(ctx context.Context, keys *partition.Keys, only []Entry) error {
	wrong, err := x.scores(ctx, keys, only)
	if err != nil {
		return err
	}
	var args []string
	for _, p := range only {
		if _, moved := wrong[p.Value]; !moved {
			args = append(args, p.ID, p.Value)
		}
	}
	for some := range slices.Chunk(args, 2*batch.Items) {
		if err := x.Scripts.Adopt.Run(ctx, x.Set.Client, keys.All(), append(x.Set.Args(), some...)).Error(); err != nil {
			return err
		}
	}
	return nil
}

// reviewAdopted counts the entries of a partition, and reports those left as they are.
func (x *Index) reviewAdopted(ctx context.Context, r *engine.Run, keys *partition.Keys) error {
	before := r.Report.Problems()
	err := x.lost(ctx, r, keys, func(lost []Entry) error {
		wrong, err := x.scores(ctx, keys, lost)
		if err != nil {
			return err
		}
		for _, p := range lost {
			problem := maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: x.opt.Describe(p.Value) + ", " + foundSeveral}
			score, moved := wrong[p.Value]
			switch {
			case p.ID == "":
				problem = maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q, %s", p.Value, foundUnreadable)}
			case moved:
				problem.Found = fmt.Sprintf("%s with the score %g, which is not 0", x.opt.Describe(p.Value), score)
			}
			r.Found(problem)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := x.Set.Client.Do(ctx, x.Set.Client.B().Zcard().Key(keys.Index).Build()).AsInt64()
	if err != nil {
		return err
	}
	return r.Step(ctx, int(max(0, all-(r.Report.Problems()-before))))
}
