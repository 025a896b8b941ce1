package social

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
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
			cmds = append(cmds, c.s.client.B().Hexists().Key(userKey(id)).Field("username").Build())
		}
	}
	if len(cmds) == 0 {
		return exist, nil
	}
	for i, res := range c.s.client.DoMulti(ctx, cmds...) {
		ok, err := res.AsBool()
		if err != nil && !isWrongType(err) {
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
	ok, err := c.s.client.Do(ctx, c.s.client.B().Hexists().Key(userKey(id)).Field("username").Build()).AsBool()
	if isWrongType(err) {
		return false, nil
	}
	return ok, err
}

// names checks that each username leads to a user of that name.
func (c *checker) names(ctx context.Context) error {
	if c.foreign[keyUsers] {
		return nil
	}
	return c.hash(ctx, keyUsers, func(names, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.s.client.B().Hmget().Key(prefixUser+id).Field("username", "password").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			user, err := optional(res)
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
	p := Problem{Key: keyUsers}
	switch called := user[0]; {
	case called == "" && user[1] != "":
		p.Detail = fmt.Sprintf("%q belongs to user %s, who has no username", name, id)
		p.Repair = "give the user this name"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return fillScript.Run(ctx, c.s.client, []string{prefixUser + id}, []string{"username", name}).AsBool()
		})
	case called == "":
		p.Detail = fmt.Sprintf("%q belongs to user %s, who does not exist", name, id)
	case fold(called) != fold(name):
		p.Detail = fmt.Sprintf("%q belongs to user %s, whose name is %q", name, id, called)
	default:
		return nil
	}
	p.Repair = "free the name"
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		now, err := stringValue(c.s.client.Do(ctx, c.s.client.B().Hget().Key(prefixUser+id).Field("username").Build()))
		if err != nil || fold(now) == fold(name) {
			return false, err
		}
		c.s.ids.Invalidate(name)
		return hdelScript.Run(ctx, c.s.client, []string{keyUsers}, []string{name, id}).AsBool()
	})
}

// users checks what the hash of each user says of itself elsewhere, and the type
// of every key.
func (c *checker) users(ctx context.Context) error {
	all := []string{prefixUser, prefixPost, prefixPosts, prefixProfile, prefixFollowing, prefixFollowers}
	return c.pass(ctx, "*", all, func(ctx context.Context, keys []string) error {
		keys, err := c.ofTheirType(ctx, keys)
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefixUser) })
		if len(keys) == 0 {
			return nil
		}
		cmds := make(rueidis.Commands, len(keys))
		for i, key := range keys {
			cmds[i] = c.s.client.B().Hmget().Key(key).Field("username", "auth", "joined", "password").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			fields, err := optional(res)
			if err != nil {
				return err
			}
			_, uid, _ := parseKey(keys[i])
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
	key, name, auth, joined := userKey(uid), fields[0], fields[1], fields[2]
	if name == "" {
		p := Problem{Key: key, Detail: "has no username"}
		var repair fix
		if auth != "" || joined != "" || fields[3] != "" {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) {
				return c.s.setAside(ctx, key, "hash", "username", "")
			}
		}
		return c.found(ctx, p, repair)
	}
	c.knownUsers.add(uid)
	cmds := rueidis.Commands{
		c.s.client.B().Hmget().Key(keyUsers).Field(fold(name), name).Build(),
		c.s.client.B().Zscore().Key(keyUsersByTime).Member(name).Build(),
	}
	var tokens []string
	for _, token := range strings.Split(auth, ",") {
		if token != "" && len(tokens) < 10*maxSessions {
			tokens = append(tokens, token)
			cmds = append(cmds, c.s.client.B().Hget().Key(keyAuths).Field(token).Build())
		}
	}
	res := c.s.client.DoMulti(ctx, cmds...)
	owners, err := optional(res[0])
	if err != nil {
		return err
	}
	if !slices.Contains(owners, itoa(uid)) && !c.foreign[keyUsers] {
		if err := c.notFound(ctx, uid, name, auth, owners[0]); err != nil || owners[0] != "" {
			return err
		}
	}
	since, err := stringValue(res[1])
	if err != nil {
		return err
	}
	if since == "" && !c.foreign[keyUsersByTime] {
		p := Problem{Key: key, Detail: "not among the users by time", Leftover: true, Repair: "add the user there"}
		at := float64(0)
		if t := parseTime(joined); !t.IsZero() {
			at = float64(t.Unix())
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.s.client.Do(ctx, c.s.client.B().Zadd().Key(keyUsersByTime).Nx().ScoreMember().ScoreMember(at, name).Build()).AsBool()
		})
		if err != nil {
			return err
		}
	}
	for i, token := range tokens {
		owner, err := stringValue(res[2+i])
		if err != nil {
			return err
		}
		if owner != itoa(uid) && !c.foreign[keyAuths] {
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
	p := Problem{Key: userKey(uid), Detail: fmt.Sprintf("nobody finds this user: %q is not theirs", name), Leftover: auth == ""}
	if owner == "" {
		p.Repair = fmt.Sprintf("give %q to the user", fold(name))
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.s.client.Do(ctx, c.s.client.B().Hsetnx().Key(keyUsers).Field(fold(name)).Value(itoa(uid)).Build()).AsBool()
		})
	}
	// Somebody else has the name. Who never opened a session and did nothing
	// lost the race for it, and the process that should have taken them back
	// died.
	b := c.s.client.B()
	cmds := rueidis.Commands{}
	for _, made := range []string{profileKey(uid), followingKey(uid), followersKey(uid), homeKey(uid)} {
		cmds = append(cmds, b.Exists().Key(made).Build())
	}
	used := auth != ""
	for _, res := range c.s.client.DoMulti(ctx, cmds...) {
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
		return dropUserScript.Run(ctx, c.s.client, []string{userKey(uid)}, []string{name}).AsBool()
	})
}

