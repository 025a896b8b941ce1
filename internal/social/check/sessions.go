package check

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/sleep"
	"retwis/internal/social/auth"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// sessionCheck checks the sessions in `auths`.
type sessionCheck struct {
	check    *checker
	suspects []suspect
}

// suspect is a session that may be beginning: `auths` is written first.
type suspect struct {
	token, uid string
	seen       time.Time
}

// maxSuspects bounds the sessions that are looked at again later.
const maxSuspects = 10_000

// all checks that the user of each session has it too.
func (c *sessionCheck) all(ctx context.Context) error {
	if c.check.foreign[layout.Auths] {
		return nil
	}
	return c.check.hash(ctx, layout.Auths, func(tokens, ids []string) error {
		users, err := c.check.userFields(ctx, ids, "auth")
		if err != nil {
			return err
		}
		for i, user := range users {
			if !c.check.spread {
				c.check.result.Sessions++
			}
			if auth.HasSession(user[0], tokens[i]) {
				continue
			}
			c.suspects = append(c.suspects, suspect{token: tokens[i], uid: ids[i], seen: time.Now()})
		}
		if len(c.suspects) >= maxSuspects || !c.check.repair {
			return c.suspected(ctx)
		}
		return nil
	})
}

// suspected checks again the sessions that their users did not have.
func (c *sessionCheck) suspected(ctx context.Context) error {
	for _, old := range c.suspects {
		p := Problem{
			Kind: maintain.Dangling,
			Key:  layout.Auths, Leftover: true, Repair: "remove it",
			Detail: fmt.Sprintf("a session that user %s does not have: it opens nothing", old.uid),
		}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			if wait := c.check.opt.SessionGrace - time.Since(old.seen); wait > 0 && !sleep.For(ctx, wait) {
				return false, ctx.Err()
			}
			open, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Hget().Key(layout.UserPrefix+old.uid).Field("auth").Build()))
			if err != nil || auth.HasSession(open, old.token) {
				return false, err
			}
			return storage.DeleteFieldIf(ctx, c.check.client, layout.Auths, old.token, old.uid)
		})
		if err != nil {
			return err
		}
	}
	c.suspects = c.suspects[:0]
	return nil
}

//go:embed session_strip.lua
var sessionStripSource string

var sessionStripScript = script.New(sessionStripSource).Retryable()

// entries checks that what is known of sessions belongs to open ones, and that none of
// these has expired.
func (c *sessionCheck) entries(ctx context.Context, keys []string) error {
	b := c.check.batch()
	ids, tokens := make([]string, len(keys)), make([]*[]string, len(keys))
	for i, key := range keys {
		_, uid, _ := layout.ParseKey(key)
		ids[i] = layout.Itoa(uid)
		tokens[i] = b.Texts(c.check.client.B().Hkeys().Key(key).Build())
	}
	if err := b.Run(ctx); err != nil {
		return err
	}
	users, err := c.check.userFields(ctx, ids, "username", "auth")
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := c.ofUser(ctx, key, users[i][0], users[i][1], *tokens[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *sessionCheck) ofUser(ctx context.Context, key, name, open string, tokens []string) error {
	prefix, uid, _ := layout.ParseKey(key)
	strip := func(tokens ...string) fix {
		return func(ctx context.Context) (bool, error) {
			return sessionStripScript.Run(ctx, c.check.client, []string{layout.UserKey(uid), key}, tokens).AsBool()
		}
	}
	if name == "" {
		p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
		return c.check.found(ctx, p, strip())
	}
	if prefix == layout.LoginsPrefix {
		return nil // it expires
	}
	for _, token := range tokens {
		if auth.HasSession(open, token) {
			continue
		}
		p := Problem{
			Kind: maintain.Dangling, Key: key, Leftover: true, Repair: "remove it",
			Detail: fmt.Sprintf("an entry of a session %.8s… that is not open", token),
		}
		if err := c.check.found(ctx, p, strip(token)); err != nil {
			return err
		}
	}
	expired, err := c.check.app.Sessions.ExpiredSessions(ctx, uid)
	if err != nil || expired == 0 {
		return err
	}
	p := Problem{
		Kind: maintain.Stale, Key: key, Leftover: true, Repair: "end them",
		Detail: fmt.Sprintf("%d sessions have expired: they open nothing", expired),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.app.Sessions.EndExpiredSessions(ctx, uid) })
}
