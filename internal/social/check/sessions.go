package check

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/sleep"
	"retwis/internal/social/auth"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/maintain"
)

// sessionCheck checks the sessions in `auths`.
type sessionCheck struct {
	*checker
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
	if c.foreign[layout.Auths] {
		return nil
	}
	return c.hash(ctx, layout.Auths, func(tokens, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.client.B().Hget().Key(layout.UserPrefix + id).Field("auth").Build()
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			open, err := reply.TextOrEmpty(res)
			if err != nil {
				return err
			}
			if !c.spread {
				c.result.Sessions++
			}
			if auth.HasSession(open, tokens[i]) {
				continue
			}
			c.suspects = append(c.suspects, suspect{token: tokens[i], uid: ids[i], seen: time.Now()})
		}
		if len(c.suspects) >= maxSuspects || !c.repair {
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
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
			if wait := c.opt.SessionGrace - time.Since(old.seen); wait > 0 && !sleep.For(ctx, wait) {
				return false, ctx.Err()
			}
			open, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.UserPrefix+old.uid).Field("auth").Build()))
			if err != nil || auth.HasSession(open, old.token) {
				return false, err
			}
			return storage.DeleteFieldIf(ctx, c.client, layout.Auths, old.token, old.uid)
		})
		if err != nil {
			return err
		}
	}
	c.suspects = c.suspects[:0]
	return nil
}
