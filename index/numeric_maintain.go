package index

import (
	"cmp"
	"context"
	"strconv"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Verify compares the index with objects, in steps of 200: with those that All yields,
// and with Lookup it finds entries without an object. A numeric index has nothing of its
// own to disagree with, so it needs a source.
func (x *Numeric[N]) Verify(ctx context.Context, src *Source[N], opt maintain.Options) (maintain.Report, error) {
	return x.maintenance().newTarget().verify(ctx, x.maintenance().source(src), opt)
}

// Repair finds what Verify finds and gives the entries the numbers of their objects.
// Each entry is compared again in the step that changes it, so that concurrent writes
// stay. The source needs its Lookup.
func (x *Numeric[N]) Repair(ctx context.Context, src *Source[N], opt maintain.Options) (maintain.Report, error) {
	return x.maintenance().newTarget().repair(ctx, x.maintenance().source(src), opt)
}

// Rebuild makes the index anew from a source, next to the old one, which serves until
// the new one replaces it: in one step that has caught up with all that was written
// meanwhile. See Lexical.Rebuild.
func (x *Numeric[N]) Rebuild(ctx context.Context, src Source[N], opt maintain.Options) (maintain.Report, error) {
	return x.maintenance().newTarget().rebuild(ctx, *x.maintenance().source(&src), opt)
}

// numericTarget is a numeric index as Verify, Repair and Rebuild see it: with the scores as
// texts.
type numericTarget[N Number] struct{ x *Numeric[N] }

func (x *Numeric[N]) maintenance() numericTarget[N] { return numericTarget[N]{x} }

// source returns a source of scores.
func (nt numericTarget[N]) source(src *Source[N]) *Source[string] {
	if src == nil {
		src = &Source[N]{}
	}
	scores := Convert(*src, func(id string, n N) (string, error) {
		return scoreText(n), cmp.Or(checkID(id), checkNumber(n))
	})
	return &scores
}

// newTarget adapts the index to the maintenance engine.
func (nt numericTarget[N]) newTarget() *target {
	return &target{
		set: nt.x.set, tracker: engine.NewTracker(nt.x.set, nil),
		watch: partition.NewScript(numericWatchLua), replace: partition.NewScript(numericReplaceLua),
		fill: partition.NewScript(numericFillLua), finish: engine.NewFinish(numericFinishLua),
		total:    nt.x.Len,
		entries:  nt.withoutObject,
		values:   nt.scores,
		check:    func(string, string) error { return nil },
		describe: func(score string) string { return score },
		normal:   normalScore,
		wrap:     nt.x.wrap,
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
func (nt numericTarget[N]) scores(ctx context.Context, ids []string) ([]string, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = nt.x.set.Client.B().Zscore().Key(nt.x.set.Of(id).Index).Member(id).Build()
	}
	scores := make([]string, len(ids))
	for i, r := range nt.x.set.Client.DoMulti(ctx, commands...) {
		score, err := r.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		scores[i] = normalScore(score)
	}
	return scores, nil
}

// withoutObject looks for entries without an object.
func (nt numericTarget[N]) withoutObject(ctx context.Context, c *checker) error {
	if c.src.Lookup == nil {
		return nil
	}
	return c.engine.Entries(ctx, nt.x.set, pageSize, func(_ int, pairs []string) (int, error) {
		var ids []string
		score := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			ids, score[pairs[i]] = append(ids, pairs[i]), pairs[i+1]
		}
		known, err := c.known(ctx, ids)
		if err != nil {
			return 0, err
		}
		var gone []string
		for _, id := range ids {
			if !known[id] {
				c.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: id, Found: normalScore(score[id])})
				gone = append(gone, id)
			}
		}
		return len(ids), c.recheck(ctx, gone)
	})
}
