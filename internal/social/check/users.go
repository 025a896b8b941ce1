package check

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/removal"
	"retwis/internal/social/storage"

	"retwis/maintain"
)

//go:embed drop_user.lua
var dropUserSource string

var dropUserScript = script.New(dropUserSource).Retryable()

// userCheck checks users and their names.
type userCheck struct {
	check      *checker
	moderation *moderationCheck
}

// usernames checks that each username refers to a user with that name.
func (c *userCheck) usernames(ctx context.Context) error {
	if c.check.foreign[storage.UserNames] {
		return nil
	}
	return c.allNames(ctx, func(key string, names, ids []string) error {
		users, err := c.check.userFields(ctx, ids, "username", "password")
		if err != nil {
			return err
		}
		for i, id := range ids {
			if err := c.name(ctx, key, names[i], id, users[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// name checks one username. A user is written before the username refers to it, and no ID is
// assigned twice, so a username without a user means that the user was lost for good.
func (c *userCheck) name(ctx context.Context, key, name, id string, user []string) error {
	if _, bucket, ok := storage.ParseKey(key); ok && int(bucket) != storage.Bucket(name) {
		p := Problem{
			Kind: maintain.Stale, Key: key, Leftover: true, Repair: "remove it there",
			Detail: fmt.Sprintf("%q belongs in %s", name, storage.BucketKey(storage.Bucket(name))),
		}
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.check.names.Free(ctx, key, name, id) })
	}
	if id == storage.Nobody {
		return nil // the account was deleted
	}
	p := Problem{Kind: maintain.Dangling, Key: key}
	switch username := user[0]; {
	case username == "" && user[1] != "":
		p.Kind, p.Detail = maintain.Missing, fmt.Sprintf("%q belongs to user %s, who has no username", name, id)
		p.Repair = "give the user this name"
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			return storage.FillField(ctx, c.check.client, storage.UserPrefix+id, "username", name)
		})
	case username == "":
		p.Detail = fmt.Sprintf("%q belongs to user %s, who does not exist", name, id)
	case storage.Fold(username) != storage.Fold(name):
		p.Kind, p.Detail = maintain.Stale, fmt.Sprintf("%q belongs to user %s, whose name is %q", name, id, username)
	default:
		return nil
	}
	p.Repair = "free the name"
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		now, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Hget().Key(storage.UserPrefix+id).Field("username").Build()))
		if err != nil || storage.Fold(now) == storage.Fold(name) {
			return false, err
		}
		c.check.app.Users.ForgetName(name)
		return c.check.names.Free(ctx, key, name, id)
	})
}

// users checks users against the keys that refer to them.
func (c *userCheck) users(ctx context.Context, keys []string) error {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = strings.TrimPrefix(key, storage.UserPrefix)
	}
	users, err := c.check.userFields(ctx, ids, "username", "auth", "joined", "password", "pinned", "standing", "role", "signup")
	if err != nil {
		return err
	}
	for i, key := range keys {
		fields := users[i]
		_, uid, _ := storage.ParseKey(key)
		c.check.result.Users++
		c.check.lastUser = max(c.check.lastUser, uid)
		if fields[0] != "" && fields[5] == storage.Closed {
			if err := c.closed(ctx, uid, fields[0], fields[2]); err != nil {
				return err
			}
			continue
		}
		if err := c.user(ctx, uid, fields); err != nil {
			return err
		}
		if err := c.pinned(ctx, uid, fields[4]); err != nil {
			return err
		}
		if err := c.moderation.user(ctx, uid, fields[6], fields[5], fields[7]); err != nil {
			return err
		}
	}
	return nil
}

// closed checks that a closed account is being deleted.
func (c *userCheck) closed(ctx context.Context, uid int64, name, joined string) error {
	c.check.knownUsers.add(uid, true)
	member := removal.Member(uid, name, joined)
	since, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Zscore().Key(storage.Tasks).Member(member).Build()))
	if err != nil || since != "" {
		return err
	}
	p := Problem{Kind: maintain.Missing, Key: storage.UserKey(uid), Detail: "is closed, but its deletion is not in " + storage.Tasks, Repair: "delete the account"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		switch err := c.check.app.Leaving.DeleteAccount(ctx, uid); {
		case errors.Is(err, social.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		}
		return true, c.check.app.Leaving.FinishRemoval(ctx, uid)
	})
}

func (c *userCheck) user(ctx context.Context, uid int64, fields []string) error {
	key, name, open, joined := storage.UserKey(uid), fields[0], fields[1], fields[2]
	if name == "" {
		p := Problem{Kind: maintain.Missing, Key: key, Detail: "has no username"}
		var repair fix
		if open != "" || joined != "" || fields[3] != "" {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) {
				return c.check.setAside(ctx, key, "hash", "username", "")
			}
		}
		return c.check.found(ctx, p, repair)
	}
	c.check.knownUsers.add(uid, true)
	found, err := c.check.names.Owners(ctx, name)
	if err != nil && !rediserr.IsWrongType(err) {
		return err
	}
	owners := []string{found[0].Folded, found[0].Typed}
	since, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Zscore().Key(storage.UsersByTime).Member(name).Build()))
	if err != nil {
		return err
	}
	for token := range strings.SplitSeq(open, ",") {
		if token != "" {
			c.check.result.Sessions++
		}
	}
	if !slices.Contains(owners, storage.Itoa(uid)) && !c.check.foreign[storage.UserNames] {
		if err := c.unreachable(ctx, uid, name, open, owners[0]); err != nil || owners[0] != "" {
			return err
		}
	}
	if since == "" && !c.check.foreign[storage.UsersByTime] && c.isLatest(joined) {
		if err := c.notLatest(ctx, key, name, joined); err != nil {
			return err
		}
	}
	return nil
}

