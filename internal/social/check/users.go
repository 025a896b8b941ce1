package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/hash"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// usersExist returns which of these users exist: those with a username.
func (c *checker) usersExist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist := make(map[int64]bool, len(ids))
	var ask []int64
	var cmds rueidis.Commands
	for _, id := range ids {
		if _, twice := exist[id]; twice {
			continue
		}
		exist[id] = c.knownUsers.has(id)
		if !exist[id] {
			ask = append(ask, id)
			cmds = append(cmds, c.client.B().Hexists().Key(layout.UserKey(id)).Field("username").Build())
		}
	}
	if len(cmds) == 0 {
		return exist, nil
	}
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		ok, err := res.AsBool()
		if err != nil && !reply.IsWrongType(err) {
			return nil, err
		}
		if exist[ask[i]] = err == nil && ok; exist[ask[i]] {
			c.knownUsers.add(ask[i])
		}
	}
	return exist, nil
}

// userExists looks at one user afresh, for a repair.
func (c *checker) userExists(ctx context.Context, id int64) (bool, error) {
	ok, err := c.client.Do(ctx, c.client.B().Hexists().Key(layout.UserKey(id)).Field("username").Build()).AsBool()
	if reply.IsWrongType(err) {
		return false, nil
	}
	return ok, err
}

// names checks that each username leads to a user of that name.
func (c *checker) names(ctx context.Context) error {
	if c.foreign[layout.Users] {
		return nil
	}
	return c.hash(ctx, layout.Users, func(names, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.client.B().Hmget().Key(layout.UserPrefix+id).Field("username", "password").Build()
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			user, err := reply.Fields(res)
			if err != nil {
				return err
			}
			if err := c.name(ctx, names[i], ids[i], user); err != nil {
				return err
			}
		}
		return nil
	})
}

// name checks one username. A user is written before their name leads to them,
// and no id is given out twice: a name that leads to nobody was lost, and stays
// lost.
func (c *checker) name(ctx context.Context, name, id string, user []string) error {
	p := Problem{Key: layout.Users}
	switch called := user[0]; {
	case called == "" && user[1] != "":
		p.Detail = fmt.Sprintf("%q belongs to user %s, who has no username", name, id)
		p.Repair = "give the user this name"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return hash.Fill(ctx, c.client, layout.UserPrefix+id, "username", name)
		})
	case called == "":
		p.Detail = fmt.Sprintf("%q belongs to user %s, who does not exist", name, id)
	case layout.Fold(called) != layout.Fold(name):
		p.Detail = fmt.Sprintf("%q belongs to user %s, whose name is %q", name, id, called)
	default:
		return nil
	}
	p.Repair = "free the name"
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		now, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.UserPrefix+id).Field("username").Build()))
		if err != nil || layout.Fold(now) == layout.Fold(name) {
			return false, err
		}
		c.service.ForgetName(name)
		return hash.DeleteIf(ctx, c.client, layout.Users, name, id)
	})
}

