package import2009

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/load"
	"retwis/internal/social/storage"
)

// firstUsers imports the users among the keys whose names are in lower case. They come first
// because a name in lower case must lead to the user with exactly that name, rather than to one
// whose name differs in case.
func (r *run) firstUsers(ctx context.Context, keys []string) error {
	return r.importUsers(ctx, keys, true)
}

// otherUsers imports the other users.
func (r *run) otherUsers(ctx context.Context, keys []string) error {
	return r.importUsers(ctx, keys, false)
}

func (r *run) importUsers(ctx context.Context, keys []string, first bool) error {
	found, err := r.readUsers(ctx, keys, first)
	if err != nil {
		return err
	}
	ownsName := make([]bool, len(found))
	err = storage.AtOnce(len(found), func(i int) error {
		owner, err := r.owner(ctx, found[i])
		if ownsName[i] = owner == found[i].ID; err == nil && !ownsName[i] {
			r.reportTaken(ctx, found[i], owner)
		}
		return err
	})
	if err != nil {
		return err
	}
	var users []load.NewUser
	for i, user := range found {
		if ownsName[i] {
			users = append(users, user)
		}
	}
	kept, err := r.loader.KeepUsers(ctx, users)
	if err != nil {
		return err
	}
	r.users.Add(int64(len(kept)))
	loaded := make(map[int64]bool, len(kept))
	for _, user := range kept {
		loaded[user.ID] = true
		if social.CheckName(user.Name) != nil {
			r.warn(ctx, "kept a username that is not allowed for new users", "user", user.ID, "username", user.Name)
		}
		if user.PasswordHash == "" {
			r.warn(ctx, "a user has no usable password; nobody can log in as this user", "user", user.ID, "username", user.Name)
		}
	}
	for _, user := range users {
		if !loaded[user.ID] {
			r.reportTaken(ctx, user, 0)
		}
	}
	return nil
}

// reportTaken reports a user whose name belongs to another user, whose ID is owner, or 0 if
// unknown.
func (r *run) reportTaken(ctx context.Context, user load.NewUser, owner int64) {
	ownerText := "another user"
	if owner != 0 {
		ownerText = fmt.Sprintf("user %d", owner)
	}
	r.skip(ctx, layout2009.UserKey(user.ID, "username"), "%q is the name of %s", user.Name, ownerText)
}

// readUsers reads the users whose names are among the keys. It reads names in lower case if first
// is set, and all other names if not. If first is set, it reports the unreadable ones.
func (r *run) readUsers(ctx context.Context, keys []string, first bool) ([]load.NewUser, error) {
	var ids []int64
	var reads rueidis.Commands
	b := r.Source.B()
	for _, key := range keys {
		uid, field, ok := layout2009.ParseUserKey(key)
		if ok { // even for a skipped user, whose ID no new user can have
			r.lastUser = max(r.lastUser, uid)
		}
		switch {
		case !ok && first && strings.HasSuffix(key, ":username"):
			r.skip(ctx, key, "not a user id")
		case ok && field == "username":
			ids = append(ids, uid)
			reads = append(reads,
				b.Getrange().Key(key).Start(0).End(storage.MaxLookup).Build(),
				b.Getrange().Key(layout2009.UserKey(uid, "password")).Start(0).End(auth.MaxTypedPassword).Build())
		case ok && field == "password" && first:
			exists, err := r.Source.Do(ctx, b.Exists().Key(layout2009.UserKey(uid, "username")).Build()).AsBool()
			if err != nil {
				return nil, err
			}
			if !exists {
				r.skip(ctx, key, "user %d has no username", uid)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var users []load.NewUser
	res := r.Source.DoMulti(ctx, reads...)
	for i, uid := range ids {
		name, err := reply.TextOrEmpty(res[2*i])
		if err != nil {
			return nil, err
		}
		password, err := reply.TextOrEmpty(res[2*i+1])
		if err != nil {
			return nil, err
		}
		if len(password) > auth.MaxTypedPassword {
			password = ""
		}
		switch reason := unusable(name); {
		case reason != "" && first:
			r.skip(ctx, layout2009.UserKey(uid, "username"), "%.40q %s", name, reason)
		case reason == "" && first == (name == storage.Fold(name)):
			users = append(users, load.NewUser{ID: uid, Name: name, PasswordHash: password})
		}
	}
	return users, nil
}

// unusable returns why a name cannot be looked up or shown, or empty if it can.
func unusable(name string) string {
	switch {
	case name == "":
		return "is not a username"
	case len(name) > storage.MaxLookup:
		return fmt.Sprintf("is longer than %d bytes", storage.MaxLookup)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "is not text"
	}
	return ""
}

// owner returns the ID of the user that the old program found under the name of a user: this user,
// unless the name leads to another user with exactly this name.
func (r *run) owner(ctx context.Context, user load.NewUser) (int64, error) {
	b := r.Source.B()
	for _, key := range layout2009.NameKeys(user.Name) {
		value, err := reply.TextOrEmpty(r.Source.Do(ctx, b.Getrange().Key(key).Start(0).End(maxDigits).Build()))
		if err != nil {
			return 0, err
		}
		other, ok := storage.ParseID(value)
		if !ok {
			continue
		}
		if other == user.ID {
			return user.ID, nil
		}
		otherName, err := reply.TextOrEmpty(r.Source.Do(ctx, b.Getrange().Key(layout2009.UserKey(other, "username")).Start(0).End(storage.MaxLookup).Build()))
		if err != nil {
			return 0, err
		}
		if otherName == user.Name {
			return other, nil
		}
	}
	return user.ID, nil
}
