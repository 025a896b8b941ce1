package index

import (
	"cmp"
	"context"
	"strconv"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
)

// Verify compares the index with objects, in steps of 200, while others read and
// write: with those that Walk yields, and with Lookup it finds entries of objects
// that do not exist. There is nothing that a numeric index could disagree with by
// itself.
func (x *Numeric[N]) Verify(ctx context.Context, src Source[N], up maintain.Options) (maintain.Report, error) {
	return x.upkeep(ctx, x.source(src), up, nil)
}

// Repair finds what Verify finds and gives the entries the numbers of their
// objects. Each is looked at again in the step that changes it, so that what
// others write meanwhile stays. The source needs its Lookup.
func (x *Numeric[N]) Repair(ctx context.Context, src Source[N], up maintain.Options) (maintain.Report, error) {
	var report maintain.Report
	scores := x.source(src)
	err := x.kept().repairing(ctx, scores.Lookup, func(m *mender) (err error) {
		report, err = x.upkeep(ctx, scores, up, m)
		return err
	})
	return report, err
}

// Rebuild makes the index anew from a source, beside the old one, which serves
// until the new one takes its place: in one step that has caught up with all that
// others wrote meanwhile.
func (x *Numeric[N]) Rebuild(ctx context.Context, src Source[N], up maintain.Options) (maintain.Report, error) {
	r := engine.Start(up)
	err := rebuild(ctx, x.set, r, x.noting, x.fill, x.finish, x.source(src))
	return r.Report, x.wrap(ctx, err)
}

// source is a source of scores.
func (x *Numeric[N]) source(src Source[N]) Source[string] {
	return Convert(src, func(id string, n N) (string, error) {
		return scoreText(n), cmp.Or(checkID(id), checkNumber(n))
	})
}

// kept is what upkeep has to know of the index.
func (x *Numeric[N]) kept() *kept {
	return &kept{
		set: x.set, noting: x.noting, watch: x.watch, replace: x.replace,
		values:   x.scores,
		check:    func(string, string) error { return nil },
		describe: func(score string) string { return score },
		normal:   normalScore,
	}
}

// normalScore writes a score as scoreText does.
func normalScore(score string) string {
	f, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return ""
	}
	return scoreText(f)
}

// scores returns the score of each id.
func (x *Numeric[N]) scores(ctx context.Context, ids []string) ([]string, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = x.set.Client.B().Zscore().Key(x.set.Of(id).Index).Member(id).Build()
	}
	scores := make([]string, len(ids))
	for i, r := range x.set.Client.DoMulti(ctx, commands...) {
		score, err := r.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		scores[i] = normalScore(score)
	}
	return scores, nil
}

func (x *Numeric[N]) upkeep(ctx context.Context, src Source[string], up maintain.Options, m *mender) (maintain.Report, error) {
	r := engine.Start(up)
	err := x.walkAll(ctx, r, src, m)
	return r.Report, x.wrap(ctx, err)
}

func (x *Numeric[N]) walkAll(ctx context.Context, r *engine.Run, src Source[string], m *mender) error {
	var err error
	if r.Total, err = x.Len(ctx); err != nil {
		return err
	}
	if err := x.noting.leftovers(ctx, x.set, r, m != nil); err != nil {
		return err
	}
	if src.Lookup != nil {
		err := scanEntries(ctx, x.set, r, func(ctx context.Context, _ *partition.Keys, pairs []string) (int, error) {
			return x.objectless(ctx, r, m, src.Lookup, pairs)
		})
		if err != nil {
			return err
		}
	}
	if src.All == nil {
		return nil
	}
	c := sourceCheck{kept: x.kept(), r: r, m: m}
	return c.run(ctx, src)
}

// objectless looks for entries without objects.
func (x *Numeric[N]) objectless(ctx context.Context, r *engine.Run, m *mender, lookup func(context.Context, []string) ([]Object[string], error), pairs []string) (int, error) {
	var ids []string
	score := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		ids, score[pairs[i]] = append(ids, pairs[i]), pairs[i+1]
	}
	objects, err := lookup(ctx, ids)
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	for _, o := range objects {
		known[o.ID] = true
	}
	var gone []string
	for _, id := range ids {
		if !known[id] {
			r.Found(maintain.Problem{Kind: maintain.Dangling, ID: id, Found: normalScore(score[id])})
			gone = append(gone, id)
		}
	}
	return len(ids), m.recheck(ctx, r, gone)
}
