package adopt

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

// convertUsers converts the users whose names are among the keys.
func (c *conversion) convertUsers(ctx context.Context, keys []string) error {
	var ids []int64
	var reads rueidis.Commands
	b := c.d.client.B()
	for _, name := range keys {
		uid, field, ok := parse2009(name)
		c.lastUser = max(c.lastUser, uid) // no new user can have the id of one that is skipped
		switch {
		case !ok && hasField(name, "username"):
			c.skip(ctx, name, "not a user id")
		case ok && field == "username":
			ids = append(ids, uid)
			reads = append(reads,
				b.Getrange().Key(name).Start(0).End(layout.MaxLookup).Build(),
				b.Getrange().Key(key2009(uid, "password")).Start(0).End(auth.MaxTypedPassword).Build())
		case ok && field == "password":
			exists, err := c.d.client.Do(ctx, b.Exists().Key(key2009(uid, "username")).Build()).AsBool()
			if err != nil {
				return err
			}
			if !exists {
				c.skip(ctx, name, "user %d has no username", uid)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	res := c.d.client.DoMulti(ctx, reads...)
	return storage.AtOnce(len(ids), func(i int) error {
		name, err := reply.TextOrEmpty(res[2*i])
		if err != nil {
			return err
		}
		password, err := reply.TextOrEmpty(res[2*i+1])
		if err != nil {
			return err
		}
		return c.convertUser(ctx, ids[i], name, password)
	})
}

func hasField(name, field string) bool {
	return strings.HasPrefix(name, prefix2009UID) && strings.HasSuffix(name, ":"+field)
}

// convertUser claims the name first and then writes the user's hash: a user whose
// name is taken leaves nothing behind.
func (c *conversion) convertUser(ctx context.Context, uid int64, name, password string) error {
	key := key2009(uid, "username")
	if reason := unusable(name); reason != "" {
		c.skip(ctx, key, "%.40q %s", name, reason)
		return nil
	}
	owner, err := c.owner2009(ctx, uid, name)
	if err != nil {
		return err
	}
	b := c.d.client.B()
	if owner == uid {
		res := c.d.client.DoMulti(ctx,
			b.Hsetnx().Key(layout.Users).Field(name).Value(layout.Itoa(uid)).Build(),
			b.Hget().Key(layout.Users).Field(name).Build(),
		)
		if owner, err = res[1].AsInt64(); err != nil {
			return errors.Join(res[0].Error(), err)
		}
	}
	if owner != uid {
		c.skip(ctx, key, "%q is the name of user %d", name, owner)
		return nil
	}
	if social.CheckName(name) != nil {
		c.warn(ctx, "a username that a new user could not have; it is kept as it is", "user", uid, "username", name)
	}
	writes := rueidis.Commands{
		b.Hsetnx().Key(layout.UserKey(uid)).Field("username").Value(name).Build(),
		b.Zadd().Key(layout.UsersByTime).Nx().ScoreMember().ScoreMember(registered2009(uid), name).Build(),
	}
	if password == "" || len(password) > auth.MaxTypedPassword {
		c.warn(ctx, "a user without a password that can be typed; nobody can log in as them", "user", uid, "username", name)
	} else {
		writes = append(writes, b.Hsetnx().Key(layout.UserKey(uid)).Field("password").Value(password).Build())
	}
	c.converted.users.Add(1)
	return reply.FirstError(c.d.client.DoMulti(ctx, writes...))
}

// unusable returns why a name cannot be looked up or shown, empty if it can.
func unusable(name string) string {
	switch {
	case name == "":
		return "is no username"
	case len(name) > layout.MaxLookup:
		return fmt.Sprintf("is longer than %d bytes", layout.MaxLookup)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "is not text"
	}
	return ""
}

// owner2009 returns the user that the old program found under the name: uid, unless
// the name leads to another user of exactly this name.
func (c *conversion) owner2009(ctx context.Context, uid int64, name string) (int64, error) {
	b := c.d.client.B()
	for _, res := range c.d.client.DoMulti(ctx,
		b.Getrange().Key(prefix2009Name+name+":uid").Start(0).End(maxDigits).Build(),
		b.Getrange().Key(prefix2009Name+name+":id").Start(0).End(maxDigits).Build(),
	) {
		value, err := reply.TextOrEmpty(res)
		if err != nil {
			return 0, err
		}
		other, ok := layout.ParseID(value)
		if !ok || other == uid {
			if ok {
				return uid, nil
			}
			continue
		}
		theirs, err := reply.TextOrEmpty(c.d.client.Do(ctx, b.Getrange().Key(key2009(other, "username")).Start(0).End(layout.MaxLookup).Build()))
		if err != nil {
			return 0, err
		}
		if theirs == name {
			return other, nil
		}
	}
	return uid, nil
}
