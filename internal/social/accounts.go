package social

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/social/completion"
	"retwis/internal/social/hash"
	"retwis/internal/social/layout"
	"retwis/internal/social/password"
	"retwis/internal/social/reply"
	"retwis/internal/social/secondfactor"
)

//go:embed password_replace.lua
var passwordReplaceSource string

var passwordReplaceScript = script.New(passwordReplaceSource).Retryable()

// accounts registers users and logs them in.
type accounts struct {
	*sessions
	hasher  *password.Hasher
	factors *secondfactor.Store
	names   *completion.Index
	staff   func(ctx context.Context) ([]User, error) // who has a role
	now     func() time.Time
}

// Register creates an account and opens its first session. It returns ErrTaken
// where the name is in use, in any case, and *InvalidError for a name or a
// password that is not allowed.
//
// The account is written under its new id first, where nothing leads to it, and
// exists from the moment in which its name is claimed; a process that loses the
// race for a name removes what it wrote. A crash right after the claim can leave
// the user missing from the latest users; the first log-in repairs that. Five
// round trips and one password hash.
func (a *accounts) Register(ctx context.Context, name, password string) (Session, error) {
	return a.registerOther(ctx, name, password)
}

// registerOther is Register with more fields of the user.
func (a *accounts) registerOther(ctx context.Context, name, password string, fields ...string) (Session, error) {
	if err := CheckName(name); err != nil {
		return Session{}, err
	}
	if err := a.checkReserved(ctx, name); err != nil {
		return Session{}, err
	}
	return a.register(ctx, name, password, fields...)
}

// RegisterReserved is Register for an operator, who may also use a name that is reserved
// for the site.
func (a *accounts) RegisterReserved(ctx context.Context, name, password string) (Session, error) {
	return a.register(ctx, name, password)
}

func (a *accounts) register(ctx context.Context, name, password string, fields ...string) (Session, error) {
	if err := CheckName(name); err != nil {
		return Session{}, err
	}
	if err := checkPassword(password, name); err != nil {
		return Session{}, err
	}
	// Before the hash is computed, which costs far more than a round trip.
	if err := a.isFree(ctx, name); err != nil {
		return Session{}, err
	}
	phc, err := a.hasher.Hash(ctx, password)
	if err != nil {
		return Session{}, err
	}
	user := User{Name: name, Joined: a.now().UTC()}
	user.ID, err = a.createUser(ctx, append([]string{"username", name, "password", phc, "joined", layout.Seconds(user.Joined)}, fields...)...)
	if err != nil {
		return Session{}, fmt.Errorf("social: register: %w", err)
	}
	if err := a.names.PutName(ctx, completion.Name{Username: name}, 0); err != nil {
		return Session{}, err
	}
	if err := a.Claim(ctx, user); err != nil {
		return Session{}, err
	}
	if err := a.MarkLayout(ctx, user.ID); err != nil {
		return Session{}, err
	}
	session, err := a.openSession(ctx, user)
	if err == nil {
		a.registered(user)
	}
	return session, err
}

// isFree returns ErrTaken for a name that is in use, or was before its account was
// deleted.
func (a *accounts) isFree(ctx context.Context, name string) error {
	owners, err := a.directory.Owners(ctx, name)
	if err == nil && owners[0].First() != "" {
		err = ErrTaken
	}
	return err
}

// createUser writes the hash of a user under the next id. Should the id be in
// use (the counter fell back when a server lost its last second), it takes the
// one after it.
func (a *accounts) createUser(ctx context.Context, fields ...string) (int64, error) {
	for {
		id, err := a.nextID(ctx, layout.NextUserID)
		if err != nil {
			return 0, err
		}
		created, err := hash.Create(ctx, a.client, layout.UserKey(id), fields)
		if err != nil || created {
			return id, err
		}
	}
}

// Claim gives a user their name, or removes the user and returns ErrTaken.
func (a *accounts) Claim(ctx context.Context, user User) error {
	owner, err := a.directory.Claim(ctx, user.Name, user.ID)
	if err != nil {
		return fmt.Errorf("social: register: %w", err)
	}
	if owner == user.ID {
		return nil
	}
	if err := a.client.Do(ctx, a.client.B().Del().Key(layout.UserKey(user.ID)).Build().ToRetryable()).Error(); err != nil {
		return fmt.Errorf("%w: %w", ErrTaken, err)
	}
	return ErrTaken
}

// MarkLayout writes the layout version of a database whose first user has just
// been created: there is nothing to adopt. An empty Cluster got its layout before.
func (a *accounts) MarkLayout(ctx context.Context, firstID int64) error {
	if firstID != 1 {
		return nil
	}
	err := a.client.Do(ctx, a.client.B().Set().Key(layout.LayoutVersion).Value(layout.Version).Nx().Build().ToRetryable()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("social: register: %w", err)
	}
	return nil
}

// Authenticate returns the user of this name and password, ErrBadLogin, or
// *SuspendedError for the right password of a user who is suspended. A
// password that the original program stored in clear, or one hashed at another
// cost, is replaced by its hash at today's.
func (a *accounts) Authenticate(ctx context.Context, name, password string) (User, error) {
	if len(password) > MaxTypedPassword || !utf8.ValidString(name) {
		return User{}, ErrBadLogin
	}
	uid, err := a.lookUp(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return User{}, err
	}
	var rec record
	var stored string
	if err == nil {
		if rec, stored, err = a.credentials(ctx, uid); err != nil {
			return User{}, err
		}
	}
	ok, outdated, err := a.hasher.Verify(ctx, password, stored)
	if err != nil {
		return User{}, err
	}
	if !ok {
		return User{}, ErrBadLogin
	}
	if outdated {
		if err := a.replacePassword(ctx, uid, stored, password); err != nil {
			return User{}, err
		}
	}
	if rec.Standing == Suspended {
		info, err := a.standing(WithFresh(ctx), uid)
		if err != nil {
			return User{}, err
		}
		if info.Standing == Suspended {
			return User{}, &SuspendedError{info}
		}
	}
	return rec.User, nil
}

// credentials returns a user and their stored password, empty when there is no
// such user.
func (a *accounts) credentials(ctx context.Context, uid int64) (record, string, error) {
	b := a.client.B()
	res := a.client.DoMulti(ctx,
		b.Hmget().Key(layout.UserKey(uid)).Field(recordFields...).Build(),
		b.Hget().Key(layout.UserKey(uid)).Field("password").Build(),
	)
	rec, err := parseRecord(uid, res[0])
	if errors.Is(err, ErrNotFound) {
		return record{}, "", nil
	}
	if err != nil {
		return record{}, "", err
	}
	stored, err := reply.Text(res[1])
	return rec, stored, err
}

func (a *accounts) replacePassword(ctx context.Context, uid int64, stored, password string) error {
	phc, err := a.hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	err = passwordReplaceScript.Run(ctx, a.client, []string{layout.UserKey(uid)}, []string{stored, phc}).Error()
	if err != nil {
		return fmt.Errorf("social: replace a password: %w", err)
	}
	return nil
}
