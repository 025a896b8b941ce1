package index

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/internal/scan"
	"retwis/maintain"
)

var (
	//go:embed mend.lua
	mendLua string
	//go:embed watch.lua
	watchLua string
	//go:embed replace.lua
	replaceLua string
	//go:embed fill.lua
	fillLua string
	//go:embed finish.lua
	finishLua string
)

// Verify looks for entries that do not agree with what is beside them, and with
// the objects of a source if one is given, in steps of 200 while others read and
// write. What it finds of an entry that was written in that moment may be over by
// the time it is told.
func (x *Lexical) Verify(ctx context.Context, src *Source[string], up maintain.Options) (maintain.Report, error) {
	return x.upkeep(ctx, src, up, nil)
}

// Repair finds what Verify finds and mends it. Of what an entry says in several
// places the object is right, then key.content, the reverse index. Each entry is
// looked at again in the step that changes it, so that what others write meanwhile
// stays. What an interrupted run has left goes.
//
// Where the reverse index is lost, as a whole or for some ids, it is made of the
// entries. Where an id has several of those, only an object can say which one is
// right: without one they are told of and stay.
//
// With a source that has objects it needs its Lookup.
func (x *Lexical) Repair(ctx context.Context, src *Source[string], up maintain.Options) (maintain.Report, error) {
	if src == nil {
		return x.upkeep(ctx, nil, up, &mender{kept: x.kept()})
	}
	var report maintain.Report
	err := x.kept().repairing(ctx, src.Lookup, func(m *mender) (err error) {
		report, err = x.upkeep(ctx, src, up, m)
		return err
	})
	return report, err
}

// Rebuild makes the index anew from a source, beside the old one, which serves
// until the new one takes its place: in one step that has caught up with all that
// others wrote meanwhile. What they wrote is right, whatever the source said. An
// id that neither has is gone.
//
// A run that fails or whose context ends changes nothing and leaves nothing. What a
// killed one left next to the index goes with the first write a minute later, or with
// Repair.
func (x *Lexical) Rebuild(ctx context.Context, src Source[string], up maintain.Options) (maintain.Report, error) {
	r := engine.Start(up)
	err := rebuild(ctx, x.set, r, x.noting, x.fill, x.finish, Convert(src, func(id, member string) (string, error) {
		return member, x.check(Member{id, member})
	}))
	return r.Report, x.wrap(ctx, err)
}

// kept is what upkeep has to know of the index.
func (x *Lexical) kept() *kept {
	return &kept{
		set: x.set, noting: x.noting, watch: x.watch, replace: x.replace,
		values:   x.members,
		check:    func(id, member string) error { return x.check(Member{id, member}) },
		describe: x.describe,
		normal:   func(member string) string { return member },
	}
}

// upkeep verifies, and mends if there is a mender.
func (x *Lexical) upkeep(ctx context.Context, src *Source[string], up maintain.Options, m *mender) (maintain.Report, error) {
	r := engine.Start(up)
	err := x.walkAll(ctx, r, src, m)
	return r.Report, x.wrap(ctx, err)
}

func (x *Lexical) walkAll(ctx context.Context, r *engine.Run, src *Source[string], m *mender) error {
	var err error
	r.Total, err = x.sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Hlen().Key(k.Content).Build()
	})
	if err != nil {
		return err
	}
	lookup := func(context.Context, []string) ([]Object[string], error) { return nil, nil }
	if src != nil && src.Lookup != nil {
		lookup = src.Lookup
	}
	if err := x.noting.leftovers(ctx, x.set, r, m != nil); err != nil {
		return err
	}
	content := contentCheck{entryCheck: entryCheck{x, r, m}, lookup: lookup, exists: src != nil && src.Lookup != nil}
	if err := scanContent(ctx, x.set, r, content.page); err != nil {
		return err
	}
	if err := content.restoreLost(ctx); err != nil {
		return err
	}
	c := memberCheck{content}
	if err := scanEntries(ctx, x.set, r, c.page); err != nil {
		return err
	}
	if src == nil || src.All == nil {
		return nil
	}
	objects := sourceCheck{kept: x.kept(), r: r, m: m}
	return objects.run(ctx, *src)
}

