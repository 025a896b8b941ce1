package social

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/redis/rueidis"
)

// Register makes an account and opens its first session. It returns ErrTaken
// where the name belongs to somebody, in whatever case, and *InvalidError for
// a name or a password that cannot be accepted.
//
// The account is written under its new id first, where nobody can see it, and
// exists from the moment in which its name is claimed; whoever loses the race
// for a name takes back what was written. What may be missing after a crash
// right then, its place among the latest users, the first log-in puts right.
// Four round trips and one password hash.
func (s *Service) Register(ctx context.Context, name, password string) (Session, error) {
	if err := checkName(name); err != nil {
		return Session{}, err
	}
	if err := checkPassword(password); err != nil {
		return Session{}, err
	}
	// Asked before the hash is made, which costs far more than a round trip.
	switch _, err := s.lookUp(ctx, name); {
	case err == nil:
		return Session{}, ErrTaken
	case !errors.Is(err, ErrNotFound):
		return Session{}, err
	}
	phc, err := s.hasher.hash(ctx, password)
	if err != nil {
		return Session{}, err
	}
	user := User{Name: name, Joined: s.now().UTC()}
	user.ID, err = s.createUser(ctx, "username", name, "password", phc, "joined", seconds(user.Joined))
	if err != nil {
		return Session{}, fmt.Errorf("social: register: %w", err)
	}
	if err := s.claim(ctx, user); err != nil {
		return Session{}, err
	}
	if err := s.begin(ctx, user.ID); err != nil {
		return Session{}, err
	}
	return s.openSession(ctx, user)
}

// begin marks a database whose first user is ours: there is nothing to adopt.
func (s *Service) begin(ctx context.Context, firstID int64) error {
	if firstID != 1 {
		return nil
	}
	err := s.client.Do(ctx, s.client.B().Set().Key(keyLayoutVersion).Value(layoutVersion).Nx().Build().ToRetryable()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("social: register: %w", err)
	}
	return nil
}

// createUser writes the hash of a user under the next id. Should the id be in
// use (the counter fell back when a server lost its last second), it takes the
// one after it.
func (s *Service) createUser(ctx context.Context, fields ...string) (int64, error) {
	for {
		id, err := s.nextID(ctx, keyNextUserID)
		if err != nil {
			return 0, err
		}
		created, err := createScript.Run(ctx, s.client, []string{userKey(id)}, fields).AsBool()
		if err != nil || created {
			return id, err
		}
	}
}

func (s *Service) nextID(ctx context.Context, counter string) (int64, error) {
	return s.client.Do(ctx, s.client.B().Incr().Key(counter).Build().ToRetryable()).AsInt64()
}

// claim gives a user the name, or takes back what was written for them.
func (s *Service) claim(ctx context.Context, user User) error {
	owner, err := s.claimName(ctx, user)
	if err != nil {
		return fmt.Errorf("social: register: %w", err)
	}
	if owner != user.ID {
		err := s.client.Do(ctx, s.client.B().Del().Key(userKey(user.ID)).Build().ToRetryable()).Error()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrTaken, err)
		}
		return ErrTaken
	}
	return nil
}

// claimName returns who owns the name now.
func (s *Service) claimName(ctx context.Context, user User) (int64, error) {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		b.Hsetnx().Key(keyUsers).Field(fold(user.Name)).Value(itoa(user.ID)).Build().ToRetryable(),
		b.Hget().Key(keyUsers).Field(fold(user.Name)).Build(),
	)
	if err := res[0].Error(); err != nil {
		return 0, err
	}
	return res[1].AsInt64()
}

// Login opens a session for the user whose password this is, or returns
// ErrBadLogin. Five round trips and one password hash.
func (s *Service) Login(ctx context.Context, name, password string) (Session, error) {
	user, err := s.Authenticate(ctx, name, password)
	if err != nil {
		return Session{}, err
	}
	return s.openSession(ctx, user)
}

// Authenticate returns the user of that name if this is their password, or
// ErrBadLogin. A password that the original program kept in clear, or one
// hashed at another cost, is replaced by its hash at today's.
func (s *Service) Authenticate(ctx context.Context, name, password string) (User, error) {
	if len(password) > maxTypedPassword || !utf8.ValidString(name) {
		return User{}, ErrBadLogin
	}
	uid, err := s.lookUp(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return User{}, err
	}
	var rec record
	var stored string
	if err == nil {
		if rec, stored, err = s.credentials(ctx, uid); err != nil {
			return User{}, err
		}
	}
	ok, outdated, err := s.hasher.verify(ctx, password, stored)
	if err != nil {
		return User{}, err
	}
	if !ok {
		return User{}, ErrBadLogin
	}
	if outdated {
		if err := s.replacePassword(ctx, uid, stored, password); err != nil {
			return User{}, err
		}
	}
	return rec.User, nil
}

// credentials returns a user and their stored password, empty when there is no
// such user.
func (s *Service) credentials(ctx context.Context, uid int64) (record, string, error) {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		b.Hmget().Key(userKey(uid)).Field("username", "auth", "joined").Build(),
		b.Hget().Key(userKey(uid)).Field("password").Build(),
	)
	rec, err := parseRecord(uid, res[0])
	if errors.Is(err, ErrNotFound) {
		return record{}, "", nil
	}
	if err != nil {
		return record{}, "", err
	}
	stored, err := text(res[1])
	return rec, stored, err
}

func (s *Service) replacePassword(ctx context.Context, uid int64, stored, password string) error {
	phc, err := s.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	err = passwordReplaceScript.Run(ctx, s.client, []string{userKey(uid)}, []string{stored, phc}).Error()
	if err != nil {
		return fmt.Errorf("social: replace a password: %w", err)
	}
	return nil
}
