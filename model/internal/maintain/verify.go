package maintain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Verify compares the records of a table with their indexes and, depending on the mode, repairs
// differences.
func Verify(ctx context.Context, t *record.Table, m Mode, opt maintain.Options) (Report, error) {
	r := newRun(t, m, opt)
	err := t.CheckTypes(ctx)
	if err == nil {
		err = t.Registry.RetryRestored(ctx, func() error { return r.verify(ctx) })
	}
	return r.result(), err
}

// verify is one attempt of Verify.
func (r *run) verify(ctx context.Context) (err error) {
	if r.engine.Total, err = r.size(ctx); err != nil {
		return err
	}
	err = r.eachHash(ctx, func(p *schema.Partition) string { return p.Content }, func(ctx context.Context, _ *schema.Partition, pairs []string) error {
		return r.align(ctx, names(pairs))
	})
	if err == nil {
		err = r.unindexed(ctx)
	}
	if err == nil {
		err = r.checkOrphans(ctx)
	}
	if err == nil {
		err = r.collections(ctx)
	}
	return err
}

// unindexed scans the keys of records, and aligns records without content: records whose
// content was lost, and adopted records of other programs.
func (r *run) unindexed(ctx context.Context) error {
	return r.eachKey(ctx, r.t.Layout.RecordPrefix(), "hash", func(keys []string) (int, error) {
		byPart := make(map[*schema.Partition][]string)
		for _, key := range keys {
			if p, id, ok := r.t.Layout.ParseKey(key); ok {
				byPart[p] = append(byPart[p], id)
			}
		}
		var ids []string
		for p, candidates := range byPart {
			unindexed, err := r.withoutContent(ctx, p, candidates)
			if err != nil {
				return 0, err
			}
			ids = append(ids, unindexed...)
		}
		slices.Sort(ids)
		return len(ids), r.align(ctx, ids)
	})
}

// withoutContent returns the ids of the records to align because they have no content.
func (r *run) withoutContent(ctx context.Context, p *schema.Partition, ids []string) ([]string, error) {
	// r.contents is not used, since it omits unreadable content.
	list, err := r.t.Client.Do(ctx, r.t.Client.B().Hmget().Key(p.Content).Field(ids...).Build()).ToArray()
	if err != nil || len(list) != len(ids) {
		return nil, errors.Join(err, schema.ErrReply(err))
	}
	var missing []string
	for i := range list {
		if list[i].IsNil() {
			missing = append(missing, ids[i])
		}
	}
	listed, others, err := r.listed(ctx, p, missing)
	if err != nil {
		return nil, err
	}
	if r.mode == migrate {
		listed = nil // already seen in the order of creation
	}
	if others, err = r.withoutForeign(ctx, p, others); err != nil {
		return nil, err
	}
	adopts := r.t.Options.Adopt
	adopted := slices.DeleteFunc(slices.Clone(others), func(id string) bool { return adopts == nil || !adopts(id) })
	others = slices.DeleteFunc(others, func(id string) bool { return slices.Contains(adopted, id) })
	// Records deleted or created since the first read are not unknown.
	if others, err = r.existing(ctx, p, others); err != nil {
		return nil, err
	}
	if _, others, err = r.listed(ctx, p, others); err != nil {
		return nil, err
	}
	r.foundUnknown(p, others)
	return append(listed, adopted...), nil
}

// listed separates the ids in the order of creation from the other ids.
func (r *run) listed(ctx context.Context, p *schema.Partition, ids []string) (listed, others []string, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	list, err := r.t.Client.Do(ctx, r.t.Client.B().Zmscore().Key(p.All).Member(ids...).Build()).ToArray()
	if err != nil || len(list) != len(ids) {
		return nil, nil, errors.Join(err, schema.ErrReply(err))
	}
	for i, id := range ids {
		if list[i].IsNil() {
			others = append(others, id)
		} else {
			listed = append(listed, id)
		}
	}
	return listed, others, nil
}