// scanEntries checks the sorted set of every partition. A page is pairs of an entry and
// its score.
func scanEntries(ctx context.Context, set *partition.Set, r *engine.Run, page func(context.Context, *partition.Keys, []string) (int, error)) error {
	for i := range set.Keys {
		keys := &set.Keys[i]
		err := r.Pages(ctx, scan.SortedSet(ctx, set.Client, keys.Index, upkeepStep), func(some []string) (int, error) { return page(ctx, keys, some) })
		if err != nil {
			return err
		}
	}
	return nil
}

// scanContent checks the reverse index of every partition. A page is pairs of an id and
// its entry.
func scanContent(ctx context.Context, set *partition.Set, r *engine.Run, page func(context.Context, *partition.Keys, []string) (int, error)) error {
	for i := range set.Keys {
		keys := &set.Keys[i]
		err := r.Pages(ctx, scan.Hash(ctx, set.Client, keys.Content, upkeepStep), func(some []string) (int, error) { return page(ctx, keys, some) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mending is what mend.lua is to do in a partition.
type mending []string

func (m *mending) add(what, id, member string) { *m = append(*m, what, id, member) }

// entryCheck is a check of entries by themselves.
type entryCheck struct {
	x *Lexical
	r *engine.Run
	m *mender
}

// mend mends entries that do not agree with what is beside them.
func (c entryCheck) mend(ctx context.Context, keys *partition.Keys, todo mending) error {
	if c.m == nil {
		return nil
	}
	for some := range slices.Chunk(todo, 3*mendBatch) {
		n, err := c.x.mend.Run(ctx, c.x.set.Client, keys.All(), append(c.x.set.Args(), some...)).AsInt64()
		if err != nil {
			return err
		}
		c.r.Report.Repaired += n
	}
	return nil
}

// contentCheck looks at what is beside an index: is the entry there, and its
// object?
type contentCheck struct {
	entryCheck
	lookup func(context.Context, []string) ([]Object[string], error)
	exists bool // lookup is one of objects
}

func (c contentCheck) page(ctx context.Context, keys *partition.Keys, pairs []string) (int, error) {
	if len(pairs) == 0 {
		return 0, nil
	}
	var ids, members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		ids, members = append(ids, pairs[i]), append(members, pairs[i+1])
	}
	scores, err := c.x.set.Client.Do(ctx, c.x.set.Client.B().Zmscore().Key(keys.Index).Member(members...).Build()).ToArray()
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	if c.exists {
		objects, err := c.lookup(ctx, ids)
		if err != nil {
			return 0, err
		}
		for _, o := range objects {
			known[o.ID] = true
		}
	}
	var todo mending
	var gone []string
	for i, id := range ids {
		p := maintain.Problem{ID: id, Want: c.x.describe(members[i])}
		owner, wrong := c.x.id(members[i])
		score, absent := scores[i].AsFloat64()
		switch {
		case wrong != nil || owner != id:
			p.Kind, p.Found, p.Want = maintain.Dangling, fmt.Sprintf("%q beside it", members[i]), ""
			todo.add("forget", id, members[i])
		case c.exists && !known[id]:
			p.Kind, p.Found, p.Want = maintain.Dangling, p.Want, ""
			gone = append(gone, id)
		case absent != nil:
			p.Kind = maintain.Missing
			todo.add("restore", id, members[i])
		case score != 0:
			p.Kind, p.Found = maintain.Stale, fmt.Sprintf("the score %g", score)
			todo.add("restore", id, members[i])
		default:
			continue
		}
		c.r.Found(p)
	}
	if err := c.mend(ctx, keys, todo); err != nil {
		return 0, err
	}
	return len(ids), c.m.recheck(ctx, c.r, gone)
}
