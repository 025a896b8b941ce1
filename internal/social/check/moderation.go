package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/search"
	"retwis/internal/social/site"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
	"retwis/maintain"
)

// moderationCheck checks roles, standings, decisions about tags, the site's texts, the blocklist
// and the queue of reports.
type moderationCheck struct{ check *checker }

// user checks that the role and the standing of a user agree with their copies in other keys.
func (c *moderationCheck) user(ctx context.Context, uid int64, role, standing, signUp string) error {
	if role == "" && standing == "" {
		return nil
	}
	b, id := c.check.batch(), storage.Itoa(uid)
	recorded := b.Text(c.check.client.B().Hget().Key(storage.Staff).Field(id).Build())
	score, since := b.Score(storage.Standings, id), b.Score(storage.SignUps, id)
	if err := b.Run(ctx); err != nil {
		return err
	}
	if *recorded != role && !c.check.foreign[storage.Staff] {
		if err := c.role(ctx, uid, role, *recorded); err != nil {
			return err
		}
	}
	if standing == social.Suspended.String() && signUp != "" && *since == "" && !c.check.foreign[storage.SignUps] {
		return c.standing(ctx, uid, "awaits approval, but is not in "+storage.SignUps)
	}
	if standing == "" || c.check.foreign[storage.Standings] || standingOf(*score) == standing {
		return nil
	}
	return c.standing(ctx, uid, fmt.Sprintf("is %s, which %s does not record", standing, storage.Standings))
}

func (c *moderationCheck) role(ctx context.Context, uid int64, role, recorded string) error {
	p := Problem{
		Kind: maintain.Stale, Key: storage.UserKey(uid), Repair: "copy the role from " + storage.Staff,
		Detail: fmt.Sprintf("has the role %.20q, but %s has %.20q", role, storage.Staff, recorded),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.check.app.Moderation.CopyRole(ctx, uid) })
}

func (c *moderationCheck) standing(ctx context.Context, uid int64, detail string) error {
	p := Problem{Kind: maintain.Stale, Key: storage.UserKey(uid), Detail: detail, Repair: "record the standing of the user"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return true, c.check.app.Moderation.CopyStanding(ctx, uid) })
}

// userIndex is a key that indexes a field of the user hashes.
type userIndex struct {
	key, field string
	pages      func(ctx context.Context, key string, visit func(ids, values []string) error) error
	repair     string
	remove     func(id string) rueidis.Completed
	agrees     func(value, stored string) bool
	report     func(ctx context.Context, uid int64, stored, value string) error
}

// all checks that every user in `staff`, `standings`, `standing_ends` and `signups` exists and has
// the role, the standing, the end of the standing, or the pending sign-up recorded there. It then
// runs the other checks of moderation data.
func (c *moderationCheck) all(ctx context.Context) error {
	differs := func(key string) func(context.Context, int64, string, string) error {
		return func(ctx context.Context, uid int64, _, _ string) error {
			return c.standing(ctx, uid, "standing does not agree with "+key)
		}
	}
	zrem := func(key string) func(id string) rueidis.Completed {
		return func(id string) rueidis.Completed { return c.check.client.B().Zrem().Key(key).Member(id).Build() }
	}
	for _, n := range []userIndex{
		{
			key: storage.Staff, field: "role", pages: c.check.hash, repair: "remove the role", report: c.role,
			remove: func(id string) rueidis.Completed {
				return c.check.client.B().Hdel().Key(storage.Staff).Field(id).Build()
			},
			agrees: func(role, stored string) bool { return role == stored },
		},
		{
			key: storage.Standings, field: "standing", pages: c.check.sortedSet, repair: "remove the entry", report: differs(storage.Standings),
			remove: zrem(storage.Standings),
			agrees: func(score, stored string) bool { return standingOf(score) == cmp.Or(stored, social.Good.String()) },
		},
		{
			key: storage.SignUps, field: "signup", pages: c.check.sortedSet, repair: "remove the entry", report: differs(storage.SignUps),
			remove: zrem(storage.SignUps),
			agrees: func(_, stored string) bool { return stored != "" },
		},
		{
			key: storage.StandingEnds, field: "standing_until", pages: c.check.sortedSet, repair: "remove the entry", report: differs(storage.StandingEnds),
			remove: zrem(storage.StandingEnds),
			agrees: sameNumber,
		},
	} {
		if err := c.index(ctx, n); err != nil {
			return err
		}
	}
	for _, check := range []func(context.Context) error{c.tags, c.site, c.blocks} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return c.reports(ctx)
}