// users checks what the hash of each user says of itself elsewhere, and the type
// of every key.
func (c *checker) users(ctx context.Context) error {
	all := []string{layout.UserPrefix, layout.PostPrefix, layout.HomePrefix, layout.ProfilePrefix, layout.FollowingPrefix, layout.FollowersPrefix}
	return c.pass(ctx, "*", all, func(ctx context.Context, keys []string) error {
		keys, err := c.ofTheirType(ctx, keys)
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, layout.UserPrefix) })
		if len(keys) == 0 {
			return nil
		}
		cmds := make(rueidis.Commands, len(keys))
		for i, key := range keys {
			cmds[i] = c.client.B().Hmget().Key(key).Field("username", "auth", "joined", "password").Build()
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			fields, err := reply.Fields(res)
			if err != nil {
				return err
			}
			_, uid, _ := layout.ParseKey(keys[i])
			c.result.Users++
			c.lastUser = max(c.lastUser, uid)
			if err := c.user(ctx, uid, fields); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) user(ctx context.Context, uid int64, fields []string) error {
	key, name, auth, joined := layout.UserKey(uid), fields[0], fields[1], fields[2]
	if name == "" {
		p := Problem{Key: key, Detail: "has no username"}
		var repair fix
		if auth != "" || joined != "" || fields[3] != "" {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) {
				return c.setAside(ctx, key, "hash", "username", "")
			}
		}
		return c.found(ctx, p, repair)
	}
	c.knownUsers.add(uid)
	cmds := rueidis.Commands{
		c.client.B().Hmget().Key(layout.Users).Field(layout.Fold(name), name).Build(),
		c.client.B().Zscore().Key(layout.UsersByTime).Member(name).Build(),
	}
	var tokens []string
	for _, token := range strings.Split(auth, ",") {
		if token != "" && len(tokens) < 10*social.MaxSessions {
			tokens = append(tokens, token)
			cmds = append(cmds, c.client.B().Hget().Key(layout.Auths).Field(token).Build())
		}
	}
	res := c.client.DoMulti(ctx, cmds...)
	owners, err := reply.Fields(res[0])
	if err != nil {
		return err
	}
	if !slices.Contains(owners, layout.Itoa(uid)) && !c.foreign[layout.Users] {
		if err := c.notFound(ctx, uid, name, auth, owners[0]); err != nil || owners[0] != "" {
			return err
		}
	}
	since, err := reply.TextOrEmpty(res[1])
	if err != nil {
		return err
	}
	if since == "" && !c.foreign[layout.UsersByTime] {
		p := Problem{Key: key, Detail: "not among the users by time", Leftover: true, Repair: "add the user there"}
		at := float64(0)
		if t := layout.ParseTime(joined); !t.IsZero() {
			at = float64(t.Unix())
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Zadd().Key(layout.UsersByTime).Nx().ScoreMember().ScoreMember(at, name).Build()).AsBool()
		})
		if err != nil {
			return err
		}
	}
	for i, token := range tokens {
		owner, err := reply.TextOrEmpty(res[2+i])
		if err != nil {
			return err
		}
		if owner != layout.Itoa(uid) && !c.foreign[layout.Auths] {
			if err := c.token(ctx, uid, token, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// notFound reports a user to whom no name leads. A registration does the same
// as the repair next, or takes the user back: the two do not get in each
// other's way.
func (c *checker) notFound(ctx context.Context, uid int64, name, auth, owner string) error {
	p := Problem{Key: layout.UserKey(uid), Detail: fmt.Sprintf("nobody finds this user: %q is not theirs", name), Leftover: auth == ""}
	if owner == "" {
		p.Repair = fmt.Sprintf("give %q to the user", layout.Fold(name))
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.client.Do(ctx, c.client.B().Hsetnx().Key(layout.Users).Field(layout.Fold(name)).Value(layout.Itoa(uid)).Build()).AsBool()
		})
	}
	// Somebody else has the name. Who never opened a session and did nothing
	// lost the race for it, and the process that should have taken them back
	// died.
	b := c.client.B()
	cmds := rueidis.Commands{}
	for _, made := range []string{layout.ProfileKey(uid), layout.FollowingKey(uid), layout.FollowersKey(uid), layout.HomeKey(uid)} {
		cmds = append(cmds, b.Exists().Key(made).Build())
	}
	used := auth != ""
	for _, res := range c.client.DoMulti(ctx, cmds...) {
		exists, err := res.AsBool()
		if err != nil {
			return err
		}
		used = used || exists
	}
	if used {
		p.Detail += fmt.Sprintf(" but user %s's", owner)
		return c.found(ctx, p, nil)
	}
	p.Repair = "remove the user, who has nothing"
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		return dropUserScript.Run(ctx, c.client, []string{layout.UserKey(uid)}, []string{name}).AsBool()
	})
}

// token reports a session that a user knows and `auths` does not. Should the
// user log out in the same moment, the repair leaves an entry that opens
// nothing.
func (c *checker) token(ctx context.Context, uid int64, token, owner string) error {
	p := Problem{Key: layout.UserKey(uid), Detail: fmt.Sprintf("knows a session that `auths` gives to %q", owner)}
	if owner == "" {
		p.Repair = "add the session to `auths`"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			auth, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.UserKey(uid)).Field("auth").Build()))
			if err != nil || !social.HasToken(auth, token) {
				return false, err
			}
			return c.client.Do(ctx, c.client.B().Hsetnx().Key(layout.Auths).Field(token).Value(layout.Itoa(uid)).Build()).AsBool()
		})
	}
	p.Repair = "end the session"
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		return sessionDropScript.Run(ctx, c.client, []string{layout.UserKey(uid)}, []string{token}).AsBool()
	})
}

