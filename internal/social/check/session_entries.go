package check

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/auth"
	"retwis/internal/social/layout"
	"retwis/maintain"
)

//go:embed session_strip.lua
var sessionStripSource string

var sessionStripScript = script.New(sessionStripSource).Retryable()

var sessionPrefixes = []string{layout.SessionsPrefix, layout.LoginsPrefix}

// entries checks that what is known of sessions belongs to open ones, and that none of
// these has expired.
func (c *sessionCheck) entries(ctx context.Context) error {
	return c.pass(ctx, "*:{"+layout.UserPrefix+"*}", sessionPrefixes, func(ctx context.Context, keys []string) error {
		cmds := make(rueidis.Commands, 0, 2*len(keys))
		for _, key := range keys {
			_, uid, _ := layout.ParseKey(key)
			cmds = append(cmds,
				c.client.B().Hmget().Key(layout.UserKey(uid)).Field("username", "auth").Build(),
				c.client.B().Hkeys().Key(key).Build())
		}
		res := c.client.DoMulti(ctx, cmds...)
		for i, key := range keys {
			user, err := reply.Fields(res[2*i])
			if err != nil {
				return err
			}
			tokens, err := res[2*i+1].AsStrSlice()
			if rediserr.IsWrongType(err) {
				continue // it was reported
			}
			if err != nil {
				return err
			}
			if err := c.ofUser(ctx, key, user[0], user[1], tokens); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *sessionCheck) ofUser(ctx context.Context, key, name, open string, tokens []string) error {
	prefix, uid, _ := layout.ParseKey(key)
	strip := func(tokens ...string) fix {
		return func(ctx context.Context) (bool, error) {
			return sessionStripScript.Run(ctx, c.client, []string{layout.UserKey(uid), key}, tokens).AsBool()
		}
	}
	if name == "" {
		p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
		return c.found(ctx, p, strip())
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
		if err := c.found(ctx, p, strip(token)); err != nil {
			return err
		}
	}
	expired, err := c.app.Sessions.ExpiredSessions(ctx, uid)
	if err != nil || expired == 0 {
		return err
	}
	p := Problem{
		Kind: maintain.Stale, Key: key, Leftover: true, Repair: "end them",
		Detail: fmt.Sprintf("%d sessions have expired: they open nothing", expired),
	}
	return c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.app.Sessions.EndExpiredSessions(ctx, uid) })
}
