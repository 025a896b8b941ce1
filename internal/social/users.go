package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	_ "embed"

	"retwis/internal/redis/script"
	"retwis/internal/social/directory"
	"retwis/internal/social/follow"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
)

// reserved is the id to which the name of an account leads that was deleted: the name
// is never free again.
const reserved = 0

// users reads accounts.
type users struct {
	db database
	// ids maps a username, as it was asked for, to its user id. A pair never
	// changes while it exists; the user is read and compared each time.
	ids    *otter.Cache[string, int64]
	latest atomic.Pointer[latest]
	newest *recent[string] // the names of the latest users; nil: not in memory

	directory *directory.Directory
	sets      follow.Store // reads sets of users and posts in pages
}

// newUsers returns the users of a database.
func newUsers(db database) (*users, error) {
	ids, err := otter.New(&otter.Options[string, int64]{MaximumSize: cachedPairs})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	u := &users{db: db, ids: ids, directory: directory.New(db.client), sets: follow.New(db.client)}
	if db.link.Watched() {
		u.newest = newRecent(db.link, u.readNewest)
	}
	return u, nil
}

// cachedPairs bounds the immutable pairs kept in memory, about 150 bytes each.
const cachedPairs = 200_000

// UserByName returns the user of that name, in any case, or ErrNotFound. No
// round trip for a name that was asked for lately, else two.
func (u *users) UserByName(ctx context.Context, name string) (User, error) {
	uid, err := u.lookUp(ctx, name)
	if err != nil {
		return User{}, err
	}
	rec, err := u.record(ctx, uid)
	if err == nil && layout.Fold(rec.Name) == layout.Fold(name) {
		return rec.User, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return User{}, err
	}
	// The server has lost a user that this process remembers.
	u.ForgetName(name)
	if uid, err = u.lookUp(ctx, name); err != nil {
		return User{}, err
	}
	rec, err = u.record(WithFresh(ctx), uid)
	return rec.User, err
}

// ForgetName removes a username from this process' memory.
func (u *users) ForgetName(name string) { u.ids.Invalidate(name) }

// lookUp returns the id that belongs to a username, or ErrNotFound.
func (u *users) lookUp(ctx context.Context, name string) (int64, error) {
	if name == "" || len(name) > layout.MaxLookup {
		return 0, ErrNotFound
	}
	if uid, ok := u.ids.GetIfPresent(name); ok {
		return uid, nil
	}
	// As it was typed first: to the original program, names that differ in case
	// only were different users.
	owners, err := u.directory.Owners(ctx, name)
	if err != nil {
		return 0, err
	}
	for _, id := range []string{owners[0].Typed, owners[0].Folded} {
		if id == "" {
			continue
		}
		uid, err := directory.ParseOwner(name, id)
		if err != nil {
			return 0, err
		}
		if uid == reserved {
			continue
		}
		u.ids.Set(name, uid)
		return uid, nil
	}
	return 0, ErrNotFound
}

// record is the hash of a user.
type record struct {
	User
	auth string // the hashes of the open sessions, comma-separated
}

// recordFields are the fields of a user that are read; see parseRecord.
var recordFields = []string{"username", "auth", "joined", "display_name", "role", "standing", "unlisted"}

func (u *users) recordCommand(uid int64) rueidis.Cacheable {
	return u.db.client.B().Hmget().Key(layout.UserKey(uid)).Field(recordFields...).Cache()
}

func parseRecord(uid int64, res rueidis.RedisResult) (record, error) {
	fields, err := res.ToArray()
	if err != nil {
		return record{}, fmt.Errorf("social: read a user: %w", err)
	}
	if len(fields) != len(recordFields) || fields[0].IsNil() {
		return record{}, ErrNotFound
	}
	var rec record
	rec.ID = uid
	rec.Name, err = fields[0].ToString()
	if err != nil {
		return record{}, fmt.Errorf("social: key %s: username: %w", layout.UserKey(uid), err)
	}
	if !fields[1].IsNil() {
		rec.auth, _ = fields[1].ToString()
	}
	if !fields[2].IsNil() {
		joined, _ := fields[2].ToString()
		rec.Joined = layout.ParseTime(joined)
	}
	if !fields[3].IsNil() {
		rec.DisplayName, _ = fields[3].ToString()
	}
	if !fields[4].IsNil() {
		name, _ := fields[4].ToString()
		rec.Role, _ = ParseRole(name)
	}
	if !fields[5].IsNil() {
		name, _ := fields[5].ToString()
		rec.Standing = parseStanding(name)
	}
	rec.Unlisted = !fields[6].IsNil()
	return rec, nil
}

