package query

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"retwis/model/internal/schema"
)

// countAttempts limits how often Count sweeps expired records before it checks each entry
// instead.
const countAttempts = 3

// count counts up to limit matches; 0: all.
func (f *executor) count(ctx context.Context, limit int64) (int64, error) {
	if f.among != nil {
		return f.countAmong(ctx, limit)
	}
	what := f.countable()
	if what == "" {
		return f.countEach(ctx, limit)
	}
	var total atomic.Int64
	err := each(len(f.t.Layout.Parts), func(i int) error {
		n, err := f.scans[i].count(ctx, what, limit)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

// The kinds of entries that count.lua counts.
const (
	countKey   = "key"
	countAny   = "any"
	countEvery = "every"
)

// countable returns what count.lua must count so that entries and matches correspond one to
// one, or "" if count.lua cannot count the matches.
func (f *executor) countable() string {
	if len(f.paths) != 1 {
		return ""
	}
	src := f.paths[0]
	filter, groups := split(src.residual(f.e))
	switch {
	case src.once || len(filter.terms) > 0 || src.x != nil && src.x.Unique:
		return ""
	case len(src.groups) == 0 && len(groups) == 0:
		return countKey
	case src.x != nil || len(src.groups) == 0:
		return ""
	}
	groups = slices.Concat(src.groups, groups)
	if !slices.ContainsFunc(groups, func(g *group) bool { return g.not || len(g.sets) != 1 }) {
		return countEvery
	}
	if sets := groups[0].sets; len(groups) == 1 && !groups[0].not && !slices.ContainsFunc(sets, func(e schema.Entry) bool {
		return e.Index != sets[0].Index || e.Index.ListColumn >= 0
	}) {
		return countAny
	}
	return ""
}

// count counts the entries in a partition.
func (w *scan) count(ctx context.Context, what string, limit int64) (int64, error) {
	for range countAttempts {
		var n int64
		var reply string
		err := w.t.Registry.RetryRestored(ctx, func() (err error) {
			n, reply, err = w.countEntries(ctx, what, limit)
			return err
		})
		if err != nil || reply == "" {
			return n, err
		}
		if reply == "MANY" {
			break
		}
		if _, err := w.t.Sweep(ctx, w.part); err != nil {
			return 0, err
		}
	}
	return w.countEach(ctx, limit)
}

// countEntries counts the entries in the ranges or sets of a path, in batches of ranges. reply
// is the reply AGAIN or MANY of the script, or "".
func (w *scan) countEntries(ctx context.Context, what string, limit int64) (total int64, reply string, err error) {
	t, src := w.t, w.accessPath
	keys := []string{w.part.Expires, w.part.Meta}
	args := []string{what, strconv.FormatInt(limit, 10), strconv.FormatInt(flag(t.Schema.Expires >= 0), 10), ""}
	var used []*schema.Index
	switch {
	case src.x != nil:
		keys = append(keys, t.Layout.IndexKey(w.part, src.x))
		used = append(used, src.x)
	case len(w.sets) > 0:
		for _, e := range w.sets {
			keys = append(keys, t.Layout.ValueKey(w.part, e))
			if !slices.Contains(used, e.Index) {
				used = append(used, e.Index)
			}
		}
	case len(src.groups) > 0: // a condition without values
		return 0, "", nil
	default:
		keys = append(keys, w.part.All)
	}
	if src.x != nil && len(src.ranges) == 0 {
		return 0, "", nil
	}
	args[3] = strconv.Itoa(len(used))
	for _, x := range used {
		args = append(args, "built:"+x.Identity(t.Schema))
	}
	for begin := 0; begin == 0 || begin < len(src.ranges); begin += scanRanges {
		batch := args[:len(args):len(args)]
		if src.x != nil {
			for _, s := range src.ranges[begin:min(len(src.ranges), begin+scanRanges)] {
				from, to := (&scan{accessPath: src}).ends(s)
				batch = append(batch, from, to)
			}
		}
		m, err := countScript.Run(ctx, t.Client, keys, batch).ToMessage()
		if err != nil {
			return 0, "", t.TypeError(ctx, err, keys...)
		}
		if m.IsString() {
			word, err := m.ToString()
			if err == nil && word == "SCHEMA" {
				err = t.Registry.SchemaError()
			}
			return 0, word, err
		}
		n, err := m.ToInt64()
		if err != nil {
			return 0, "", err
		}
		if total += n; limit > 0 && total >= limit {
			break
		}
	}
	return total, "", nil
}

// countEach counts the matches of the scans of a query.
func (f *executor) countEach(ctx context.Context, limit int64) (int64, error) {
	var total atomic.Int64
	err := each(len(f.scans), func(i int) error {
		n, err := f.scans[i].countEach(ctx, limit)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

// countEach counts the matches of a scan, and checks each entry.
func (w *scan) countEach(ctx context.Context, limit int64) (total int64, err error) {
	for !w.done && (limit == 0 || total < limit) {
		n, err := w.step(ctx, 0)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