// existing returns the ids that have a key in a partition.
func (r *run) existing(ctx context.Context, p *schema.Partition, ids []string) ([]string, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.t.Client.B().Exists().Key(p.Record(id)).Build()
	}
	var all []string
	for i, reply := range r.t.Client.DoMulti(ctx, commands...) {
		exists, err := reply.AsBool()
		if err != nil {
			return nil, err
		}
		if exists {
			all = append(all, ids[i])
		}
	}
	return all, nil
}

// collections scans for sets and lists without a record.
func (r *run) collections(ctx context.Context) error {
	for i := range r.t.Layout.Parts {
		p := &r.t.Layout.Parts[i]
		for _, name := range r.t.Schema.Collections {
			prefix := p.Collection(name, "")
			err := r.eachKey(ctx, prefix, "", func(keys []string) (int, error) {
				ids := make([]string, len(keys))
				for i, key := range keys {
					ids[i] = strings.TrimPrefix(key, prefix)
				}
				return len(ids), r.checkCollections(ctx, p, ids)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCollections removes the sets and lists whose records do not exist.
func (r *run) checkCollections(ctx context.Context, p *schema.Partition, ids []string) error {
	existing, err := r.existing(ctx, p, ids)
	if err != nil {
		return err
	}
	var missing []*target
	for _, id := range ids {
		if !slices.Contains(existing, id) && r.t.Layout.Of(id) == p {
			missing = append(missing, &target{id: id})
		}
	}
	_, err = r.removeMissing(ctx, missing) // a record that exists by now is fine
	return err
}

// size estimates the number of records and entries to check.
func (r *run) size(ctx context.Context) (int64, error) {
	t := r.t
	var commands rueidis.Commands
	b := t.Client.B()
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		commands = append(commands, b.Hlen().Key(p.Content).Build(), b.Zcard().Key(p.All).Build(), b.Zcard().Key(p.Expires).Build())
		for _, x := range t.Schema.Indexes {
			switch {
			case x.Unique:
				commands = append(commands, b.Hlen().Key(t.Layout.IndexKey(p, x)).Build())
			case x.PerValue: // about one per record
				commands = append(commands, b.Zcard().Key(p.All).Build())
			default:
				commands = append(commands, b.Zcard().Key(t.Layout.IndexKey(p, x)).Build())
			}
		}
	}
	var total int64
	for _, reply := range t.Client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// withoutForeign removes the ids whose keys belong to another model: a published model, or a model
// with a meta key. Such ids occur only if callers choose the ids.
func (r *run) withoutForeign(ctx context.Context, p *schema.Partition, ids []string) ([]string, error) {
	t := r.t
	if t.Options.IDs != schema.ClientAssigned || len(ids) == 0 {
		return ids, nil
	}
	if !r.othersRead {
		var err error
		if r.others, err = t.Registry.Neighbours(ctx); err != nil {
			return nil, err
		}
		r.othersRead = true
	}
	foreign := map[string]bool{}
	for _, n := range r.others {
		for _, id := range ids {
			foreign[id] = foreign[id] || n.Has(p.Record(id), len(p.RecordPrefix))
		}
	}
	if err := r.probe(ctx, p, ids, foreign); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return foreign[id] }), nil
}

// maxProbes is the maximum number of prefixes of a key that are probed.
const maxProbes = 8

// probe marks ids whose keys belong to unpublished models: a prefix of the key has a meta key.
func (r *run) probe(ctx context.Context, p *schema.Partition, ids []string, foreign map[string]bool) error {
	b := r.t.Client.B()
	var commands rueidis.Commands
	var probed []string
	for _, id := range ids {
		probes := 0
		for i := 0; i < len(id) && probes < maxProbes; i++ {
			if id[i] == ':' || id[i] == '.' {
				probes++
				commands = append(commands, b.Hexists().Key(schema.KeysOf(p.Record(id[:i]), "").Meta).Field("digest").Build())
				probed = append(probed, id)
			}
		}
	}
	if len(commands) == 0 {
		return nil
	}
	for i, reply := range r.t.Client.DoMulti(ctx, commands...) {
		isModel, err := reply.AsBool()
		if err != nil && !rediserr.IsWrongType(err) {
			return err
		}
		foreign[probed[i]] = foreign[probed[i]] || isModel
	}
	return nil
}
