package model

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/scan"
	"retwis/maintain"
)

// dropTable deletes a model and all that it has written.
func dropTable(ctx context.Context, t *table, opt maintain.Options) (maintenanceReport, error) {
	r := newRun(t, repair, opt)
	err := r.drop(ctx)
	return r.result(), err
}

func (r *run) drop(ctx context.Context) (err error) {
	t := r.t
	if r.Total, err = r.size(ctx); err != nil {
		return err
	}
	for i := range t.parts {
		p := &t.parts[i]
		b := t.client.B()
		for _, reply := range t.client.DoMulti(ctx,
			b.Hset().Key(p.meta).FieldValue().FieldValue("digest", dropping).Build(),
			b.Hdel().Key(p.meta).Field("also").Build()) {
			if err := reply.Error(); err != nil {
				return err
			}
		}
	}
	for i := range t.parts {
		if err := r.dropRecords(ctx, &t.parts[i]); err != nil {
			return err
		}
	}
	return r.dropKeys(ctx)
}

// dropRecords deletes the records of a partition: those in the order of creation, and
// then others that have content.
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
		if err := r.dropSome(ctx, p, ids); err != nil {
			return err
		}
		if err := t.client.Do(ctx, t.client.B().Zrem().Key(p.all).Member(ids...).Build()).Error(); err != nil {
			return err
		}
		if err := r.Step(ctx, len(ids)); err != nil {
			return err
		}
	}
	for pairs, err := range scan.Hash(ctx, t.client, p.content, step) {
		if err != nil {
			return err
		}
		if err := r.dropSome(ctx, p, names(pairs)); err != nil {
			return err
		}
	}
	return nil
}

// dropSome deletes records with their sets and lists: one pipeline.
func (r *run) dropSome(ctx context.Context, p *partition, ids []string) error {
	t := r.t
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

// dropKeys deletes the keys that are not of records, meta last: it names the others.
func (r *run) dropKeys(ctx context.Context) error {
	t := r.t
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
		published, err := t.registeredIn(ctx, p)
		if err != nil {
			return err
		}
		for _, called := range published.indexes {
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
