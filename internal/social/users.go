package social

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// User is an account.
type User struct {
	ID     int64
	Name   string    // as typed when it was registered
	Joined time.Time // to the second; zero where it is not known
}

// MaxName is the length of a new username, in characters.
const MaxName = 20

// maxLookup bounds, in bytes, a username that is looked up: those of the
// original program knew no bounds.
const maxLookup = 256

// fold is what two usernames that differ in case only have in common.
func fold(name string) string { return strings.ToLower(name) }

func checkName(name string) error {
	ok := len(name) >= 1 && len(name) <= MaxName
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if !ok {
		return &InvalidError{"username", fmt.Sprintf("Use 1 to %d letters, digits or _.", MaxName)}
	}
	return nil
}

// UserByName returns the user of that name, in whatever case it is given, or
// ErrNotFound. No round trip for a name that was asked for lately, else two.
func (s *Service) UserByName(ctx context.Context, name string) (User, error) {
	uid, err := s.lookUp(ctx, name)
	if err != nil {
		return User{}, err
	}
	rec, err := s.record(ctx, uid)
	if err == nil && fold(rec.Name) == fold(name) {
		return rec.User, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return User{}, err
	}
	// The server has lost the user whom this process remembers.
	s.ids.Invalidate(name)
	if uid, err = s.lookUp(ctx, name); err != nil {
		return User{}, err
	}
	rec, err = s.record(WithFresh(ctx), uid)
	return rec.User, err
}

// lookUp returns the id that belongs to a username, or ErrNotFound.
func (s *Service) lookUp(ctx context.Context, name string) (int64, error) {
	if name == "" || len(name) > maxLookup {
		return 0, ErrNotFound
	}
	if uid, ok := s.ids.GetIfPresent(name); ok {
		return uid, nil
	}
	// As it was typed first: the original program took names that differ in
	// case only for different users.
	ids, err := s.client.Do(ctx, s.client.B().Hmget().Key(keyUsers).Field(name, fold(name)).Build()).ToArray()
	if err != nil {
		return 0, fmt.Errorf("social: look up a username: %w", err)
	}
	for _, id := range ids {
		if id.IsNil() {
			continue
		}
		uid, err := id.AsInt64()
		if err != nil {
			return 0, fmt.Errorf("social: key %s: field %q: not a user id: %w", keyUsers, name, err)
		}
		s.ids.Set(name, uid)
		return uid, nil
	}
	return 0, ErrNotFound
}

// record is what the hash of a user holds.
type record struct {
	User
	auth string // the hashes of the open sessions, comma-separated
}

func (s *Service) recordCommand(uid int64) rueidis.Cacheable {
	return s.client.B().Hmget().Key(userKey(uid)).Field("username", "auth", "joined").Cache()
}

func parseRecord(uid int64, res rueidis.RedisResult) (record, error) {
	fields, err := res.ToArray()
	if err != nil {
		return record{}, fmt.Errorf("social: read a user: %w", err)
	}
	if len(fields) != 3 || fields[0].IsNil() {
		return record{}, ErrNotFound
	}
	var rec record
	rec.ID = uid
	rec.Name, err = fields[0].ToString()
	if err != nil {
		return record{}, fmt.Errorf("social: key %s: username: %w", userKey(uid), err)
	}
	if !fields[1].IsNil() {
		rec.auth, _ = fields[1].ToString()
	}
	if !fields[2].IsNil() {
		joined, _ := fields[2].ToString()
		rec.Joined = parseTime(joined)
	}
	return rec, nil
}

// record returns the hash of one user, or ErrNotFound.
func (s *Service) record(ctx context.Context, uid int64) (record, error) {
	return parseRecord(uid, s.read(ctx, s.recordCommand(uid)))
}

// users returns the users with these ids; one that does not exist is left out.
func (s *Service) users(ctx context.Context, ids []int64) (map[int64]User, error) {
	users := make(map[int64]User, len(ids))
	if len(ids) == 0 {
		return users, nil
	}
	cmds := make([]rueidis.Cacheable, len(ids))
	for i, id := range ids {
		cmds[i] = s.recordCommand(id)
	}
	for i, res := range s.readMany(ctx, cmds...) {
		rec, err := parseRecord(ids[i], res)
		switch {
		case err == nil:
			users[ids[i]] = rec.User
		case err != ErrNotFound: // parseRecord returns it bare
			return nil, err
		}
	}
	return users, nil
}

// LatestUsers returns the names of the n users who registered last, newest
// first. One round trip at most.
func (s *Service) LatestUsers(ctx context.Context, n int) ([]string, error) {
	names, err := s.read(ctx, s.client.B().Zrevrange().Key(keyUsersByTime).Start(0).Stop(int64(n-1)).Cache()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("social: latest users: %w", err)
	}
	return names, nil
}

// inOrder returns the users with these ids in their order, without those that
// do not exist.
func (s *Service) inOrder(ctx context.Context, ids []int64) ([]User, error) {
	byID, err := s.users(ctx, ids)
	if err != nil {
		return nil, err
	}
	users := make([]User, 0, len(ids))
	for _, id := range ids {
		if user, ok := byID[id]; ok {
			users = append(users, user)
		}
	}
	return users, nil
}

// parseTime reads a moment as the layout keeps it; what cannot be read is the
// zero time.
func parseTime(text string) time.Time {
	sec, err := strconv.ParseFloat(text, 64)
	if err != nil || sec <= 0 || sec > maxSeconds {
		return time.Time{}
	}
	return time.Unix(int64(sec), 0).UTC()
}

// maxSeconds is the end of the year 9999, past which no date can be written.
const maxSeconds = 253402300799
