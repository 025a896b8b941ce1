package model

import (
	"context"
	"strconv"
)

// Delete deletes a record, its sets and lists, and all that it has in the
// indexes: one script. It returns ErrNotFound where there is none.
func (s *Store[T]) Delete(ctx context.Context, id string) error {
	err := s.checkID(id)
	if err == nil {
		err = s.t.remove(ctx, id)
	}
	return s.wrap(err)
}

// remove runs delete.lua.
func (t *table) remove(ctx context.Context, id string) error {
	p := t.of(id)
	keys := t.memberKeys(t.writeKeys(p, id), p, id)
	args := []string{id, t.digest, t.slots, strconv.Itoa(t.opt.Changes), strconv.Itoa(len(t.collections))}
	left, err := t.written(id, t.scripts.delete.Exec(ctx, t.client, keys, args))
	for _, e := range left {
		_ = t.release(ctx, id, e) // else whoever asks for the value takes it over
	}
	return err
}
