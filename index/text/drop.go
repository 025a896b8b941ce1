package text

import (
	"context"

	engine "retwis/internal/maintain"
	"retwis/maintain"
)

// Drop removes the index with all its keys, in steps, and returns the number of keys removed.
// It removes the declaration last, so that an interrupted Drop can be repeated. There must be
// no concurrent writes: they could be lost in part. To write to a new index at the key, other
// processes must call New again.
func (x *Index) Drop(ctx context.Context, opt maintain.Options) (keys int64, err error) {
	keys, err = x.store.removeAll(ctx, engine.Start(opt))
	return keys, x.store.fail(ctx, err)
}

func (x *store) removeAll(ctx context.Context, run *engine.Run) (n int64, err error) {
	if err := x.set.Check(ctx); err != nil {
		return 0, err
	}
	n, err = x.drop(ctx, func(storedKey) bool { return true }, run.Step)
	if err != nil {
		return n, err
	}
	defer x.set.Forget()
	var last [][]string
	for _, k := range x.keys {
		last = append(last, k.All())
	}
	for _, keys := range append(last, []string{x.set.Key + ".meta"}) {
		removed, err := x.set.Client.Do(ctx, x.set.Client.B().Unlink().Key(keys...).Build()).AsInt64()
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, nil
}
