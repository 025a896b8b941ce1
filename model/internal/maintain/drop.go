package maintain

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/registry"
	"retwis/model/internal/schema"
)

// Drop deletes a model with its records and indexes.
func Drop(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r := newRun(t, Repair, opt)
	err := r.drop(ctx)
	return r.result(), err
}

// drop removes a model from the database.
func (r *run) drop(ctx context.Context) (err error) {
	t := r.t
	if r.engine.Total, err = r.size(ctx); err != nil {
		return err
	}
	for i := range t.Layout.Parts {
		if err := r.refuseWriters(ctx, &t.Layout.Parts[i]); err != nil {
			return err
		}
	}
	for i := range t.Layout.Parts {
		if err := r.dropRecords(ctx, &t.Layout.Parts[i]); err != nil {
			return err
		}
		if err := r.refuseWriters(ctx, &t.Layout.Parts[i]); err != nil {
			return err
		}
	}
	return r.dropKeys(ctx)
}

// refuseWriters marks a partition as being deleted. If the server is out of memory and refuses
// the mark, refuseWriters removes the digest instead, so that no declaration is in force.
func (r *run) refuseWriters(ctx context.Context, p *schema.Partition) error {
	b := r.t.Client.B()
	err := r.t.Client.Do(ctx, b.Hset().Key(p.Meta).FieldValue().FieldValue("digest", registry.Dropping).Build()).Error()
	fields := []string{"also"}
	if e, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(e.Error(), "OOM ") {
		err, fields = nil, append(fields, "digest")
	}
	if err != nil {
		return err
	}
	return r.t.Client.Do(ctx, b.Hdel().Key(p.Meta).Field(fields...).Build()).Error()
}

// dropRecords deletes the records of a partition: first the records in the order of creation, then
// other records that have content.
func (r *run) dropRecords(ctx context.Context, p *schema.Partition) error {
	t := r.t
	for {
		ids, err := t.Client.Do(ctx, t.Client.B().Zrange().Key(p.All).Min("0").Max("99").Build()).AsStrSlice()
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		if err := r.dropBatch(ctx, p, ids); err != nil {
			return err
		}
		if err := t.Client.Do(ctx, t.Client.B().Zrem().Key(p.All).Member(ids...).Build()).Error(); err != nil {
			return err
		}
		if err := r.engine.Step(ctx, len(ids)); err != nil {
			return err
		}
	}
	for pairs, err := range scan.Hash(ctx, t.Client, p.Content, step) {
		if err != nil {
			return err
		}
		if err := r.dropBatch(ctx, p, names(pairs)); err != nil {
			return err
		}
	}
	return nil
}

// dropBatch deletes records with their sets and lists: one pipeline.
func (r *run) dropBatch(ctx context.Context, p *schema.Partition, ids []string) error {
	t := r.t
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		defer t.Rows.Writes.Add(id)
		commands[i] = t.Client.B().Unlink().Key(t.Layout.CollectionKeys([]string{p.Record(id)}, p, id)...).Build()
	}
	for _, reply := range t.Client.DoMulti(ctx, commands...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

// dropKeys deletes all keys except the keys of records. It deletes meta last, since meta names
// the other keys.
func (r *run) dropKeys(ctx context.Context) error {
	t := r.t
	keys := []string{}
	if t.Options.IDs == schema.Counter {
		keys = append(keys, t.Options.Counter())
	}
	others, err := t.Registry.Neighbours(ctx)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(counter string) bool {
		return slices.ContainsFunc(others, func(n registry.Neighbour) bool { return n.Counter == counter })
	})
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		published, err := t.Registry.Published(ctx, p)
		if err != nil {
			return err
		}
		for identity, entry := range published.Indexes {
			_, key, _ := strings.Cut(entry, " ")
			keys = append(keys, p.Index(key))
			if schema.PerValue(identity) {
				if err := r.dropSets(ctx, p, key, registry.Dropping); err != nil {
					return err
				}
			}
		}
		keys = append(append(keys, p.Indexes...), p.Content, p.All, p.Expires, p.Voids)
	}
	for i := range t.Layout.Parts {
		keys = append(keys, t.Layout.Parts[i].Meta)
	}
	// The keys can be in different slots, so they are deleted one at a time.
	for _, key := range keys {
		if err := t.Client.Do(ctx, t.Client.B().Unlink().Key(key).Build()).Error(); err != nil {
			return err
		}
	}
	return t.Client.Do(ctx, t.Client.B().Hdel().Key(registry.ModelsKey).Field(t.Options.Name).Build()).Error()
}
