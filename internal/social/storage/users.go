package storage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"

	"retwis/internal/watched"
)

// reserved is the ID to which the name of a deleted account maps. The name never becomes free
// again.
const reserved = 0

// Users reads accounts.
type Users struct {
	db Database
	// ids maps a username, as it was requested, to its user ID. A pair never changes while the user
	// exists; the user is read each time, and the name compared.
	ids    *otter.Cache[string, int64]
	latest atomic.Pointer[latest]
	newest *watched.Recent[string] // the names of the latest users; nil if not in memory

	directory *Directory
	sets      Follows // reads sets of users and posts page by page
}

// New returns the users of a database whose names are in a directory.
func New(db Database, names *Directory) (*Users, error) {
	ids, err := otter.New(&otter.Options[string, int64]{MaximumSize: cachedPairs})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	u := &Users{db: db, ids: ids, directory: names, sets: NewFollows(db.Client)}
	if db.Link.Watched() {
		u.newest = watched.NewRecent(db.Link, u.readNewest)
	}
	return u, nil
}

// cachedPairs limits the number of immutable pairs in memory, about 150 bytes each.
const cachedPairs = 200_000

// UserByName returns the user with a name, ignoring case, or ErrNotFound. No round trip for a
// recently requested name, otherwise two.
func (u *Users) UserByName(ctx context.Context, name string) (social.User, error) {
	uid, err := u.LookUp(ctx, name)
	if err != nil {
		return social.User{}, err
	}
	rec, err := u.Record(ctx, uid)
	if err == nil && Fold(rec.Name) == Fold(name) {
		return rec.User, nil
	}
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return social.User{}, err
	}
	// The server has lost a user that this process has in memory.
	u.ForgetName(name)
	if uid, err = u.LookUp(ctx, name); err != nil {
		return social.User{}, err
	}
	rec, err = u.Record(social.WithFresh(ctx), uid)
	return rec.User, err
}

// ForgetName removes a username from the memory of this process.
func (u *Users) ForgetName(name string) { u.ids.Invalidate(name) }

// ForgetLatest removes the latest users from the memory of this process. It must be called after
// this process has changed a user.
func (u *Users) ForgetLatest() { u.latest.Store(nil) }

// LookUp returns the ID of the user with a name, or ErrNotFound.
func (u *Users) LookUp(ctx context.Context, name string) (int64, error) {
	if name == "" || len(name) > MaxLookup {
		return 0, social.ErrNotFound
	}
	if uid, ok := u.ids.GetIfPresent(name); ok {
		return uid, nil
	}
	// The name as typed takes precedence, because in the original program names that differ in case
	// belonged to different users.
	owners, err := u.directory.Owners(ctx, name)
	if err != nil {
		return 0, err
	}
	for _, id := range []string{owners[0].Typed, owners[0].Folded} {
		if id == "" {
			continue
		}
		uid, err := ParseOwner(name, id)
		if err != nil {
			return 0, err
		}
		if uid == reserved {
			continue
		}
		u.ids.Set(name, uid)
		return uid, nil
	}
	return 0, social.ErrNotFound
}

// Record is the hash of a user.
type Record struct {
	social.User
	Auth string // the hashes of the open sessions, comma-separated
}

// RecordFields are the fields of a user that are read; see ParseRecord.
var RecordFields = []string{"username", "auth", "joined", "display_name", "role", "standing", "unlisted", "unsearchable", "signup", "avatar"}

// RecordCommand returns the command that reads a user. ParseRecord parses the reply.
func (u *Users) RecordCommand(uid int64) rueidis.Cacheable {
	return u.db.Client.B().Hmget().Key(UserKey(uid)).Field(RecordFields...).Cache()
}

// ParseRecord parses the reply to RecordCommand. It returns ErrNotFound if the user does not exist.
func ParseRecord(uid int64, res rueidis.RedisResult) (Record, error) {
	fields, err := res.ToArray()
	if err != nil {
		return Record{}, fmt.Errorf("social: read a user: %w", err)
	}
	if len(fields) != len(RecordFields) || fields[0].IsNil() {
		return Record{}, social.ErrNotFound
	}
	var rec Record
	rec.ID = uid
	rec.Name, err = fields[0].ToString()
	if err != nil {
		return Record{}, fmt.Errorf("social: key %s: username: %w", UserKey(uid), err)
	}
	if !fields[1].IsNil() {
		rec.Auth, _ = fields[1].ToString()
	}
	if !fields[2].IsNil() {
		joined, _ := fields[2].ToString()
		rec.Joined = ParseTime(joined)
	}
	if !fields[3].IsNil() {
		rec.DisplayName, _ = fields[3].ToString()
	}
	if !fields[4].IsNil() {
		name, _ := fields[4].ToString()
		rec.Role, _ = social.ParseRole(name)
	}
	if !fields[5].IsNil() {
		name, _ := fields[5].ToString()
		rec.Standing = social.ParseStanding(name)
	}
	rec.Unlisted = !fields[6].IsNil()
	rec.Unsearchable = !fields[7].IsNil()
	rec.Pending = rec.Standing == social.Suspended && !fields[8].IsNil()
	if !fields[9].IsNil() {
		rec.Avatar, _ = fields[9].ToString()
	}
	return rec, nil
}

