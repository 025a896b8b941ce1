package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/members"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Fetch gets the hashes of entries that were read, in their order, and compares the two:
// see Composite.Fetch.
func (x *Lexical) Fetch(ctx context.Context, entries []Member, of HashMember, opt FetchOptions) ([]Fetched, maintain.Report, error) {
	pairs := make([]members.Member, len(entries))
	for i, m := range entries {
		pairs[i] = members.Member(m)
	}
	f := hashFetch{target: x.newTarget(), opt: opt, needs: of.Fields, value: of.Member, lexical: x}
	return f.run(ctx, pairs)
}

// Fetch gets the hashes of entries that were read, in their order and without those that
// do not exist, as the function Fetch does: one round trip for a thousand. It compares each
// hash with its entry, whose columns are the fields of their names, which costs nothing.
//
// Where the two differ it reads both again, since a program may have written the one and
// not yet the other, and reports what still differs: Stale if the hash has other values,
// Missing if it has no entry any more, Dangling if it does not exist or lacks a column,
// Invalid if it has values that the index cannot hold. Report.Checked counts the entries.
//
// With FetchOptions.Repair it then makes these entries agree with their hashes, as the
// method Repair does: no concurrent write is lost, and a Fetch that is cut short leaves
// each entry as it was or right. That is 5 round trips for up to 50 ids. Entries stay as
// they are while another process repairs or rebuilds the index, or for a minute after one
// was killed during it; Report.Repaired counts those that were changed.
func (c *Composite) Fetch(ctx context.Context, entries []Entry, opt FetchOptions) ([]Fetched, maintain.Report, error) {
	members := make([]Member, len(entries))
	for i, e := range entries {
		members[i] = Member{e.ID, e.member}
		if e.member == "" { // it was not read from the index
			var err error
			if members[i], err = c.member(e.ID, e.Values); err != nil {
				return nil, maintain.Report{}, c.lex.wrap(ctx, err)
			}
		}
	}
	return c.lex.Fetch(ctx, members, c.hashMember(), opt)
}

// Fetch gets the hashes of entries that were read, in their order, and compares the two:
// see Composite.Fetch. The number is the field with the name of the column.
func (x *Numeric[N]) Fetch(ctx context.Context, entries []NumericEntry[N], opt FetchOptions) ([]Fetched, maintain.Report, error) {
	pairs := make([]members.Member, len(entries))
	for i, e := range entries {
		pairs[i] = members.Member{ID: e.ID, Member: scoreText(e.Number)}
	}
	f := hashFetch{target: x.maintenance().newTarget(), opt: opt, needs: []string{x.column.Name}, value: x.scoreOf}
	return f.run(ctx, pairs)
}

// hashFetch is a Fetch of an index.
type hashFetch struct {
	*target
	opt   FetchOptions
	needs []string // the fields that the value of an entry is made from
	value func(id string, fields map[string]string) (string, bool, error)
	// lexical is the index if an id can have several entries by mistake, else nil.
	lexical *Lexical
}

func (f *hashFetch) run(ctx context.Context, entries []members.Member) ([]Fetched, maintain.Report, error) {
	r := engine.Start(maintain.Options{})
	if f.opt.Key == nil {
		f.opt.Key = func(id string) string { return id }
	}
	found, doubtful, err := f.fetch(ctx, entries)
	if err == nil {
		r.Report.Checked = int64(len(entries))
		if len(doubtful) > 0 {
			err = f.resolve(ctx, r, doubtful)
		}
	}
	if err != nil {
		return nil, r.Report, f.wrap(ctx, err)
	}
	return found, r.Report, nil
}

// fetch gets the hashes, and returns the entries that differ from them.
func (f *hashFetch) fetch(ctx context.Context, entries []members.Member) (found []Fetched, doubtful []members.Member, err error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	opt := f.opt
	opt.Repair = false
	extra := slices.DeleteFunc(slices.Clone(f.needs), func(name string) bool { return slices.Contains(opt.Fields, name) })
	if len(opt.Fields) > 0 {
		opt.Fields = slices.Concat(opt.Fields, extra)
	}
	if found, err = Fetch(ctx, f.set.Client, ids, opt); err != nil {
		return nil, nil, err
	}
	next := 0
	for _, e := range entries {
		if next == len(found) || found[next].ID != e.ID {
			doubtful = append(doubtful, e) // it has no hash
			continue
		}
		hash := &found[next]
		next++
		value, ok, err := f.value(e.ID, hash.Fields)
		if err != nil || !ok || value != f.normal(e.Member) {
			hash.Stale = true
			doubtful = append(doubtful, e)
		}
		if len(f.opt.Fields) > 0 {
			for _, name := range extra {
				delete(hash.Fields, name)
			}
		}
	}
	return found, doubtful, nil
}

