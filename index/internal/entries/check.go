package entries

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index/internal/ranged"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// entries compares entries with the reverse index and their objects.
func (c *checker) entries(ctx context.Context) error {
	set := c.x.Set
	if c.x.opt.Scored {
		return c.scoredEntries(ctx)
	}
	err := c.engine.Content(ctx, set, pageSize, func(i int, page []string) (int, error) { return c.content(ctx, &set.Keys[i], page) })
	if err == nil && c.repair {
		err = c.restoreLost(ctx)
	}
	if err != nil {
		return err
	}
	return c.engine.Entries(ctx, set, pageSize, func(i int, page []string) (int, error) { return c.members(ctx, &set.Keys[i], page) })
}

// scoredEntries reports entries without an object. A scored index has no other inconsistency.
func (c *checker) scoredEntries(ctx context.Context) error {
	if c.src.Lookup == nil {
		return nil
	}
	return c.engine.Entries(ctx, c.x.Set, pageSize, func(_ int, pairs []string) (int, error) {
		var ids []string
		score := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			f, err := strconv.ParseFloat(pairs[i+1], 64)
			if err != nil {
				return 0, err
			}
			ids, score[pairs[i]] = append(ids, pairs[i]), ranged.Text(f)
		}
		known, err := c.known(ctx, ids)
		if err != nil {
			return 0, err
		}
		var dangling []string
		for _, id := range ids {
			if !known[id] {
				c.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: id, Found: score[id]})
				dangling = append(dangling, id)
			}
		}
		return len(ids), c.recheck(ctx, dangling)
	})
}

// repairs are arguments of repair.lua for one partition.
type repairs []string

// add adds the arguments for an entry.
func (r *repairs) add(action, id, member string) { *r = append(*r, action, id, member) }

// apply runs repair.lua if this is a Repair.
func (c *checker) apply(ctx context.Context, keys *partition.Keys, todo repairs) error {
	if !c.repair {
		return nil
	}
	for chunk := range slices.Chunk(todo, 3*repairBatch) {
		n, err := c.x.Scripts.Repair.Run(ctx, c.x.Set.Client, keys.All(), append(c.x.Set.Args(), chunk...)).AsInt64()
		if err != nil {
			return err
		}
		c.engine.Report.Repaired += n
	}
	return nil
}

// content compares ids of the reverse index with their entries and objects.
func (c *checker) content(ctx context.Context, keys *partition.Keys, pairs []string) (int, error) {
	var ids, members []string
	for i := 0; i+1 < len(pairs); i += 2 {
		ids, members = append(ids, pairs[i]), append(members, pairs[i+1])
	}
	scores, err := c.x.Set.Client.Do(ctx, c.x.Set.Client.B().Zmscore().Key(keys.Index).Member(members...).Build()).ToArray()
	if err != nil {
		return 0, err
	}
	var known map[string]bool
	if c.src.Lookup != nil {
		if known, err = c.known(ctx, ids); err != nil {
			return 0, err
		}
	}
	var todo repairs
	var dangling []string
	for i, id := range ids {
		p := maintain.Problem{ID: id, Want: c.x.opt.Describe(members[i])}
		owner, idErr := c.x.opt.ID(members[i])
		score, scoreErr := scores[i].AsFloat64()
		switch {
		case idErr != nil || owner != id:
			p.Kind, p.Found, p.Want = maintain.Dangling, fmt.Sprintf("%q in %s", members[i], keys.Content), ""
			todo.add("forget", id, members[i])
		case known != nil && !known[id]:
			p.Kind, p.Found, p.Want = maintain.Dangling, p.Want, ""
			dangling = append(dangling, id)
		case scoreErr != nil:
			p.Kind = maintain.Missing
			todo.add("restore", id, members[i])
		case score != 0:
			p.Kind, p.Found = maintain.Stale, fmt.Sprintf("the score %g", score)
			todo.add("restore", id, members[i])
		default:
			continue
		}
		c.engine.Found(p)
	}
	if err := c.apply(ctx, keys, todo); err != nil {
		return 0, err
	}
	return len(ids), c.recheck(ctx, dangling)
}