// Record returns the hash of one user, or ErrNotFound.
func (u *Users) Record(ctx context.Context, uid int64) (Record, error) {
	return ParseRecord(uid, u.db.Read(ctx, u.RecordCommand(uid)))
}

// ByID returns the users with the given IDs, without missing users.
func (u *Users) ByID(ctx context.Context, ids []int64) (map[int64]social.User, error) {
	if len(ids) == 0 {
		return map[int64]social.User{}, nil
	}
	cmds := make([]rueidis.Cacheable, len(ids))
	for i, id := range ids {
		cmds[i] = u.RecordCommand(id)
	}
	return ParseRecords(ids, u.db.ReadMany(ctx, cmds...))
}

// ParseRecords parses the replies to the RecordCommand of each ID, without missing users.
func ParseRecords(ids []int64, results []rueidis.RedisResult) (map[int64]social.User, error) {
	found := make(map[int64]social.User, len(ids))
	for i, res := range results {
		rec, err := ParseRecord(ids[i], res)
		switch {
		case err == nil:
			found[ids[i]] = rec.User
		case !errors.Is(err, social.ErrNotFound):
			return nil, err
		}
	}
	return found, nil
}

// InOrder returns the users with the given IDs in the same order, without missing users.
func (u *Users) InOrder(ctx context.Context, ids []int64) ([]social.User, error) {
	byID, err := u.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make([]social.User, 0, len(ids))
	for _, id := range ids {
		if user, ok := byID[id]; ok {
			found = append(found, user)
		}
	}
	return found, nil
}

// Empty reports whether nobody has tried to register yet. One round trip.
func (u *Users) Empty(ctx context.Context) (bool, error) {
	return u.directory.Empty(ctx)
}

// standingFields are the fields of a user that hold a standing.
var standingFields = []string{"username", "standing", "standing_since", "standing_until", "standing_message", "signup"}

// Standing returns the moderation status of a user, or ErrNotFound. No round trip for a recently
// requested user, otherwise one.
func (u *Users) Standing(ctx context.Context, uid int64) (social.StandingInfo, error) {
	fields, err := reply.Fields(u.db.Read(ctx, u.db.Client.B().Hmget().Key(UserKey(uid)).Field(standingFields...).Cache()))
	if err != nil {
		return social.StandingInfo{}, fmt.Errorf("social: read a standing: %w", err)
	}
	if fields[0] == "" {
		return social.StandingInfo{}, social.ErrNotFound
	}
	info := social.StandingInfo{Standing: social.ParseStanding(fields[1])}
	if info.Standing != social.Good {
		info.Since, info.Until, info.Message = ParseTime(fields[2]), ParseTime(fields[3]), fields[4]
		info.SignUp = fields[5]
	}
	return info, nil
}

// Roles returns the roles of users from `staff`, which is authoritative, whereas the field of a
// user is a copy. It bypasses all caches. One round trip.
func (u *Users) Roles(ctx context.Context, ids ...int64) ([]social.Role, error) {
	fields := make([]string, len(ids))
	for i, id := range ids {
		fields[i] = Itoa(id)
	}
	values, err := u.db.Client.Do(ctx, u.db.Client.B().Hmget().Key(Staff).Field(fields...).Build()).ToArray()
	if err != nil {
		return nil, fmt.Errorf("social: read roles: %w", err)
	}
	roles := make([]social.Role, len(ids))
	for i, value := range values {
		if !value.IsNil() {
			name, _ := value.ToString()
			roles[i], _ = social.ParseRole(name)
		}
	}
	return roles, nil
}

// Require returns ErrForbidden unless the actor is the operator or has at least the given role. One
// round trip.
func (u *Users) Require(ctx context.Context, actor social.Actor, least social.Role) error {
	if actor == social.Operator {
		return nil
	}
	roles, err := u.Roles(ctx, max(int64(actor), 0))
	if err != nil || roles[0] >= least {
		return err
	}
	if least > social.Moderator {
		return social.Forbidden("Only owners and admins may do that.")
	}
	return social.Forbidden("Only moderators may do that.")
}

// Staff returns the users who have a role, greatest role first. Two round trips.
func (u *Users) Staff(ctx context.Context) ([]social.User, error) {
	staff, err := u.db.Client.Do(ctx, u.db.Client.B().Hgetall().Key(Staff).Build()).AsStrMap()
	if err != nil {
		return nil, fmt.Errorf("social: read roles: %w", err)
	}
	var ids []int64
	for text := range staff {
		if id, ok := ParseID(text); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	users, err := u.InOrder(social.WithFresh(ctx), ids)
	slices.SortStableFunc(users, func(a, b social.User) int { return int(b.Role) - int(a.Role) })
	return users, err
}

var (
	//go:embed user_edit.lua
	userEditSource string
	userEditScript = script.New(userEditSource).Retryable()
)

// Edit sets fields of a user, and removes fields whose value is empty. It returns ErrNotFound if
// the user does not exist. One round trip.
func (u *Users) Edit(ctx context.Context, uid int64, fields ...string) error {
	ok, err := userEditScript.RunFenced(ctx, u.db.Client, []string{UserKey(uid)}, fields).AsBool()
	if err != nil {
		return fmt.Errorf("social: edit a user: %w", err)
	}
	if !ok {
		return social.ErrNotFound
	}
	return nil
}
