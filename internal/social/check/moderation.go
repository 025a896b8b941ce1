package check

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/social/timeline"
	"retwis/maintain"
)

// moderationCheck checks roles, standings and the queue of reports.
type moderationCheck struct{ check *checker }

func (c *moderationCheck) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{c.staff, c.standings, c.ends, c.reports} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// user checks that the role and the standing of a user are noted elsewhere as they are.
func (c *moderationCheck) user(ctx context.Context, uid int64, role, standing string) error {
	if role == "" && standing == "" {
		return nil
	}
	b, id := c.check.client.B(), layout.Itoa(uid)
	res := c.check.client.DoMulti(ctx, b.Hget().Key(layout.Staff).Field(id).Build(), b.Zscore().Key(layout.Standings).Member(id).Build())
	noted, err := reply.TextOrEmpty(res[0])
	if err != nil {
		return err
	}
	if noted != role && !c.check.foreign[layout.Staff] {
		if err := c.role(ctx, uid, role, noted); err != nil {
			return err
		}
	}
	score, err := reply.TextOrEmpty(res[1])
	if err != nil || c.check.foreign[layout.Standings] {
		return err
	}
	n, _ := strconv.ParseFloat(score, 64)
	if have := timeline.StandingOfScore(n).String(); standing != "" && have != standing {
		return c.standing(ctx, uid, fmt.Sprintf("is %s, which %s does not have", standing, layout.Standings))
	}
	return nil
}

func (c *moderationCheck) role(ctx context.Context, uid int64, role, noted string) error {
	p := Problem{
		Kind: maintain.Stale, Key: layout.UserKey(uid), Repair: "copy the role from " + layout.Staff,
		Detail: fmt.Sprintf("has the role %.20q, where %s has %.20q", role, layout.Staff, noted),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.check.app.Moderation.CopyRole(ctx, uid) })
}

func (c *moderationCheck) standing(ctx context.Context, uid int64, detail string) error {
	p := Problem{Kind: maintain.Stale, Key: layout.UserKey(uid), Detail: detail, Repair: "note the standing of the user"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.check.app.Moderation.CopyStanding(ctx, uid) })
}

// fields reads fields of users.
func (c *moderationCheck) fields(ctx context.Context, ids []string, field string) ([][]string, error) {
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = c.check.client.B().Hmget().Key(layout.UserPrefix+id).Field("username", field).Build()
	}
	all := make([][]string, len(ids))
	for i, res := range c.check.client.DoMulti(ctx, cmds...) {
		var err error
		if all[i], err = reply.Fields(res); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// staff checks that everybody in `staff` exists and has the role.
func (c *moderationCheck) staff(ctx context.Context) error {
	if c.check.foreign[layout.Staff] {
		return nil
	}
	return c.check.hash(ctx, layout.Staff, func(ids, roles []string) error {
		users, err := c.fields(ctx, ids, "role")
		if err != nil {
			return err
		}
		for i, id := range ids {
			uid, ok := layout.ParseID(id)
			switch {
			case !ok || users[i][0] == "":
				p := Problem{Kind: maintain.Dangling, Key: layout.Staff, Detail: fmt.Sprintf("user %.20s does not exist", id), Repair: "remove the role"}
				err = c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
					return c.check.client.Do(ctx, c.check.client.B().Hdel().Key(layout.Staff).Field(id).Build()).AsBool()
				})
			case users[i][1] != roles[i]:
				err = c.role(ctx, uid, users[i][1], roles[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// standings checks that everybody in `standings` exists and has the standing.
func (c *moderationCheck) standings(ctx context.Context) error {
	return c.noted(ctx, layout.Standings, "standing", func(score float64, stored string) bool {
		if stored == "" {
			stored = social.Good.String()
		}
		return timeline.StandingOfScore(score).String() == stored
	})
}

// ends checks that everybody in `standing_ends` exists and has that end.
func (c *moderationCheck) ends(ctx context.Context) error {
	return c.noted(ctx, layout.StandingEnds, "standing_until", func(score float64, stored string) bool {
		return layout.Itoa(int64(score)) == stored
	})
}

func (c *moderationCheck) noted(ctx context.Context, key, field string, agrees func(score float64, stored string) bool) error {
	if c.check.foreign[key] {
		return nil
	}
	return c.check.sortedSet(ctx, key, func(ids, scores []string) error {
		users, err := c.fields(ctx, ids, field)
		if err != nil {
			return err
		}
		for i, id := range ids {
			uid, ok := layout.ParseID(id)
			score, _ := strconv.ParseFloat(scores[i], 64)
			switch {
			case !ok || users[i][0] == "":
				p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %.20s does not exist", id), Repair: "remove the entry"}
				err = c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
					return c.check.client.Do(ctx, c.check.client.B().Zrem().Key(key).Member(id).Build()).AsBool()
				})
			case !agrees(score, users[i][1]):
				err = c.standing(ctx, uid, fmt.Sprintf("has another standing than %s", key))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// reports puts open reports that no ring has into theirs.
func (c *moderationCheck) reports(ctx context.Context) error {
	missing, err := c.check.app.Reports.MissingReports(ctx)
	if err != nil || missing == 0 {
		return err
	}
	p := Problem{
		Kind: maintain.Missing, Key: layout.Reports, Leftover: true, Repair: "put them there",
		Detail: fmt.Sprintf("%d open reports wait in no ring", missing),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		n, err := c.check.app.Reports.RefillReports(ctx)
		return n > 0, err
	})
}
