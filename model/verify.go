package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/nodes"
)

// Verify looks whether records and indexes agree, in short steps while others
// read and write:
//
//	missing   a record that is not in the indexes, or not in all of them
//	stale     a record of which an index says something else
//	dangling  what is left of a record that is not there
//	invalid   a record with a field that cannot be read, or a value that its index
//	          cannot hold
//	taken     a record with a unique value that another record has; it counts as
//	          invalid
//
// What seems wrong is looked at again in one script, with the record and all that
// it has in the indexes, before it is told: a write at the same moment is no
// problem. It costs two round trips for 100 records, one for 100 entries of an
// index, and a SCAN of the keys of every server.
func (s *Store[T]) Verify(ctx context.Context, up Upkeep) (Report, error) {
	report, err := s.t.upkeep(ctx, look, up)
	return report, s.t.wrap(err)
}

// Repair finds what Verify finds, and repairs it: what the fields of a record say is
// right. Records that no model wrote come into the indexes where Upkeep.Adopt says
// so, those that have expired leave them, and what is left of others is removed,
// with their sets and lists. What is invalid or taken stays as it is: change the
// record.
//
// Others may read and write meanwhile. One that was cut short can be run again,
// or go on from the Cursor of its progress.
func (s *Store[T]) Repair(ctx context.Context, up Upkeep) (Report, error) {
	report, err := s.t.upkeep(ctx, mend, up)
	return report, s.t.wrap(err)
}

func (t *table) upkeep(ctx context.Context, m mode, up Upkeep) (Report, error) {
	r := t.newRun(m, up)
	err := t.checkKeys(ctx)
	if err == nil {
		err = t.again(ctx, func() error { return r.verify(ctx) })
	}
	return r.report, err
}

// ofVerify is the name of a verify or repair in its cursors.
const ofVerify = "verify"

func (r *run) verify(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, r.t.client)
	if err != nil {
		return err
	}
	if r.total, err = r.t.size(ctx); err != nil {
		return err
	}
	parts := []part{
		r.t.scanned("content", true, func(p *partition) string { return p.content }, r.contentPage),
		r.recordPart(masters),
	}
	parts = append(parts, r.strayParts()...)
	return r.walk(ctx, ofVerify, append(parts, r.memberParts(masters)...))
}

// contentPage aligns the records that have content.
func (r *run) contentPage(ctx context.Context, _ *partition, pairs []string) error {
	var ids []string
	for i := 0; i+1 < len(pairs); i += 2 {
		ids = append(ids, pairs[i])
	}
	return r.align(ctx, ids)
}

// recordPart walks through the keys of records, and aligns those that have no
// content: what has lost it, and what other programs wrote and is to be adopted.
func (r *run) recordPart(masters []nodes.Master) part {
	t := r.t
	return t.allKeys("records", masters, t.recordPrefix(), "hash", func(ctx context.Context, keys []string) (int, error) {
		byPart := make(map[*partition][]string)
		for _, key := range keys {
			if p, id, ok := t.recordOf(key); ok {
				byPart[p] = append(byPart[p], id)
			}
		}
		var ids []string
		for p, some := range byPart {
			bare, err := r.bare(ctx, p, some)
			if err != nil {
				return 0, err
			}
			ids = append(ids, bare...)
		}
		slices.Sort(ids)
		return len(ids), r.align(ctx, ids)
	})
}

// bare returns those of some ids that are to be aligned, as they have no content.
func (r *run) bare(ctx context.Context, p *partition, ids []string) ([]string, error) {
	// Not contentsOf: what cannot be read is there, and seen to elsewhere.
	list, err := r.t.client.Do(ctx, r.t.client.B().Hmget().Key(p.content).Field(ids...).Build()).ToArray()
	if err != nil || len(list) != len(ids) {
		return nil, errors.Join(err, errReply(err))
	}
	var bare []string
	for i := range list {
		if list[i].IsNil() {
			bare = append(bare, ids[i])
		}
	}
	listed, others, err := r.t.listed(ctx, p, bare)
	if err != nil {
		return nil, err
	}
	if r.mode == migrate {
		listed = nil // seen in the order of creation
	}
	if others, err = r.notOurs(ctx, p, others); err != nil {
		return nil, err
	}
	adopted := slices.DeleteFunc(slices.Clone(others), func(id string) bool { return r.up.Adopt == nil || !r.up.Adopt(id) })
	others = slices.DeleteFunc(others, func(id string) bool { return slices.Contains(adopted, id) })
	// What has been deleted, or was created, since the first look is not unknown.
	if others, err = r.t.existing(ctx, p, others); err != nil {
		return nil, err
	}
	if _, others, err = r.t.listed(ctx, p, others); err != nil {
		return nil, err
	}
	r.unknown(p, others)
	return append(listed, adopted...), nil
}