// tags checks the decisions about tags.
func (c *moderationCheck) tags(ctx context.Context) error {
	if c.check.foreign[storage.TrendTags] {
		return nil
	}
	return c.check.hash(ctx, storage.TrendTags, func(tags, stored []string) error {
		for i, tag := range tags {
			if search.IsDecision(tag, stored[i]) {
				continue
			}
			p := Problem{Kind: maintain.Invalid, Key: storage.TrendTags, Detail: fmt.Sprintf("%.60q is not a decision about the tag %.60q", stored[i], tag), Repair: "remove it"}
			err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
				return c.check.client.Do(ctx, c.check.client.B().Hdel().Key(storage.TrendTags).Field(tag).Build()).AsBool()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// site checks the texts about the site that operators have set.
func (c *moderationCheck) site(ctx context.Context) error {
	if c.check.foreign[storage.Site] {
		return nil
	}
	return c.check.hash(ctx, storage.Site, func(fields, texts []string) error {
		for i, field := range fields {
			if !slices.Contains(site.Fields, site.Field(field)) {
				continue
			}
			if _, err := site.Clean(site.Field(field), texts[i]); err == nil {
				continue
			}
			p := Problem{Kind: maintain.Invalid, Key: storage.Site, Detail: fmt.Sprintf("%.60q is not a valid %s of a site", texts[i], field), Repair: "remove it"}
			err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
				return c.check.client.Do(ctx, c.check.client.B().Hdel().Key(storage.Site).Field(field).Build()).AsBool()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// blocks checks the blocklist.
func (c *moderationCheck) blocks(ctx context.Context) error {
	if c.check.foreign[storage.Blocklist] {
		return nil
	}
	return c.check.hash(ctx, storage.Blocklist, func(fields, texts []string) error {
		for i, field := range fields {
			if _, ok := blocklist.Parse(field, texts[i]); ok {
				continue
			}
			p := Problem{Kind: maintain.Invalid, Key: storage.Blocklist, Detail: fmt.Sprintf("%.60q is not a valid block of %.60q", texts[i], field), Repair: "remove it"}
			err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
				return c.check.client.Do(ctx, c.check.client.B().Hdel().Key(storage.Blocklist).Field(field).Build()).AsBool()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// standingOf returns the standing that a score represents.
func standingOf(score string) string {
	n, _ := strconv.ParseFloat(score, 64)
	return timeline.StandingOfScore(n).String()
}

func (c *moderationCheck) index(ctx context.Context, n userIndex) error {
	if c.check.foreign[n.key] {
		return nil
	}
	return n.pages(ctx, n.key, func(ids, values []string) error {
		users, err := c.check.userFields(ctx, ids, "username", n.field)
		if err != nil {
			return err
		}
		for i, id := range ids {
			uid, ok := storage.ParseID(id)
			switch {
			case !ok || users[i][0] == "":
				p := Problem{Kind: maintain.Dangling, Key: n.key, Detail: fmt.Sprintf("user %.20s does not exist", id), Repair: n.repair}
				err = c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
					return c.check.client.Do(ctx, n.remove(id)).AsBool()
				})
			case !n.agrees(values[i], users[i][1]):
				err = n.report(ctx, uid, users[i][1], values[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// reports checks that every open report is in the queue.
func (c *moderationCheck) reports(ctx context.Context) error {
	missing, err := c.check.app.Reports.MissingReports(ctx)
	if err != nil || missing == 0 {
		return err
	}
	p := Problem{
		Kind: maintain.Missing, Key: storage.Reports, Leftover: true, Repair: "add them to the queue",
		Detail: fmt.Sprintf("%d open reports are missing from the queue", missing),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		n, err := c.check.app.Reports.RefillReports(ctx)
		return n > 0, err
	})
}
