package model

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// Drop deletes the model and all that it has written: records with their sets and
// lists, indexes, its counter and its place in the list of models. Records of other
// models that refer to it stay as they are, and so does what it has not adopted.
//
// Writers are refused with ErrSchema from its beginning to its end, after which the
// next one begins anew. It goes in steps of a hundred records; one that was cut short
// has to be called again, and goes on where it was.
func (s *Store[T]) Drop(ctx context.Context, up Upkeep) (Report, error) {
	report, err := s.t.drop(ctx, up)
	return report, s.t.wrap(err)
}

// Drop is Store.Drop.
func (m *Model) Drop(ctx context.Context, up Upkeep) (Report, error) {
	report, err := m.t.drop(ctx, up)
	return report, m.t.wrap(err)
}

func (t *table) drop(ctx context.Context, up Upkeep) (Report, error) {
	r := t.newRun(mend, up)
	var err error
	if r.total, err = t.size(ctx); err != nil {
		return r.report, err
	}
	for i := range t.parts {
		p := &t.parts[i]
		b := t.client.B()
		for _, reply := range t.client.DoMulti(ctx,
			b.Hset().Key(p.meta).FieldValue().FieldValue("digest", dropping).Build(),
			b.Hdel().Key(p.meta).Field("also").Build()) {
			if err := reply.Error(); err != nil {
				return r.report, err
			}
		}
	}
	for i := range t.parts {
		if err := r.dropRecords(ctx, &t.parts[i]); err != nil {
			return r.report, err
		}
	}
	return r.report, t.dropKeys(ctx)
}

// dropRecords deletes the records of a partition: those in the order of creation,
// and what else has content.
func (r *run) dropRecords(ctx context.Context, p *partition) error {
	t := r.t
	for {
		ids, err := t.client.Do(ctx, t.client.B().Zrange().Key(p.all).Min("0").Max("99").Build()).AsStrSlice()
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		if err := t.dropSome(ctx, p, ids); err != nil {
			return err
		}
		if err := t.client.Do(ctx, t.client.B().Zrem().Key(p.all).Member(ids...).Build()).Error(); err != nil {
			return err
		}
		if err := r.stepped(ctx, len(ids), ""); err != nil {
			return err
		}
	}
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		entry, err := t.client.Do(ctx, t.client.B().Hscan().Key(p.content).Cursor(cursor).Count(upkeepStep).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		var ids []string
		for i := 0; i < len(entry.Elements); i += 2 {
			ids = append(ids, entry.Elements[i])
		}
		for some := range slices.Chunk(ids, upkeepStep) {
			if err := t.dropSome(ctx, p, some); err != nil {
				return err
			}
		}
		cursor = entry.Cursor
	}
	return nil
}

// dropSome deletes records with their sets and lists: one pipeline.
func (t *table) dropSome(ctx context.Context, p *partition, ids []string) error {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		defer t.writes.add(id)
		commands[i] = t.client.B().Unlink().Key(t.memberKeys([]string{p.of(id)}, p, id)...).Build()
	}
	for _, reply := range t.client.DoMulti(ctx, commands...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// dropKeys deletes what a model has beside its records, meta last: without it nobody
// knows what there is.
func (t *table) dropKeys(ctx context.Context) error {
	keys := []string{}
	if t.opt.IDs == Counter {
		keys = append(keys, t.opt.counter())
	}
	others, err := t.neighbours(ctx)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(counter string) bool {
		return slices.ContainsFunc(others, func(n neighbour) bool { return n.Counter == counter })
	})
	for i := range t.parts {
		p := &t.parts[i]
		found, err := t.registeredIn(ctx, p)
		if err != nil {
			return err
		}
		for _, called := range found.indexes {
			_, key, _ := strings.Cut(called, " ")
			keys = append(keys, p.index(key))
		}
		keys = append(append(keys, p.indexes...), p.content, p.all, p.expires, p.changes, p.voids, p.waiting)
	}
	for i := range t.parts {
		keys = append(keys, t.parts[i].meta)
	}
	// One after the other: they can be in different slots.
	for _, key := range keys {
		if err := t.client.Do(ctx, t.client.B().Unlink().Key(key).Build()).Error(); err != nil {
			return err
		}
	}
	return t.client.Do(ctx, t.client.B().Hdel().Key(modelsKey).Field(t.opt.Name).Build()).Error()
}
