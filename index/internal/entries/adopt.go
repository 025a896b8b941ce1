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

// Reasons why Adopt leaves an entry unchanged.
const (
	foundUnreadable = "not an entry of this index"
	foundSeveral    = "one of several entries of this id"
)

// Adopt turns a sorted set created by hand, with entries that the index would have written,
// into an index: it adds the declaration and, unless the index is scored, the reverse index, in
// steps of 200 entries. Put and the other methods then accept the index. The sorted set must not
// change meanwhile. Adopt can be repeated, and does not harm an existing index.
//
// Report.Checked is the number of entries that are now in the index. The report lists the
// entries that were not adopted: unreadable ones, and those whose id has several entries or
// whose score is not 0. If no entry is readable, Adopt fails.
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
		invalid := 0
		for j := 0; j+1 < len(pairs); j += 2 {
			if id := pairs[j]; x.Set.Of(id) != &x.Set.Keys[i] || CheckID(id) != nil || x.opt.CheckScore(pairs[j+1]) != nil {
				invalid++
				r.Found(maintain.Problem{Kind: maintain.Invalid, ID: id, Found: pairs[j+1]})
			}
		}
		return len(pairs)/2 - invalid, nil
	})
}

// adoptMembers builds the reverse index.
func (x *Index) adoptMembers(ctx context.Context, r *engine.Run) error {
	for i := range x.Set.Keys {
		keys := &x.Set.Keys[i]
		err := x.restorable(ctx, r, keys, func(lost []Entry) error { return x.adoptPage(ctx, keys, lost) })
		if err == nil {
			err = x.reviewAdopted(ctx, r, keys)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adoptable returns the number of entries to adopt. It fails if no key of the index exists.
func (x *Index) adoptable(ctx context.Context) (int64, error) {
	all, err := x.Set.Len(ctx)
	if err != nil || all > 0 {
		return all, err
	}
	existing, err := x.Set.Sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return x.Set.Client.B().Exists().Key(k.Content, k.Meta).Build()
	})
	if err == nil && existing == 0 {
		err = fmt.Errorf("%w: there is no sorted set %q", partition.ErrNotFound, x.Set.Keys[0].Index)
	}
	return 0, err
}

// adoptPage adds entries to the reverse index.
func (x *Index) adoptPage(ctx context.Context, keys *partition.Keys, lost []Entry) error {
	nonzero, err := x.scores(ctx, keys, lost)
	if err != nil {
		return err
	}
	var args []string
	for _, p := range lost {
		if _, hasScore := nonzero[p.Value]; !hasScore {
			args = append(args, p.ID, p.Value)
		}
	}
	for chunk := range slices.Chunk(args, 2*batch.Items) {
		if err := x.Scripts.Adopt.Run(ctx, x.Set.Client, keys.All(), append(x.Set.Args(), chunk...)).Error(); err != nil {
			return err
		}
	}
	return nil
}

// reviewAdopted counts the adopted entries of a partition, and reports the entries that were not
// adopted.
func (x *Index) reviewAdopted(ctx context.Context, r *engine.Run, keys *partition.Keys) error {
	before := r.Report.Problems()
	err := x.lost(ctx, r, keys, func(lost []Entry) error {
		nonzero, err := x.scores(ctx, keys, lost)
		if err != nil {
			return err
		}
		for _, p := range lost {
			problem := maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: x.opt.Describe(p.Value) + ", " + foundSeveral}
			score, hasScore := nonzero[p.Value]
			switch {
			case p.ID == "":
				problem = maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q, %s", p.Value, foundUnreadable)}
			case hasScore:
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