// listed tells apart ids that are in the order of creation, and others.
func (t *table) listed(ctx context.Context, p *partition, ids []string) (listed, others []string, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	list, err := t.client.Do(ctx, t.client.B().Zmscore().Key(p.all).Member(ids...).Build()).ToArray()
	if err != nil || len(list) != len(ids) {
		return nil, nil, errors.Join(err, errReply(err))
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

// existing returns those ids that a key is there for.
func (t *table) existing(ctx context.Context, p *partition, ids []string) ([]string, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = t.client.B().Exists().Key(p.of(id)).Build()
	}
	var all []string
	for i, reply := range t.client.DoMulti(ctx, commands...) {
		there, err := reply.AsBool()
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, ids[i])
		}
	}
	return all, nil
}

// recordPrefix is how the keys of all records begin.
func (t *table) recordPrefix() string {
	if !t.spread() {
		return t.parts[0].record
	}
	// {user.0}:
	before, _, _ := strings.Cut(t.parts[0].record, ".0}")
	return before + "."
}

// recordOf returns the partition and id of the key of a record.
func (t *table) recordOf(key string) (*partition, string, bool) {
	for i := range t.parts {
		p := &t.parts[i]
		if id, ok := strings.CutPrefix(key, p.record); ok {
			return p, id, t.isID(id) && t.of(id) == p
		}
	}
	return nil, "", false
}

// memberParts walk through the sets and lists of records.
func (r *run) memberParts(masters []nodes.Master) []part {
	t := r.t
	if len(t.collections) == 0 {
		return nil
	}
	var all []part
	for i := range t.parts {
		p := &t.parts[i]
		for _, name := range t.collections {
			prefix := p.member(name, "")
			all = append(all, t.allKeys(fmt.Sprintf("of.%s.%d", name, i), masters, prefix, "", func(ctx context.Context, keys []string) (int, error) {
				ids := make([]string, len(keys))
				for i, key := range keys {
					ids[i] = strings.TrimPrefix(key, prefix)
				}
				return len(ids), r.membersOf(ctx, p, ids)
			}))
		}
	}
	return all
}

// membersOf sees to sets and lists whose records are not there.
func (r *run) membersOf(ctx context.Context, p *partition, ids []string) error {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.t.client.B().Exists().Key(p.of(id)).Build()
	}
	var gone []*wanted
	for i, reply := range r.t.client.DoMulti(ctx, commands...) {
		there, err := reply.AsBool()
		if err != nil {
			return err
		}
		if !there && r.t.of(ids[i]) == p {
			gone = append(gone, &wanted{id: ids[i]})
		}
	}
	_, err := r.removeGone(ctx, gone) // one that is there by now is well
	return err
}

// size is how much there is to look at, about.
func (t *table) size(ctx context.Context) (int64, error) {
	var commands rueidis.Commands
	b := t.client.B()
	for i := range t.parts {
		p := &t.parts[i]
		commands = append(commands, b.Hlen().Key(p.content).Build(), b.Zcard().Key(p.all).Build(), b.Zcard().Key(p.expires).Build())
		for _, x := range t.indexes {
			if x.Unique {
				commands = append(commands, b.Hlen().Key(t.indexKey(p, x)).Build())
			} else {
				commands = append(commands, b.Zcard().Key(t.indexKey(p, x)).Build())
			}
		}
	}
	var total int64
	for _, r := range t.client.DoMulti(ctx, commands...) {
		n, err := r.AsInt64()
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// checkKeys fails where a key of the model holds something that no script could
// work with: it is not ours to delete.
func (t *table) checkKeys(ctx context.Context) error {
	type key struct{ name, kind string }
	var keys []key
	for i := range t.parts {
		p := &t.parts[i]
		keys = append(keys, key{p.meta, "hash"}, key{p.content, "hash"}, key{p.all, "zset"}, key{p.expires, "zset"})
		for _, x := range t.indexes {
			k := key{t.indexKey(p, x), "zset"}
			if x.Unique {
				k.kind = "hash"
			}
			keys = append(keys, k)
		}
	}
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = t.client.B().Type().Key(k.name).Build()
	}
	for i, r := range t.client.DoMulti(ctx, commands...) {
		kind, err := r.ToString()
		if err != nil {
			return err
		}
		if kind != keys[i].kind && kind != "none" {
			return fmt.Errorf("%w: key %q holds a %s, not a %s: move it away, and call Repair", ErrCorrupt, keys[i].name, kind, keys[i].kind)
		}
	}
	return nil
}
