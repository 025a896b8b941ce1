package query

import (
	"context"
	"reflect"
)

// stepRecords is the number of records written in one step.
const stepRecords = 100

// Steps calls step with batches of the ids of the results. It passes each id only once, even if
// a changed record moves to a later position. step returns how many of the ids count towards
// the limit. Steps needs about 40 bytes of memory per id.
func (f *Query) Steps(ctx context.Context, step func(ids []string) (int, error)) error {
	if err := f.forward(); err != nil {
		return err
	}
	run, _, err := f.start(ctx, f.Limit)
	if err != nil {
		return err
	}
	seen := map[string]struct{}{}
	for left := f.Limit; f.Limit == 0 || left > 0; {
		want := stepRecords
		if f.Limit > 0 {
			want = min(want, left)
		}
		rows, err := run.next(ctx, want)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]string, 0, len(rows))
		for _, h := range rows {
			if _, duplicate := seen[h.id]; !duplicate {
				seen[h.id] = struct{}{}
				ids = append(ids, h.id)
			}
		}
		n, err := step(ids)
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// Fits returns a function that reports whether a record matches the conditions.
func (f *Query) Fits() (func(ptr any) (bool, error), error) {
	q, err := (&Query{Objects: f.Objects, Conds: f.Conds, err: f.err}).resolve()
	if err != nil {
		return nil, err
	}
	o, indexes := f.Objects, q.e.appendIndexes(nil)
	return func(ptr any) (bool, error) {
		fields, err := o.Declaration.Encode(reflect.ValueOf(ptr).Elem())
		if err != nil {
			return false, err
		}
		entries, err := o.Declaration.Schema.EntriesOf(indexes, fields)
		return err == nil && q.e.holds(entries), err
	}, nil
}