// usersByTime checks that each of the users by time is one.
func (c *checker) usersByTime(ctx context.Context) error {
	if c.foreign[layout.UsersByTime] || c.foreign[layout.Users] {
		return nil
	}
	return c.sortedSet(ctx, layout.UsersByTime, func(names, scores []string) error {
		found, err := c.named(ctx, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if found[i] {
				continue
			}
			p := Problem{Key: layout.UsersByTime, Detail: fmt.Sprintf("%q is the name of no user", name), Repair: "remove it"}
			err := c.found(ctx, p, func(ctx context.Context) (bool, error) { return c.removeByTime(ctx, name, scores[i]) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// removeByTime looks again after it has removed a name: who registers under it
// in the same moment gets the place back.
func (c *checker) removeByTime(ctx context.Context, name, score string) (bool, error) {
	found, err := c.named(ctx, []string{name})
	if err != nil || found[0] {
		return false, err
	}
	removed, err := c.client.Do(ctx, c.client.B().Zrem().Key(layout.UsersByTime).Member(name).Build()).AsBool()
	if err != nil || !removed {
		return false, err
	}
	if found, err = c.named(ctx, []string{name}); err != nil || !found[0] {
		return true, err
	}
	return true, c.client.Do(ctx, c.client.B().Arbitrary("ZADD").Keys(layout.UsersByTime).Args("NX", score, name).Build()).Error()
}

// named tells which of these names are those of users, as they typed them.
func (c *checker) named(ctx context.Context, names []string) ([]bool, error) {
	cmds := make(rueidis.Commands, len(names))
	for i, name := range names {
		cmds[i] = c.client.B().Hmget().Key(layout.Users).Field(name, layout.Fold(name)).Build()
	}
	var reads rueidis.Commands
	var of []int
	for i, res := range c.client.DoMulti(ctx, cmds...) {
		ids, err := reply.Fields(res)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id != "" {
				of = append(of, i)
				reads = append(reads, c.client.B().Hget().Key(layout.UserPrefix+id).Field("username").Build())
			}
		}
	}
	found := make([]bool, len(names))
	if len(reads) == 0 {
		return found, nil
	}
	for i, res := range c.client.DoMulti(ctx, reads...) {
		name, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, err
		}
		found[of[i]] = found[of[i]] || name == names[of[i]]
	}
	return found, nil
}

// sessions checks that each session is known to its user.
func (c *checker) sessions(ctx context.Context) error {
	if c.foreign[layout.Auths] {
		return nil
	}
	return c.hash(ctx, layout.Auths, func(tokens, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.client.B().Hget().Key(layout.UserPrefix + id).Field("auth").Build()
		}
		for i, res := range c.client.DoMulti(ctx, cmds...) {
			auth, err := reply.TextOrEmpty(res)
			if err != nil {
				return err
			}
			c.result.Sessions++
			if social.HasToken(auth, tokens[i]) {
				continue
			}
			c.suspects = append(c.suspects, suspect{token: tokens[i], uid: ids[i], seen: time.Now()})
		}
		if len(c.suspects) >= maxSuspects || !c.opt.Repair {
			return c.oldSessions(ctx)
		}
		return nil
	})
}

const (
	// maxSuspects bounds the sessions that are looked at again later.
	maxSuspects = 10_000
	// sessionGrace is how long a session may take to begin: `auths` learns of
	// it first. Only a repair waits so long.
	sessionGrace = 10 * time.Second
)

// oldSessions looks again at the sessions that their users did not know.
func (c *checker) oldSessions(ctx context.Context) error {
	for _, old := range c.suspects {
		p := Problem{
			Key: layout.Auths, Leftover: true, Repair: "remove it",
			Detail: fmt.Sprintf("a session of user %s that the user does not know: it opens nothing", old.uid),
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
			if wait := c.opt.SessionGrace - time.Since(old.seen); wait > 0 && !pause(ctx, wait) {
				return false, ctx.Err()
			}
			auth, err := reply.TextOrEmpty(c.client.Do(ctx, c.client.B().Hget().Key(layout.UserPrefix+old.uid).Field("auth").Build()))
			if err != nil || social.HasToken(auth, old.token) {
				return false, err
			}
			return hash.DeleteIf(ctx, c.client, layout.Auths, old.token, old.uid)
		})
		if err != nil {
			return err
		}
	}
	c.suspects = c.suspects[:0]
	return nil
}

// pause waits and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
