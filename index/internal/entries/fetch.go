package entries

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Hashes describes the hashes that entries are compared with.
type Hashes struct {
	Key    func(id string) string // default: the id
	Fields []string               // fields to return; empty: all
	Needs  []string               // fields that Value reads
	// Value returns the value that the id of a hash should have in the index, or false if it
	// should not be in the index.
	Value  func(id string, fields map[string]string) (string, bool, error)
	Repair bool
}

// keys returns the keys of the hashes of ids.
func (h *Hashes) keys(ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		if keys[i] = id; h.Key != nil {
			keys[i] = h.Key(id)
		}
	}
	return keys
}

// Fetch gets the hashes of entries, in their order, omitting missing hashes, and marks hashes
// with other values as stale. If an entry and its hash differ, it reads both again, since a
// program may have written only one of the two so far, and reports the remaining differences.
// With Repair, it then repairs these ids, unless another run is in progress.
func Fetch[F ~struct {
	ID     string
	Fields map[string]string
	Stale  bool
}](ctx context.Context, x *Index, read []Entry, h Hashes) ([]F, maintain.Report, error) {
	r := engine.Start(maintain.Options{})
	ids := make([]string, len(read))
	for i, e := range read {
		ids[i] = e.ID
	}
	extra := slices.DeleteFunc(slices.Clone(h.Needs), func(name string) bool { return len(h.Fields) == 0 || slices.Contains(h.Fields, name) })
	hashes, err := ReadHashes(ctx, x.Set.Client, h.keys(ids), slices.Concat(h.Fields, extra), false)
	if err != nil {
		return nil, r.Report, x.Wrap(ctx, err)
	}
	var found []F
	var mismatched []Entry
	for i, e := range read {
		fields := hashes[i]
		if fields == nil {
			mismatched = append(mismatched, e)
			continue
		}
		value, ok, err := h.Value(e.ID, fields)
		stale := err != nil || !ok || value != e.Value
		if stale {
			mismatched = append(mismatched, e)
		}
		for _, name := range extra {
			delete(fields, name)
		}
		found = append(found, F(struct {
			ID     string
			Fields map[string]string
			Stale  bool
		}{e.ID, fields, stale}))
	}
	r.Report.Checked = int64(len(read))
	for chunk := range slices.Chunk(mismatched, pageSize) {
		if err := x.resolve(ctx, r, chunk, h); err != nil {
			return nil, r.Report, x.Wrap(ctx, err)
		}
	}
	return found, r.Report, nil
}

// lookup gets the objects of ids.
func (x *Index) lookup(ctx context.Context, ids []string, h Hashes) ([]Object, error) {
	keys := h.keys(ids)
	hashes, err := ReadHashes(ctx, x.Set.Client, keys, h.Needs, false)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for i, fields := range hashes {
		if fields == nil {
			continue
		}
		value, ok, err := h.Value(ids[i], fields)
		if err == nil && ok {
			err = x.Check(ids[i], value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", keys[i], err)
		}
		if ok || err != nil {
			objects = append(objects, Object{ID: ids[i], Value: value, Err: err})
		}
	}
	return objects, nil
}

// resolve compares entries again, reports entries that still differ from their hashes, and
// repairs them if h.Repair is set.
func (x *Index) resolve(ctx context.Context, r *engine.Run, read []Entry, h Hashes) error {
	ids := make([]string, len(read))
	for i, e := range read {
		ids[i] = e.ID
	}
	values, err := x.values(ctx, ids)
	if err != nil {
		return err
	}
	present, err := x.present(ctx, read)
	if err != nil {
		return err
	}
	objects, err := x.lookup(ctx, ids, h)
	if err != nil {
		return err
	}
	want := map[string]Object{}
	for _, o := range objects {
		want[o.ID] = o
	}
	var mismatched []Entry
	seen := map[string]bool{}
	for i, e := range read {
		o, exists := want[e.ID]
		p := maintain.Problem{Kind: maintain.Stale, ID: e.ID, Found: x.text(e.Value), Want: x.text(o.Value)}
		switch {
		case o.Err != nil:
			p = maintain.Problem{Kind: maintain.Invalid, ID: e.ID, Found: o.Err.Error()}
		case values[i] == o.Value && (!present[i] || e.Value == o.Value):
			continue // changed by a concurrent write
		case !exists:
			p.Kind = maintain.Dangling
		case values[i] == "":
			p.Kind = maintain.Missing
		}
		if o.Err == nil {
			mismatched = append(mismatched, e)
		}
		if !seen[e.ID] {
			seen[e.ID] = true
			r.Found(p)
		}
	}
	if !h.Repair || len(mismatched) == 0 {
		return nil
	}
	_, err = x.Tracker.IfIdle(ctx, func(ctx context.Context, run string) error {
		n, err := x.repairRead(ctx, run, mismatched, want, h)
		r.Report.Repaired += n
		return err
	})
	return err
}

// text formats a value for a report. It returns "" for "".
func (x *Index) text(value string) string {
	if value == "" {
		return ""
	}
	return x.opt.Describe(value)
}

// present reports which members are in the sorted set. In a scored index an id has one entry,
// which values returns, so present reports none.
func (x *Index) present(ctx context.Context, read []Entry) ([]bool, error) {
	found := make([]bool, len(read))
	if x.opt.Scored {
		return found, nil
	}
	commands := make(rueidis.Commands, len(read))
	for i, e := range read {
		commands[i] = x.Set.Client.B().Zscore().Key(x.Set.Of(e.ID).Index).Member(e.Value).Build()
	}
	for i, reply := range x.Set.Client.DoMulti(ctx, commands...) {
		err := reply.Error()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		found[i] = err == nil
	}
	return found, nil
}

// repairRead repairs entries from their objects. It removes members that do not belong to their
// ids, and restores lost members.
func (x *Index) repairRead(ctx context.Context, run string, mismatched []Entry, want map[string]Object, h Hashes) (int64, error) {
	var ids []string
	byPart := map[*partition.Keys]repairs{}
	for _, e := range mismatched {
		todo := byPart[x.Set.Of(e.ID)]
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
			todo.add("restore", e.ID, want[e.ID].Value)
		}
		todo.add("drop", e.ID, e.Value)
		byPart[x.Set.Of(e.ID)] = todo
	}
	lookup := func(ctx context.Context, ids []string) ([]Object, error) { return x.lookup(ctx, ids, h) }
	n, err := (&repairer{Index: x, run: run, lookup: lookup}).recheck(ctx, ids)
	if err != nil || x.opt.Scored {
		return n, err
	}
	c := checker{x: x, engine: engine.Start(maintain.Options{}), repair: true}
	for keys, todo := range byPart {
		if err = c.apply(ctx, keys, todo); err != nil {
			break
		}
	}
	return n + c.engine.Report.Repaired, err
}
