package model

import (
	"context"
	"sync/atomic"
)

// countAttempts is how often Count sweeps what has expired meanwhile, before it
// looks at each entry instead.
const countAttempts = 3

func (f *finder) count(ctx context.Context) (int64, error) {
	if !f.countable() {
		return f.countEach(ctx)
	}
	var total atomic.Int64
	err := each(len(f.t.parts), func(i int) error {
		n, err := f.walks[i].count(ctx)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

// countable tells whether a record that fits is one entry of one index, and all
// entries are of records that fit.
func (f *finder) countable() bool {
	if len(f.sources) != 1 {
		return false
	}
	src := f.sources[0]
	return !src.once && len(src.residual(f.e).kids) == 0 && (src.x == nil || !src.x.Unique)
}

// countPart counts the entries of a partition.
func (w *walk) count(ctx context.Context) (int64, error) {
	for range countAttempts {
		var n int64
		var again bool
		err := w.t.again(ctx, func() (err error) {
			n, again, err = w.countRanges(ctx)
			return err
		})
		if err != nil || !again {
			return n, err
		}
		if _, err := w.t.sweep(ctx, w.part); err != nil {
			return 0, err
		}
	}
	return w.countEach(ctx)
}

// countRanges counts the entries within the spans of a source, some spans in a
// script.
func (w *walk) countRanges(ctx context.Context) (total int64, again bool, err error) {
	t, src := w.t, w.source
	keys := []string{w.part.expires, w.part.meta, w.part.all}
	args := []string{"0"}
	if src.x != nil {
		keys[2] = t.indexKey(w.part, src.x)
		args = []string{"1", "built:" + src.x.identity(t.schema)}
		if len(src.spans) == 0 {
			return 0, false, nil
		}
	}
	for begin := 0; begin == 0 || begin < len(src.spans); begin += stepRanges {
		some := args[:len(args):len(args)]
		if src.x != nil {
			for _, s := range src.spans[begin:min(len(src.spans), begin+stepRanges)] {
				from, to := (&walk{source: src}).ends(s)
				some = append(some, from, to)
			}
		}
		m, err := countScript.Run(ctx, t.client, keys, some).ToMessage()
		if err != nil {
			return 0, false, err
		}
		if m.IsString() {
			word, err := m.ToString()
			if err == nil && word != "AGAIN" {
				err = t.otherSchema()
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

// countEach counts what the walks of a query keep.
func (f *finder) countEach(ctx context.Context) (int64, error) {
	var total atomic.Int64
	err := each(len(f.walks), func(i int) error {
		n, err := f.walks[i].countEach(ctx)
		total.Add(n)
		return err
	})
	return total.Load(), err
}

func (w *walk) countEach(ctx context.Context) (total int64, err error) {
	for !w.done {
		n, err := w.step(ctx, 0)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
