package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/index/internal/members"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// lexicalCheck compares a lexicographic index with its reverse index.
type lexicalCheck struct {
	checker *checker
	x       *Lexical
}

func (c lexicalCheck) run(ctx context.Context) error {
	err := c.checker.engine.Content(ctx, c.checker.target.set, pageSize, func(i int, page []string) (int, error) { return c.content(ctx, &c.checker.target.set.Keys[i], page) })
	if err != nil {
		return err
	}
	if c.checker.repair {
		if err := c.restoreLost(ctx); err != nil {
			return err
		}
	}
	return c.checker.engine.Entries(ctx, c.checker.target.set, pageSize, func(i int, page []string) (int, error) { return c.members(ctx, &c.checker.target.set.Keys[i], page) })
}

// repairs are what repair.lua does in a partition.
type repairs []string

func (r *repairs) add(what, id, member string) { *r = append(*r, what, id, member) }

// apply runs repair.lua, in a Repair.
func (c lexicalCheck) apply(ctx context.Context, keys *partition.Keys, todo repairs) error {
	if !c.checker.repair {
		return nil
	}
	for some := range slices.Chunk(todo, 3*repairBatch) {
		n, err := c.x.repair.Run(ctx, c.checker.target.set.Client, keys.All(), append(c.checker.target.set.Args(), some...)).AsInt64()
		if err != nil {
			return err
		}
		c.checker.engine.Report.Repaired += n
	}
	return nil
}

// content compares ids of the reverse index with their entries and objects.
func (c lexicalCheck) content(ctx context.Context, keys *partition.Keys, pairs []string) (int, error) {
	var ids, members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		ids, members = append(ids, pairs[i]), append(members, pairs[i+1])
	}
	scores, err := c.checker.target.set.Client.Do(ctx, c.checker.target.set.Client.B().Zmscore().Key(keys.Index).Member(members...).Build()).ToArray()
	if err != nil {
		return 0, err
	}
	var known map[string]bool
	if c.checker.src.Lookup != nil {
		if known, err = c.checker.known(ctx, ids); err != nil {
			return 0, err
		}
	}
	var todo repairs
	var gone []string
	for i, id := range ids {
		p := maintain.Problem{ID: id, Want: c.checker.target.describe(members[i])}
		owner, wrong := c.x.id(members[i])
		score, absent := scores[i].AsFloat64()
		switch {
		case wrong != nil || owner != id:
			p.Kind, p.Found, p.Want = maintain.Dangling, fmt.Sprintf("%q in %s", members[i], keys.Content), ""
			todo.add("forget", id, members[i])
		case known != nil && !known[id]:
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
		c.checker.engine.Found(p)
	}
	if err := c.apply(ctx, keys, todo); err != nil {
		return 0, err
	}
	return len(ids), c.checker.recheck(ctx, gone)
}

// restoreLost puts entries into the reverse index that are not in it.
func (c lexicalCheck) restoreLost(ctx context.Context) error {
	for i := range c.checker.target.set.Keys {
		keys := &c.checker.target.set.Keys[i]
		err := c.x.reverse().Restorable(ctx, c.checker.engine, keys, func(only []members.Member) error {
			var todo repairs
			var pairs []string
			for _, p := range only {
				c.checker.engine.Found(c.lost(keys, p))
				todo.add("keep", p.ID, p.Member)
				pairs = append(pairs, p.ID, p.Member)
			}
			c.checker.engine.Report.Checked += int64(len(only))
			if err := c.apply(ctx, keys, todo); err != nil {
				return err
			}
			// They have not been compared yet.
			_, err := c.content(ctx, keys, pairs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lost is the problem of an entry that is not in the reverse index.
func (c lexicalCheck) lost(keys *partition.Keys, p members.Member) maintain.Problem {
	return maintain.Problem{Kind: maintain.Missing, ID: p.ID, Want: fmt.Sprintf("%s in %s", c.checker.target.describe(p.Member), keys.Content)}
}

// members compares members of the sorted set with the reverse index.
func (c lexicalCheck) members(ctx context.Context, keys *partition.Keys, scores []string) (int, error) {
	var all, lost []members.Member
	var todo repairs
	orphans := 0
	for i := 0; i+1 < len(scores); i += 2 {
		id, err := c.x.id(scores[i])
		if err != nil {
			orphans++
			c.checker.engine.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", scores[i])})
			todo.add("drop", "", scores[i])
			continue
		}
		all = append(all, members.Member{ID: id, Member: scores[i]})
	}
	contents, err := c.x.reverse().Contents(ctx, keys, all)
	if err != nil {
		return 0, err
	}
	for i, p := range all {
		content, err := contents[i].ToString()
		switch {
		case rueidis.IsRedisNil(err):
			lost = append(lost, p)
		case err != nil:
			return 0, err
		case content != p.Member:
			orphans++
			c.checker.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.checker.target.describe(p.Member), Want: c.checker.target.describe(content)})
			todo.add("drop", p.ID, p.Member)
		}
	}
	if err := c.apply(ctx, keys, todo); err != nil {
		return 0, err
	}
	return orphans + len(lost), c.stillLost(ctx, keys, lost)
}

// stillLost looks at entries that are not in the reverse index. During a Repair these
// are those of ids with several entries: the object decides, if there is one.
func (c lexicalCheck) stillLost(ctx context.Context, keys *partition.Keys, lost []members.Member) error {
	if len(lost) == 0 {
		return nil
	}
	var known map[string]bool
	if c.checker.src.Lookup != nil {
		ids := make([]string, len(lost))
		for i, p := range lost {
			ids[i] = p.ID
		}
		var err error
		if known, err = c.checker.known(ctx, ids); err != nil {
			return err
		}
		// What it changes is counted below.
		if _, err := c.checker.repairer.recheck(ctx, ids); err != nil {
			return err
		}
	}
	now, err := c.x.reverse().Contents(ctx, keys, lost)
	if err != nil {
		return err
	}
	var todo repairs
	for i, p := range lost {
		content, _ := now[i].ToString() // empty where it is still not there
		switch {
		case known != nil && !known[p.ID]:
			c.checker.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: p.ID, Found: c.checker.target.describe(p.Member)})
			todo.add("drop", p.ID, p.Member)
		case !c.checker.repair:
			c.checker.engine.Found(c.lost(keys, p))
		case content == p.Member:
			c.checker.engine.Found(c.lost(keys, p))
			c.checker.engine.Report.Repaired++
		case content != "":
			c.checker.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.checker.target.describe(p.Member), Want: c.checker.target.describe(content)})
			todo.add("drop", p.ID, p.Member)
		default:
			c.checker.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.checker.target.describe(p.Member) + ", " + foundSeveral})
		}
	}
	return c.apply(ctx, keys, todo)
}
