package query

import (
	"context"
	"sync/atomic"
)

// countAttempts is how often Count sweeps expired records before it checks each entry.
const countAttempts = 3

func (f *executor) count(ctx context.Context) (int64, error) {
	if !f.countable() {
		return f.countEach(ctx)
	}
	var total atomic.Int64
	err := each(len(f.t.Parts), func(i int) error {
		n, err := f.scans[i].count(ctx)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

// countable reports whether each match is exactly one entry of one index, and each
// entry a match.
func (f *executor) countable() bool {
	if len(f.paths) != 1 {
		return false
	}
	src := f.paths[0]
	return !src.once && len(src.residual(f.e).terms) == 0 && (src.x == nil || !src.x.Unique)
}

// count counts the entries of a partition.
func (w *scan) count(ctx context.Context) (int64, error) {
	for range countAttempts {
		var n int64
		var again bool
		err := w.t.Registry.RetryRestored(ctx, func() (err error) {
			n, again, err = w.countRanges(ctx)
			return err
		})
		if err != nil || !again {
			return n, err
		}
		if _, err := w.t.Sweep(ctx, w.part); err != nil {
			return 0, err
		}
	}
	return w.countEach(ctx)
}

// countRanges counts the entries in the ranges of a path, some ranges in a script.
func (w *scan) countRanges(ctx context.Context) (total int64, again bool, err error) {
	t, src := w.t, w.accessPath
	keys := []string{w.part.Expires, w.part.Meta, w.part.All}
	args := []string{"0"}
	if src.x != nil {
		keys[2] = t.IndexKey(w.part, src.x)
		args = []string{"1", "built:" + src.x.Identity(t.Schema)}
		if len(src.ranges) == 0 {
			return 0, false, nil
		}
	}
	for begin := 0; begin == 0 || begin < len(src.ranges); begin += scanRanges {
		some := args[:len(args):len(args)]
		if src.x != nil {
			for _, s := range src.ranges[begin:min(len(src.ranges), begin+scanRanges)] {
				from, to := (&scan{accessPath: src}).ends(s)
				some = append(some, from, to)
			}
		}
		m, err := countScript.Run(ctx, t.Client, keys, some).ToMessage()
		if err != nil {
			return 0, false, err
		}
		if m.IsString() {
			word, err := m.ToString()
			if err == nil && word != "AGAIN" {
				err = t.Registry.SchemaError()
			}
			return 0, true, err
		}
		n, err := m.ToInt64()
		if err != nil {
			return 0, false, err
		}
		total += n
	}
	return total, false, nil
}

// countEach counts the matches of the scans of a query.
func (f *executor) countEach(ctx context.Context) (int64, error) {
	var total atomic.Int64
	err := each(len(f.scans), func(i int) error {
		n, err := f.scans[i].countEach(ctx)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

func (w *scan) countEach(ctx context.Context) (total int64, err error) {
	for !w.done {
		n, err := w.step(ctx, 0)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
