package check

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/script"
	"retwis/internal/social/auth"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// sessionCheck checks the entries of sessions.
type sessionCheck struct{ check *checker }

//go:embed session_strip.lua
var sessionStripSource string

var sessionStripScript = script.New(sessionStripSource).Retryable()

// entries checks that session entries belong to open sessions, and that no open session has
// expired.
func (c *sessionCheck) entries(ctx context.Context, keys []string) error {
	hkeys := func(key string) rueidis.Completed { return c.check.client.B().Hkeys().Key(key).Build() }
	tokens, err := reads.Many(ctx, c.check.client, keys, hkeys, rueidis.RedisResult.AsStrSlice)
	if err != nil {
		return err
	}
	ids := make([]string, len(keys))
	for i, key := range keys {
		_, uid, _ := storage.ParseKey(key)
		ids[i] = storage.Itoa(uid)
	}
	users, err := c.check.userFields(ctx, ids, "username", "auth")
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := c.ofUser(ctx, key, users[i][0], users[i][1], tokens[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *sessionCheck) ofUser(ctx context.Context, key, name, open string, tokens []string) error {
	prefix, uid, _ := storage.ParseKey(key)
	strip := func(tokens ...string) fix {
		return func(ctx context.Context) (bool, error) {
			return sessionStripScript.Run(ctx, c.check.client, []string{storage.UserKey(uid), key}, tokens).AsBool()
		}
	}
	if name == "" {
		p := Problem{Kind: maintain.Dangling, Key: key, Detail: fmt.Sprintf("user %d does not exist", uid), Repair: "remove it"}
		return c.check.found(ctx, p, strip())
	}
	if prefix == storage.LoginsPrefix {
		return nil // the key expires
	}
	for _, token := range tokens {
		if auth.HasSession(open, token) {
			continue
		}
		p := Problem{
			Kind: maintain.Dangling, Key: key, Leftover: true, Repair: "remove it",
			Detail: fmt.Sprintf("has an entry for session %.8s…, which is not open", token),
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
		Detail: fmt.Sprintf("%d sessions have expired, but are still recorded", expired),
	}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.app.Sessions.EndExpiredSessions(ctx, uid) })
}