// lookup gets the objects of ids.
func (f *hashFetch) lookup(ctx context.Context, ids []string) ([]Object[string], error) {
	found, err := Fetch(ctx, f.set.Client, ids, FetchOptions{Key: f.opt.Key, Fields: f.needs})
	if err != nil {
		return nil, err
	}
	var objects []Object[string]
	for _, hash := range found {
		value, ok, err := f.value(hash.ID, hash.Fields)
		if err == nil && ok {
			err = f.check(hash.ID, value)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", f.opt.Key(hash.ID), err)
		}
		if ok || err != nil {
			objects = append(objects, Object[string]{ID: hash.ID, Value: value, Err: err})
		}
	}
	return objects, nil
}

// resolve compares entries again, reports those that differ from their hashes, and on
// request repairs them.
func (f *hashFetch) resolve(ctx context.Context, r *engine.Run, doubtful []members.Member) error {
	var ids []string
	seen := map[string]bool{}
	for _, e := range doubtful {
		if !seen[e.ID] {
			seen[e.ID] = true
			ids = append(ids, e.ID)
		}
	}
	var wrong []string
	for some := range slices.Chunk(ids, pageSize) {
		differ, err := f.differing(ctx, r, some)
		if err != nil {
			return err
		}
		wrong = append(wrong, differ...)
	}
	if f.opt.Repair && len(wrong) > 0 {
		_, err := f.tracker.IfIdle(ctx, func(ctx context.Context, run string) error {
			n, err := (&repairer{target: f.target, run: run, lookup: f.lookup}).recheck(ctx, wrong)
			r.Report.Repaired += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if f.lexical == nil {
		return nil
	}
	for i := range f.set.Keys {
		keys := &f.set.Keys[i]
		own := slices.DeleteFunc(slices.Clone(doubtful), func(e members.Member) bool { return f.set.Of(e.ID) != keys })
		for some := range slices.Chunk(own, pageSize) {
			if err := f.orphans(ctx, r, keys, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// differing reports the ids whose entries differ from their hashes now, and returns those
// that can be repaired.
func (f *hashFetch) differing(ctx context.Context, r *engine.Run, ids []string) ([]string, error) {
	values, err := f.values(ctx, ids)
	if err != nil {
		return nil, err
	}
	objects, err := f.lookup(ctx, ids)
	if err != nil {
		return nil, err
	}
	want := map[string]Object[string]{}
	for _, o := range objects {
		want[o.ID] = o
	}
	var wrong []string
	for i, id := range ids {
		o, exists := want[id]
		p := maintain.Problem{ID: id, Found: f.text(values[i]), Want: f.text(o.Value)}
		switch {
		case o.Err != nil:
			p = maintain.Problem{Kind: maintain.Invalid, ID: id, Found: o.Err.Error()}
		case f.normalOrNone(values[i]) == o.Value:
			continue // it was written meanwhile
		case !exists:
			p.Kind = maintain.Dangling
		case values[i] == "":
			p.Kind = maintain.Missing
		default:
			p.Kind = maintain.Stale
		}
		if r.Found(p); p.Kind != maintain.Invalid {
			wrong = append(wrong, id)
		}
	}
	return wrong, nil
}

// normalOrNone returns the one way to write a value, and none as it is.
func (f *hashFetch) normalOrNone(value string) string {
	if value == "" {
		return ""
	}
	return f.normal(value)
}

// text formats a value for a report, and none as it is.
func (f *hashFetch) text(value string) string {
	if value == "" {
		return ""
	}
	return f.describe(value)
}

// orphans reports entries that were read and are still in the sorted set, although their
// ids have others or no hash, and on request removes them. The others are added where they
// are in the reverse index only.
func (f *hashFetch) orphans(ctx context.Context, r *engine.Run, keys *partition.Keys, read []members.Member) error {
	ids, members := make([]string, len(read)), make([]string, 2*len(read))
	contents, err := f.lexical.reverse().Contents(ctx, keys, read)
	if err != nil {
		return err
	}
	for i, e := range read {
		ids[i], members[2*i] = e.ID, e.Member
		if members[2*i+1], err = contents[i].ToString(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	scores, err := f.set.Client.Do(ctx, f.set.Client.B().Zmscore().Key(keys.Index).Member(members...).Build()).ToArray()
	if err != nil {
		return err
	}
	objects, err := f.lookup(ctx, ids)
	if err != nil {
		return err
	}
	c := lexicalCheck{&checker{target: f.target, engine: r, repair: f.opt.Repair}, f.lexical}
	var todo repairs
	for i, e := range read {
		content := members[2*i+1]
		exists := slices.ContainsFunc(objects, func(o Object[string]) bool { return o.ID == e.ID })
		if scores[2*i].IsNil() || content == e.Member || content == "" && exists {
			continue // where the hash exists and the reverse index is lost, Repair restores that
		}
		p := maintain.Problem{Kind: maintain.Dangling, ID: e.ID, Found: f.describe(e.Member)}
		if content != "" {
			p.Kind, p.Want = maintain.Stale, f.describe(content)
		}
		r.Found(p)
		todo.add("drop", e.ID, e.Member)
		if content != "" && scores[2*i+1].IsNil() {
			r.Found(maintain.Problem{Kind: maintain.Missing, ID: e.ID, Want: f.describe(content)})
			todo.add("restore", e.ID, content)
		}
	}
	return c.apply(ctx, keys, todo)
}