// restoreLost adds missing entries to the reverse index.
func (c *checker) restoreLost(ctx context.Context) error {
	for i := range c.x.Set.Keys {
		keys := &c.x.Set.Keys[i]
		err := c.x.restorable(ctx, c.engine, keys, func(lost []Entry) error {
			var todo repairs
			var pairs []string
			for _, p := range lost {
				c.engine.Found(c.lost(keys, p))
				todo.add("keep", p.ID, p.Value)
				pairs = append(pairs, p.ID, p.Value)
			}
			c.engine.Report.Checked += int64(len(lost))
			if err := c.apply(ctx, keys, todo); err != nil {
				return err
			}
			// The restored entries have not been compared yet.
			_, err := c.content(ctx, keys, pairs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lost describes an entry that is missing from the reverse index.
func (c *checker) lost(keys *partition.Keys, p Entry) maintain.Problem {
	return maintain.Problem{Kind: maintain.Missing, ID: p.ID, Want: fmt.Sprintf("%s in %s", c.x.opt.Describe(p.Value), keys.Content)}
}

// members compares members of the sorted set with the reverse index.
func (c *checker) members(ctx context.Context, keys *partition.Keys, scores []string) (int, error) {
	var all, lost []Entry
	var todo repairs
	orphans := 0
	for i := 0; i+1 < len(scores); i += 2 {
		id, err := c.x.opt.ID(scores[i])
		if err != nil {
			orphans++
			c.engine.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", scores[i])})
			todo.add("drop", "", scores[i])
			continue
		}
		all = append(all, Entry{id, scores[i]})
	}
	contents, err := c.x.contents(ctx, keys, all)
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
		case content != p.Value:
			orphans++
			c.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.x.opt.Describe(p.Value), Want: c.x.opt.Describe(content)})
			todo.add("drop", p.ID, p.Value)
		}
	}
	if err := c.apply(ctx, keys, todo); err != nil {
		return 0, err
	}
	return orphans + len(lost), c.stillLost(ctx, keys, lost)
}

// stillLost handles entries that are missing from the reverse index. During a Repair, such
// ids have several entries; the object of an id, if it exists, shows which entry is right.
func (c *checker) stillLost(ctx context.Context, keys *partition.Keys, lost []Entry) error {
	if len(lost) == 0 {
		return nil
	}
	var known map[string]bool
	if c.src.Lookup != nil {
		ids := make([]string, len(lost))
		for i, p := range lost {
			ids[i] = p.ID
		}
		var err error
		if known, err = c.known(ctx, ids); err != nil {
			return err
		}
		// The repairs of recheck are counted below.
		if _, err := c.repairer.recheck(ctx, ids); err != nil {
			return err
		}
	}
	contents, err := c.x.contents(ctx, keys, lost)
	if err != nil {
		return err
	}
	var todo repairs
	for i, p := range lost {
		content, _ := contents[i].ToString() // empty if still missing
		switch {
		case known != nil && !known[p.ID]:
			c.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: p.ID, Found: c.x.opt.Describe(p.Value)})
			todo.add("drop", p.ID, p.Value)
		case !c.repair:
			c.engine.Found(c.lost(keys, p))
		case content == p.Value:
			c.engine.Found(c.lost(keys, p))
			c.engine.Report.Repaired++
		case content != "":
			c.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.x.opt.Describe(p.Value), Want: c.x.opt.Describe(content)})
			todo.add("drop", p.ID, p.Value)
		default:
			c.engine.Found(maintain.Problem{Kind: maintain.Stale, ID: p.ID, Found: c.x.opt.Describe(p.Value) + ", " + foundSeveral})
		}
	}
	return c.apply(ctx, keys, todo)
}