// notLatest reports a user who is missing from `users_by_time`.
func (c *userCheck) notLatest(ctx context.Context, key, name, joined string) error {
	p := Problem{Kind: maintain.Missing, Key: key, Detail: "is not in users_by_time", Leftover: true, Repair: "add the user there"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		at := float64(0)
		if t := storage.ParseTime(joined); !t.IsZero() {
			at = float64(t.Unix())
		}
		return c.check.client.DoMulti(ctx, c.check.names.AddLatest(name, at)...)[0].AsBool()
	})
}

// pinned checks that the post pinned to a profile belongs to the user. Profiles do not show a
// deleted pinned post, so such a post is a leftover.
func (c *userCheck) pinned(ctx context.Context, uid int64, post string) error {
	if post == "" {
		return nil
	}
	id, isID := storage.ParseID(post)
	s, err := c.check.state(ctx, id)
	if err != nil || isID && s.isPost() && s.author == uid && s.repostOf == 0 {
		return err
	}
	p := Problem{Kind: maintain.Dangling, Key: storage.UserKey(uid), Leftover: true, Detail: fmt.Sprintf("pinned post %.40q is not a post of the user", post), Repair: "unpin it"}
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		return storage.DeleteFieldIf(ctx, c.check.client, storage.UserKey(uid), "pinned", post)
	})
}

// unreachable reports a user whose username does not refer to the user. A registration in progress
// does the same as the repair, or removes the user, so the two can run concurrently.
func (c *userCheck) unreachable(ctx context.Context, uid int64, name, open, owner string) error {
	p := Problem{Kind: maintain.Missing, Key: storage.UserKey(uid), Detail: fmt.Sprintf("unreachable: the username %q does not lead to this user", name), Leftover: open == ""}
	if owner == "" {
		p.Repair = fmt.Sprintf("give %q to the user", storage.Fold(name))
		return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			holder, err := c.check.names.Claim(ctx, name, uid)
			return holder == uid, err
		})
	}
	// Another user has the name. A user without sessions and data lost the race for the name, and
	// the process that should have removed the user died.
	data := []string{storage.ProfileKey(uid), storage.FollowingKey(uid), storage.FollowersKey(uid), storage.HomeKey(uid)}
	exists := func(key string) rueidis.Completed { return c.check.client.B().Exists().Key(key).Build() }
	hasData, err := reads.Many(ctx, c.check.client, data, exists, rueidis.RedisResult.AsBool)
	if err != nil {
		return err
	}
	if open != "" || slices.Contains(hasData, true) {
		p.Kind = maintain.Taken
		p.Detail += fmt.Sprintf(" but to user %s", owner)
		return c.check.found(ctx, p, nil)
	}
	p.Repair = "remove the user, who has no data"
	return c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
		return dropUserScript.Run(ctx, c.check.client, []string{storage.UserKey(uid)}, []string{name}).AsBool()
	})
}

// isLatest reports whether a user who joined at the given time belongs in `users_by_time`, which
// has only the latest users on a Cluster.
func (c *userCheck) isLatest(joined string) bool {
	if !c.check.cluster || c.check.sinceLatest.IsZero() {
		return true
	}
	return storage.ParseTime(joined).After(c.check.sinceLatest)
}

// byTime checks that each entry of `users_by_time` is the name of a user.
func (c *userCheck) byTime(ctx context.Context) error {
	if c.check.foreign[storage.UsersByTime] || c.check.foreign[storage.UserNames] {
		return nil
	}
	return c.check.sortedSet(ctx, storage.UsersByTime, func(names, scores []string) error {
		found, err := c.named(ctx, names)
		if err != nil {
			return err
		}
		for i, name := range names {
			if found[i] {
				continue
			}
			p := Problem{Kind: maintain.Dangling, Key: storage.UsersByTime, Detail: fmt.Sprintf("%q is not the name of a user", name), Repair: "remove it"}
			err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) { return c.removeByTime(ctx, name, scores[i]) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// removeByTime removes a name from `users_by_time`. It then checks again, and adds the name again
// if a user registered it meanwhile.
func (c *userCheck) removeByTime(ctx context.Context, name, score string) (bool, error) {
	found, err := c.named(ctx, []string{name})
	if err != nil || found[0] {
		return false, err
	}
	removed, err := c.check.client.Do(ctx, c.check.client.B().Zrem().Key(storage.UsersByTime).Member(name).Build()).AsBool()
	if err != nil || !removed {
		return false, err
	}
	if found, err = c.named(ctx, []string{name}); err != nil || !found[0] {
		return true, err
	}
	return true, c.check.client.Do(ctx, c.check.client.B().Arbitrary("ZADD").Keys(storage.UsersByTime).Args("NX", score, name).Build()).Error()
}

// named reports which names belong to users who have exactly that username.
func (c *userCheck) named(ctx context.Context, names []string) ([]bool, error) {
	owners, err := c.check.names.Owners(ctx, names...)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, 2*len(names))
	for _, owner := range owners {
		ids = append(ids, owner.Typed, owner.Folded)
	}
	users, err := c.check.userFields(ctx, ids, "username")
	if err != nil {
		return nil, err
	}
	found := make([]bool, len(names))
	for i, name := range names {
		found[i] = users[2*i][0] == name || users[2*i+1][0] == name
	}
	return found, nil
}
