package index

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
	"retwis/maintain"
)

// restoreLost puts entries into the reverse index that are not in it, in the
// partitions, where there is a mender.
func (c contentCheck) restoreLost(ctx context.Context) error {
	if c.m == nil {
		return nil
	}
	for i := range c.x.set.Keys {
		keys := &c.x.set.Keys[i]
		err := c.x.restorable(ctx, c.r, keys, func(only []pair) error {
			var todo mending
			var pairs []string
			for _, p := range only {
				c.r.Found(c.lost(keys, p))
				todo.add("keep", p.id, p.member)
				pairs = append(pairs, p.id, p.member)
			}
			c.r.Report.Checked += int64(len(only))
			if err := c.mend(ctx, keys, todo); err != nil {
				return err
			}
			// Now they are as all others.
			_, err := c.page(ctx, keys, pairs)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lost is the problem of an entry that is not in the reverse index.
func (c contentCheck) lost(keys *partition.Keys, p pair) maintain.Problem {
	return maintain.Problem{Kind: maintain.Missing, ID: p.id, Want: fmt.Sprintf("%s in %s", c.x.describe(p.member), keys.Content)}
}

// memberCheck looks at the sorted set: is each member the one of its id?
type memberCheck struct{ contentCheck }

func (c memberCheck) page(ctx context.Context, keys *partition.Keys, scores []string) (int, error) {
	var all, lost []pair
	var ids []string
	var todo mending
	strays := 0
	for i := 0; i+1 < len(scores); i += 2 {
		id, err := c.x.id(scores[i])
		if err != nil {
			strays++
			c.r.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("%q", scores[i])})
			todo.add("drop", "", scores[i])
			continue
		}
		all, ids = append(all, pair{id, scores[i]}), append(ids, id)
	}
	if len(ids) > 0 {
		contents, err := c.x.set.Client.Do(ctx, c.x.set.Client.B().Hmget().Key(keys.Content).Field(ids...).Build()).ToArray()
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
			case content != p.member:
				strays++
				c.r.Found(maintain.Problem{Kind: maintain.Stale, ID: p.id, Found: c.x.describe(p.member), Want: c.x.describe(content)})
				todo.add("drop", p.id, p.member)
			}
		}
	}
	if err := c.mend(ctx, keys, todo); err != nil {
		return 0, err
	}
	return strays + len(lost), c.ofLost(ctx, keys, lost)
}

// ofLost looks at entries that are not in the reverse index. During a Repair these
// are those of which an id has several: its object decides, if it is known.
func (c memberCheck) ofLost(ctx context.Context, keys *partition.Keys, lost []pair) error {
	if len(lost) == 0 {
		return nil
	}
	objects := map[string]bool{}
	if c.exists {
		ids := idsOf(lost)
		found, err := c.lookup(ctx, ids)
		if err != nil {
			return err
		}
		for _, o := range found {
			objects[o.ID] = true
		}
		// What it does is counted below.
		if err := c.m.recheck(ctx, engine.Start(maintain.Options{}), ids); err != nil {
			return err
		}
	}
	now, err := c.x.set.Client.Do(ctx, c.x.set.Client.B().Hmget().Key(keys.Content).Field(idsOf(lost)...).Build()).ToArray()
	if err != nil {
		return err
	}
	var todo mending
	for i, p := range lost {
		content, _ := now[i].ToString() // none where it is still not there
		switch {
		case c.exists && !objects[p.id]:
			c.r.Found(maintain.Problem{Kind: maintain.Dangling, ID: p.id, Found: c.x.describe(p.member)})
			todo.add("drop", p.id, p.member)
		case c.m == nil:
			c.r.Found(c.lost(keys, p))
		case content == p.member:
			c.r.Found(c.lost(keys, p))
			c.r.Report.Repaired++
		case content != "":
			c.r.Found(maintain.Problem{Kind: maintain.Stale, ID: p.id, Found: c.x.describe(p.member), Want: c.x.describe(content)})
			todo.add("drop", p.id, p.member)
		default:
			c.r.Found(maintain.Problem{Kind: maintain.Stale, ID: p.id, Found: c.x.describe(p.member) + ", " + foundSeveral})
		}
	}
	return c.mend(ctx, keys, todo)
}

func idsOf(pairs []pair) []string {
	ids := make([]string, len(pairs))
	for i, p := range pairs {
		ids[i] = p.id
	}
	return ids
}
