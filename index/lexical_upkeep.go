package index

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/partition"
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
func (x *Lexical) Verify(ctx context.Context, src *Source[string], up Upkeep) (Report, error) {
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
func (x *Lexical) Repair(ctx context.Context, src *Source[string], up Upkeep) (Report, error) {
	if src == nil {
		return x.upkeep(ctx, nil, up, &mender{kept: x.kept()})
	}
	var report Report
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
// One that fails or is cut short changes nothing and leaves nothing, and the next
// begins anew; up.After has to be empty. Of one that was killed a copy stays beside
// the index, until somebody writes a minute later, or Repair.
func (x *Lexical) Rebuild(ctx context.Context, src Source[string], up Upkeep) (Report, error) {
	r := newRun(up)
	err := rebuild(ctx, x.set, r, x.noting, x.fill, x.finish, mapped(src, func(id, member string) (string, error) {
		return member, x.check(Member{id, member})
	}))
	return r.report, x.wrap(ctx, err)
}

// The parts of an upkeep, as a cursor names them.
const (
	ofContent = "content"
	ofMembers = "members"
	ofSource  = "source"
)

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
func (x *Lexical) upkeep(ctx context.Context, src *Source[string], up Upkeep, m *mender) (Report, error) {
	r := newRun(up)
	err := x.walkAll(ctx, r, src, m)
	return r.report, x.wrap(ctx, err)
}

func (x *Lexical) walkAll(ctx context.Context, r *run, src *Source[string], m *mender) error {
	part, at, cursor, err := upkeepFrom(r.up.After, len(x.set.Keys))
	if err != nil {
		return err
	}
	r.total, err = x.sum(ctx, func(k *partition.Keys) rueidis.Completed {
		return x.set.Client.B().Hlen().Key(k.Content).Build()
	})
	if err != nil {
		return err
	}
	lookup := func(context.Context, []string) ([]Object[string], error) { return nil, nil }
	if src != nil && src.Lookup != nil {
		lookup = src.Lookup
	}
	if part == ofContent && cursor == "" && at == 0 {
		if err := x.noting.leftovers(ctx, x.set, r, m != nil); err != nil {
			return err
		}
	}
	content := contentCheck{entryCheck: entryCheck{x, r, m}, lookup: lookup, exists: src != nil && src.Lookup != nil}
	if part == ofContent {
		if err := scanPartitions(ctx, x.set, r, ofContent, at, cursor, content.page); err != nil {
			return err
		}
		part, at, cursor = ofMembers, 0, ""
	}
	if part == ofMembers {
		if err := content.restoreLost(ctx, at); err != nil {
			return err
		}
		c := memberCheck{content}
		if err := scanPartitions(ctx, x.set, r, ofMembers, at, cursor, c.page); err != nil {
			return err
		}
		cursor = ""
	}
	if src == nil || src.Walk == nil {
		return nil
	}
	c := sourceCheck{kept: x.kept(), r: r, m: m}
	return c.walk(ctx, *src, cursor)
}

// upkeepFrom reads a cursor: which part, which partition, where in it.
func upkeepFrom(after string, partitions int) (part string, at int, cursor string, err error) {
	if after == "" {
		return ofContent, 0, "", nil
	}
	part, rest, _ := strings.Cut(after, " ")
	if part == ofSource {
		return part, 0, rest, nil
	}
	number, cursor, ok := strings.Cut(rest, " ")
	at, err = strconv.Atoi(number)
	if part != ofContent && part != ofMembers || !ok || err != nil || at < 0 || at >= partitions {
		return "", 0, "", fmt.Errorf("%q is not a cursor of an upkeep of this index", after)
	}
	return part, at, cursor, nil
}

// scanPartitions walks a hash or a sorted set of every partition in steps. A page is pairs
// of a name and a value.
func scanPartitions(ctx context.Context, set *partition.Set, r *run, part string, at int, from string, page func(context.Context, *partition.Keys, []string) (int, error)) error {
	var cursor uint64
	if from != "" {
		var err error
		if cursor, err = strconv.ParseUint(from, 10, 64); err != nil {
			return fmt.Errorf("%q is not a cursor of an upkeep of this index", r.up.After)
		}
	}
	for ; at < len(set.Keys); at++ {
		keys := &set.Keys[at]
		for more := true; more; more = cursor != 0 {
			var command rueidis.Completed
			if part == ofMembers {
				command = set.Client.B().Zscan().Key(keys.Index).Cursor(cursor).Count(upkeepStep).Build()
			} else {
				command = set.Client.B().Hscan().Key(keys.Content).Cursor(cursor).Count(upkeepStep).Build()
			}
			entry, err := set.Client.Do(ctx, command).AsScanEntry()
			if err != nil {
				return err
			}
			// A small one comes in one page, whatever COUNT says. A cursor may be
			// told only of a page that is done.
			looked := 0
			for some := range slices.Chunk(entry.Elements, 2*upkeepStep) {
				n, err := page(ctx, keys, some)
				if err != nil {
					return err
				}
				looked += n
			}
			cursor = entry.Cursor
			if err := r.stepped(ctx, looked, behindPage(part, at, cursor, len(set.Keys))); err != nil {
				return err
			}
		}
	}
	return nil
}

// behindPage is the cursor behind a page of scan: of the partition, the next one
// or the next part.
func behindPage(part string, at int, cursor uint64, partitions int) string {
	switch {
	case cursor != 0 || at+1 < partitions:
		if cursor == 0 {
			at++
		}
		return fmt.Sprintf("%s %d %d", part, at, cursor)
	case part == ofContent:
		return ofMembers + " 0 0"
	}
	return ofSource + " "
}

// mending is what mend.lua is to do in a partition.
type mending []string

func (m *mending) add(what, id, member string) { *m = append(*m, what, id, member) }

// entryCheck is a check of entries by themselves.
type entryCheck struct {
	x *Lexical
	r *run
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
		c.r.report.Repaired += n
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
		p := Problem{ID: id, Want: c.x.describe(members[i])}
		owner, wrong := c.x.id(members[i])
		score, absent := scores[i].AsFloat64()
		switch {
		case wrong != nil || owner != id:
			p.Kind, p.Found, p.Want = dangling, fmt.Sprintf("%q beside it", members[i]), ""
			todo.add("forget", id, members[i])
		case c.exists && !known[id]:
			p.Kind, p.Found, p.Want = dangling, p.Want, ""
			gone = append(gone, id)
		case absent != nil:
			p.Kind = missing
			todo.add("restore", id, members[i])
		case score != 0:
			p.Kind, p.Found = stale, fmt.Sprintf("the score %g", score)
			todo.add("restore", id, members[i])
		default:
			continue
		}
		c.r.found(p)
	}
	if err := c.mend(ctx, keys, todo); err != nil {
		return 0, err
	}
	return len(ids), c.m.recheck(ctx, c.r, gone)
}
