package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index/internal/partition"
)

var (
	//go:embed mend.lua
	mendLua string
	//go:embed begin.lua
	beginLua string
	//go:embed watch.lua
	watchLua string
	//go:embed replace.lua
	replaceLua string
	//go:embed release.lua
	releaseLua string
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
// places the object is right, then key.content. Each entry is looked at again in
// the step that changes it, so that what others write meanwhile stays.
//
// With a source that has objects it needs its Lookup.
func (x *Lexical) Repair(ctx context.Context, src *Source[string], up Upkeep) (Report, error) {
	if src == nil {
		return x.upkeep(ctx, nil, up, &mender{x: x})
	}
	if src.Lookup == nil {
		return Report{}, x.wrap(ctx, errors.New("to repair needs a source with Lookup, to look again before it changes an entry"))
	}
	m := &mender{x: x, name: newName(), lookup: src.Lookup}
	if err := everywhere(ctx, x.set, x.begin, m.name); err != nil {
		return Report{}, x.wrap(ctx, err)
	}
	report, err := x.upkeep(ctx, src, up, m)
	// Also when ctx is done: or writers would note what they change for ever.
	end := everywhere(context.WithoutCancel(ctx), x.set, x.end, m.name)
	return report, cmpOr(err, x.wrap(ctx, end))
}

// Rebuild makes the index anew from a source, beside the old one, which serves
// until the new one takes its place: in one step that has caught up with all that
// others wrote meanwhile. What they wrote is right, whatever the source said. An
// id that neither has is gone.
//
// One that was cut short does no harm; the next begins anew, or goes on from the
// Cursor of the other's progress.
func (x *Lexical) Rebuild(ctx context.Context, src Source[string], up Upkeep) (Report, error) {
	r := newRun(up)
	err := rebuild(ctx, x.set, r, x.begin, x.fill, x.finish, mapped(src, func(id, member string) (string, error) {
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
	if part == ofContent {
		c := contentCheck{x: x, r: r, m: m, lookup: lookup, exists: src != nil && src.Lookup != nil}
		if err := x.scan(ctx, r, ofContent, at, cursor, c.page); err != nil {
			return err
		}
		part, at, cursor = ofMembers, 0, ""
	}
	if part == ofMembers {
		c := memberCheck{x: x, r: r, m: m}
		if err := x.scan(ctx, r, ofMembers, at, cursor, c.page); err != nil {
			return err
		}
		cursor = ""
	}
	if src == nil || src.Walk == nil {
		return nil
	}
	c := sourceCheck{x: x, r: r, m: m}
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

// scan walks a hash or a sorted set of every partition in steps. A page is pairs
// of a name and a value.
func (x *Lexical) scan(ctx context.Context, r *run, part string, at int, from string, page func(context.Context, *partition.Keys, []string) (int, error)) error {
	cursor, _ := strconv.ParseUint(from, 10, 64)
	for ; at < len(x.set.Keys); at++ {
		keys := &x.set.Keys[at]
		for more := true; more; more = cursor != 0 {
			b := x.set.Client.B()
			command := b.Hscan().Key(keys.Content).Cursor(cursor).Count(upkeepStep).Build()
			if part == ofMembers {
				command = x.set.Client.B().Zscan().Key(keys.Index).Cursor(cursor).Count(upkeepStep).Build()
			}
			entry, err := x.set.Client.Do(ctx, command).AsScanEntry()
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
			if err := r.stepped(ctx, looked, fmt.Sprintf("%s %d %d", part, at, cursor)); err != nil {
				return err
			}
		}
	}
	return nil
}

// contentCheck looks at what is beside an index: is the entry there, and its
// object?
type contentCheck struct {
	x      *Lexical
	r      *run
	m      *mender
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
	if err := c.m.do(ctx, c.r, keys, todo); err != nil {
		return 0, err
	}
	return len(ids), c.m.recheck(ctx, c.r, gone)
}

// memberCheck looks at the sorted set: is each member the one of its id?
type memberCheck struct {
	x *Lexical
	r *run
	m *mender
}

func (c memberCheck) page(ctx context.Context, keys *partition.Keys, pairs []string) (int, error) {
	var ids, members []string
	var todo mending
	strays := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		id, err := c.x.id(pairs[i])
		if err != nil {
			strays++
			c.r.found(Problem{Kind: dangling, Found: fmt.Sprintf("%q", pairs[i])})
			todo.add("drop", "", pairs[i])
			continue
		}
		ids, members = append(ids, id), append(members, pairs[i])
	}
	if len(ids) > 0 {
		contents, err := c.x.set.Client.Do(ctx, c.x.set.Client.B().Hmget().Key(keys.Content).Field(ids...).Build()).ToArray()
		if err != nil {
			return 0, err
		}
		for i, id := range ids {
			p := Problem{Kind: dangling, ID: id, Found: c.x.describe(members[i])}
			if !contents[i].IsNil() {
				content, err := contents[i].ToString()
				if err != nil {
					return 0, err
				}
				if content == members[i] {
					continue
				}
				p.Kind, p.Want = stale, c.x.describe(content)
			}
			strays++
			c.r.found(p)
			todo.add("drop", id, members[i])
		}
	}
	return strays, c.m.do(ctx, c.r, keys, todo)
}

// sourceCheck looks at the objects: does the index say what they say?
type sourceCheck struct {
	x *Lexical
	r *run
	m *mender
}

func (c sourceCheck) walk(ctx context.Context, src Source[string], from string) error {
	var ids, wants []string
	step := func() error {
		if len(ids) > 0 {
			if err := c.page(ctx, ids, wants); err != nil {
				return err
			}
		}
		cursor := ""
		if from != "" {
			cursor = ofSource + " " + from
		}
		n := len(ids)
		ids, wants = nil, nil
		return c.r.stepped(ctx, n, cursor)
	}
	for o, err := range src.Walk(ctx, from) {
		if err != nil {
			return err
		}
		if err := c.x.check(Member{o.ID, o.Value}); err != nil {
			return err
		}
		ids, wants = append(ids, o.ID), append(wants, o.Value)
		if o.Cursor != "" {
			from = o.Cursor
		}
		if len(ids) == upkeepStep {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return step()
}

func (c sourceCheck) page(ctx context.Context, ids, wants []string) error {
	members, err := c.x.members(ctx, ids)
	if err != nil {
		return err
	}
	var wrong []string
	for i, id := range ids {
		if members[i] == wants[i] {
			continue
		}
		p := Problem{Kind: missing, ID: id, Want: c.x.describe(wants[i])}
		if members[i] != "" {
			p.Kind, p.Found = stale, c.x.describe(members[i])
		}
		c.r.found(p)
		wrong = append(wrong, id)
	}
	return c.m.recheck(ctx, c.r, wrong)
}
