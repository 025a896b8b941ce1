package accounts

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/completion"
	"retwis/internal/social/layout"
	"retwis/internal/social/searchindex"
	"retwis/internal/social/storage"
	"retwis/internal/social/users"
)

// Service registers users.
type Service struct {
	users     *users.Users
	directory *users.Directory
	db        storage.Database
	logins    *auth.Service
	sessions  *auth.Sessions
	names     *completion.Index
	search    *searchindex.People
	now       func() time.Time
}

// Options are what a Service needs; all are required.
type Options struct {
	DB        storage.Database
	Users     *users.Users
	Directory *users.Directory
	Auth      *auth.Service
	Sessions  *auth.Sessions
	Names     *completion.Index
	Search    *searchindex.People
	Now       func() time.Time
}

// New returns a Service.
func New(opt Options) *Service {
	return &Service{users: opt.Users, directory: opt.Directory, db: opt.DB, logins: opt.Auth, sessions: opt.Sessions, names: opt.Names, search: opt.Search, now: opt.Now}
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
func (a *Service) Register(ctx context.Context, name, password string) (auth.Session, error) {
	return a.registerOther(ctx, name, password)
}

// registerOther is Register with more fields of the user.
func (a *Service) registerOther(ctx context.Context, name, password string, fields ...string) (auth.Session, error) {
	if err := social.CheckName(name); err != nil {
		return auth.Session{}, err
	}
	if err := a.checkReserved(ctx, name); err != nil {
		return auth.Session{}, err
	}
	return a.register(ctx, name, password, fields...)
}

// RegisterReserved is Register for an operator, who may also use a name that is reserved
// for the site.
func (a *Service) RegisterReserved(ctx context.Context, name, password string) (auth.Session, error) {
	return a.register(ctx, name, password)
}

func (a *Service) register(ctx context.Context, name, password string, fields ...string) (auth.Session, error) {
	if err := social.CheckName(name); err != nil {
		return auth.Session{}, err
	}
	if err := auth.CheckPassword(password, name); err != nil {
		return auth.Session{}, err
	}
	// Before the hash is computed, which costs far more than a round trip.
	if err := a.isFree(ctx, name); err != nil {
		return auth.Session{}, err
	}
	phc, err := a.logins.HashNew(ctx, password)
	if err != nil {
		return auth.Session{}, err
	}
	user := social.User{Name: name, Joined: a.now().UTC()}
	user.ID, err = a.createUser(ctx, append([]string{"username", name, "password", phc, "joined", layout.Seconds(user.Joined)}, fields...)...)
	if err != nil {
		return auth.Session{}, fmt.Errorf("social: register: %w", err)
	}
	if err := a.names.PutName(ctx, completion.Name{Username: name}, 0); err != nil {
		return auth.Session{}, err
	}
	if err := a.search.Change(ctx, user.ID, func() error { return a.Claim(ctx, user) }); err != nil {
		return auth.Session{}, err
	}
	if err := a.MarkLayout(ctx, user.ID); err != nil {
		return auth.Session{}, err
	}
	session, err := a.sessions.OpenSession(ctx, user)
	if err == nil {
		a.users.Registered(user)
	}
	return session, err
}

// isFree returns ErrTaken for a name that is in use, or was before its account was
// deleted.
func (a *Service) isFree(ctx context.Context, name string) error {
	owners, err := a.directory.Owners(ctx, name)
	if err == nil && owners[0].First() != "" {
		err = social.ErrTaken
	}
	return err
}

// createUser writes the hash of a user under the next id. Should the id be in
// use (the counter fell back when a server lost its last second), it takes the
// one after it.
func (a *Service) createUser(ctx context.Context, fields ...string) (int64, error) {
	for {
		id, err := a.db.NextID(ctx, layout.NextUserID)
		if err != nil {
			return 0, err
		}
		created, err := storage.CreateHash(ctx, a.db.Client, layout.UserKey(id), fields)
		if err != nil || created {
			return id, err
		}
	}
}

// Claim gives a user their name, or removes the user and returns ErrTaken.
func (a *Service) Claim(ctx context.Context, user social.User) error {
	owner, err := a.directory.Claim(ctx, user.Name, user.ID)
	if err != nil {
		return fmt.Errorf("social: register: %w", err)
	}
	if owner == user.ID {
		return nil
	}
	if err := a.db.Client.Do(ctx, a.db.Client.B().Del().Key(layout.UserKey(user.ID)).Build().ToRetryable()).Error(); err != nil {
		return fmt.Errorf("%w: %w", social.ErrTaken, err)
	}
	return social.ErrTaken
}

// MarkLayout writes the layout version of a database whose first user has just
// been created: there is nothing to adopt. An empty Cluster got its layout before.
func (a *Service) MarkLayout(ctx context.Context, firstID int64) error {
	if firstID != 1 {
		return nil
	}
	err := a.db.Client.Do(ctx, a.db.Client.B().Set().Key(layout.LayoutVersion).Value(layout.Version).Nx().Build().ToRetryable()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("social: register: %w", err)
	}
	return nil
}

// checkReserved returns *InvalidError for a name that is reserved, or that looks like one
// that is, or like the name of somebody who has a role. Two round trips.
func (a *Service) checkReserved(ctx context.Context, name string) error {
	if social.IsReservedName(name) {
		return social.Invalid("username", "That username is reserved. Please choose another one.")
	}
	staff, err := a.users.Staff(ctx)
	if err != nil {
		return err
	}
	for _, user := range staff {
		if social.LooksLike(name, user.Name) && !strings.EqualFold(name, user.Name) { // that one is taken
			return social.Invalid("username", "That username looks too much like another one. Please choose another one.")
		}
	}
	return nil
}