// record returns the hash of one user, or ErrNotFound.
func (u *users) record(ctx context.Context, uid int64) (record, error) {
	return parseRecord(uid, u.db.read(ctx, u.recordCommand(uid)))
}

// byID returns the users with these ids; missing ones are left out.
func (u *users) byID(ctx context.Context, ids []int64) (map[int64]User, error) {
	found := make(map[int64]User, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	cmds := make([]rueidis.Cacheable, len(ids))
	for i, id := range ids {
		cmds[i] = u.recordCommand(id)
	}
	for i, res := range u.db.readMany(ctx, cmds...) {
		rec, err := parseRecord(ids[i], res)
		switch {
		case err == nil:
			found[ids[i]] = rec.User
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}

// inOrder returns the users with these ids in their order, without missing
// ones.
func (u *users) inOrder(ctx context.Context, ids []int64) ([]User, error) {
	byID, err := u.byID(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make([]User, 0, len(ids))
	for _, id := range ids {
		if user, ok := byID[id]; ok {
			found = append(found, user)
		}
	}
	return found, nil
}

// Empty reports whether no user has registered yet; on a Cluster, whether nobody has
// tried to. One round trip.
func (u *users) Empty(ctx context.Context) (bool, error) {
	return u.directory.Empty(ctx)
}

// standingFields are the fields of a user that hold a standing.
var standingFields = []string{"username", "standing", "standing_since", "standing_until", "standing_message"}

func (u *users) standing(ctx context.Context, uid int64) (StandingInfo, error) {
	fields, err := reply.Fields(u.db.read(ctx, u.db.client.B().Hmget().Key(layout.UserKey(uid)).Field(standingFields...).Cache()))
	if err != nil {
		return StandingInfo{}, fmt.Errorf("social: read a standing: %w", err)
	}
	if fields[0] == "" {
		return StandingInfo{}, ErrNotFound
	}
	info := StandingInfo{Standing: parseStanding(fields[1])}
	if info.Standing != Good {
		info.Since, info.Until, info.Message = layout.ParseTime(fields[2]), layout.ParseTime(fields[3]), fields[4]
	}
	return info, nil
}

// roles returns the roles of users, read past every memory from `staff`, which alone
// decides: the field of a user is a copy. One round trip.
func (u *users) roles(ctx context.Context, ids ...int64) ([]Role, error) {
	fields := make([]string, len(ids))
	for i, id := range ids {
		fields[i] = layout.Itoa(id)
	}
	values, err := u.db.client.Do(ctx, u.db.client.B().Hmget().Key(layout.Staff).Field(fields...).Build()).ToArray()
	if err != nil {
		return nil, fmt.Errorf("social: read roles: %w", err)
	}
	roles := make([]Role, len(ids))
	for i, value := range values {
		if !value.IsNil() {
			name, _ := value.ToString()
			roles[i], _ = ParseRole(name)
		}
	}
	return roles, nil
}

// Staff returns the users who have a role, the greatest role first. Two round trips.
func (u *users) Staff(ctx context.Context) ([]User, error) {
	staff, err := u.db.client.Do(ctx, u.db.client.B().Hgetall().Key(layout.Staff).Build()).AsStrMap()
	if err != nil {
		return nil, fmt.Errorf("social: read roles: %w", err)
	}
	var ids []int64
	for text := range staff {
		if id, ok := layout.ParseID(text); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	users, err := u.inOrder(WithFresh(ctx), ids)
	slices.SortStableFunc(users, func(a, b User) int { return int(b.Role) - int(a.Role) })
	return users, err
}

var (
	//go:embed user_edit.lua
	userEditSource string
	userEditScript = script.New(userEditSource).Retryable()
) // edit sets fields of a user, or removes those with an empty value.
func (u *users) edit(ctx context.Context, uid int64, fields ...string) error {
	ok, err := userEditScript.RunFenced(ctx, u.db.client, []string{layout.UserKey(uid)}, fields).AsBool()
	if err != nil {
		return fmt.Errorf("social: edit a user: %w", err)
	}
	if !ok {
		return ErrNotFound
	}
	return nil
}