// token reports a session that a user knows and `auths` does not. Should the
// user log out in the same moment, the repair leaves an entry that opens
// nothing.
func (c *checker) token(ctx context.Context, uid int64, token, owner string) error {
	p := Problem{Key: userKey(uid), Detail: fmt.Sprintf("knows a session that `auths` gives to %q", owner)}
	if owner == "" {
		p.Repair = "add the session to `auths`"
		return c.found(ctx, p, func(ctx context.Context) (bool, error) {
			auth, err := stringValue(c.s.client.Do(ctx, c.s.client.B().Hget().Key(userKey(uid)).Field("auth").Build()))
			if err != nil || !hasToken(auth, token) {
				return false, err
			}
			return c.s.client.Do(ctx, c.s.client.B().Hsetnx().Key(keyAuths).Field(token).Value(itoa(uid)).Build()).AsBool()
		})
	}
	p.Repair = "end the session"
	return c.found(ctx, p, func(ctx context.Context) (bool, error) {
		return sessionDropScript.Run(ctx, c.s.client, []string{userKey(uid)}, []string{token}).AsBool()
	})
}

// usersByTime checks that each of the users by time is one.
func (c *checker) usersByTime(ctx context.Context) error {
	if c.foreign[keyUsersByTime] || c.foreign[keyUsers] {
		return nil
	}
	return c.sortedSet(ctx, keyUsersByTime, func(names, scores []string) error {
		found, err := c.named(ctx, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if found[i] {
				continue
			}
			p := Problem{Key: keyUsersByTime, Detail: fmt.Sprintf("%q is the name of no user", name), Repair: "remove it"}
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
	removed, err := c.s.client.Do(ctx, c.s.client.B().Zrem().Key(keyUsersByTime).Member(name).Build()).AsBool()
	if err != nil || !removed {
		return false, err
	}
	if found, err = c.named(ctx, []string{name}); err != nil || !found[0] {
		return true, err
	}
	return true, c.s.client.Do(ctx, c.s.client.B().Arbitrary("ZADD").Keys(keyUsersByTime).Args("NX", score, name).Build()).Error()
}

// named tells which of these names are those of users, as they typed them.
func (c *checker) named(ctx context.Context, names []string) ([]bool, error) {
	cmds := make(rueidis.Commands, len(names))
	for i, name := range names {
		cmds[i] = c.s.client.B().Hmget().Key(keyUsers).Field(name, fold(name)).Build()
	}
	var reads rueidis.Commands
	var of []int
	for i, res := range c.s.client.DoMulti(ctx, cmds...) {
		ids, err := optional(res)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id != "" {
				of = append(of, i)
				reads = append(reads, c.s.client.B().Hget().Key(prefixUser+id).Field("username").Build())
			}
		}
	}
	found := make([]bool, len(names))
	if len(reads) == 0 {
		return found, nil
	}
	for i, res := range c.s.client.DoMulti(ctx, reads...) {
		name, err := stringValue(res)
		if err != nil {
			return nil, err
		}
		found[of[i]] = found[of[i]] || name == names[of[i]]
	}
	return found, nil
}

// sessions checks that each session is known to its user.
func (c *checker) sessions(ctx context.Context) error {
	if c.foreign[keyAuths] {
		return nil
	}
	return c.hash(ctx, keyAuths, func(tokens, ids []string) error {
		cmds := make(rueidis.Commands, len(ids))
		for i, id := range ids {
			cmds[i] = c.s.client.B().Hget().Key(prefixUser + id).Field("auth").Build()
		}
		for i, res := range c.s.client.DoMulti(ctx, cmds...) {
			auth, err := stringValue(res)
			if err != nil {
				return err
			}
			c.result.Sessions++
			if hasToken(auth, tokens[i]) {
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
			Key: keyAuths, Leftover: true, Repair: "remove it",
			Detail: fmt.Sprintf("a session of user %s that the user does not know: it opens nothing", old.uid),
		}
		err := c.found(ctx, p, func(ctx context.Context) (bool, error) {
			if wait := c.s.sessionGrace - time.Since(old.seen); wait > 0 && !pause(ctx, wait) {
				return false, ctx.Err()
			}
			auth, err := stringValue(c.s.client.Do(ctx, c.s.client.B().Hget().Key(prefixUser+old.uid).Field("auth").Build()))
			if err != nil || hasToken(auth, old.token) {
				return false, err
			}
			return hdelScript.Run(ctx, c.s.client, []string{keyAuths}, []string{old.token, old.uid}).AsBool()
		})
		if err != nil {
			return err
		}
	}
	c.suspects = c.suspects[:0]
	return nil
}

// optional returns the values of an HMGET, empty where there is none, as many
// as fields were asked for: the key may be missing or of another type.
func optional(res rueidis.RedisResult) ([]string, error) {
	values, err := res.ToArray()
	if isWrongType(err) {
		return make([]string, maxOptional), nil
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(values))
	for i, value := range values {
		if !value.IsNil() {
			texts[i], _ = value.ToString()
		}
	}
	return texts, nil
}

// maxOptional is at least how many fields are ever asked for.
const maxOptional = 4
