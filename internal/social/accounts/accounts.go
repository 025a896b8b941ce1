package accounts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// Service registers users.
type Service struct{ Options }

// Options configure a Service; all are required.
type Options struct {
	timeline.Parts
	Directory *storage.Directory
	Auth      *auth.Service
	Sessions  *auth.Sessions
	Names     *search.CompletionIndex
	Search    *search.People
}

// New returns a Service.
func New(opt Options) *Service { return &Service{opt} }

// Register creates an account and opens its first session. It returns ErrTaken if the name is in
// use, in any case, and *InvalidError if the name or the password is not allowed.
//
// The account is first written under its new ID, and exists once its name is claimed. A process
// that loses the race for a name removes the account that it wrote. A crash right after the claim
// can leave the user missing from the latest users; the first log-in adds the user. Five round
// trips and one password hash.
func (a *Service) Register(ctx context.Context, name, password string) (auth.Session, error) {
	return a.register(ctx, newAccount{name: name, password: password})
}

// RegisterReserved is Register for an operator, who may also use a name reserved for the site.
func (a *Service) RegisterReserved(ctx context.Context, name, password string) (auth.Session, error) {
	return a.register(ctx, newAccount{name: name, password: password, allowReserved: true})
}

// newAccount is an account to create.
type newAccount struct {
	name, password string
	fields         []string // additional fields of the user
	allowReserved  bool     // the name may be reserved for the site

	// onWritten is called after the account is written and before its name is claimed. It is called
	// again after an error, and after the account has been removed because its name was taken. It
	// may be nil.
	onWritten func(ctx context.Context, uid string) error
}

// register creates an account and opens its first session. On an error, the session holds the user
// that create returned.
func (a *Service) register(ctx context.Context, n newAccount) (auth.Session, error) {
	user, err := a.create(ctx, n)
	if err != nil {
		return auth.Session{User: user}, err
	}
	session, err := a.Sessions.OpenSession(ctx, user)
	if err != nil {
		return auth.Session{User: user}, err
	}
	a.Users.Registered(user)
	return session, nil
}

// create creates an account; see Register. If the account may exist despite an error, create
// returns the user along with the error.
func (a *Service) create(ctx context.Context, n newAccount) (social.User, error) {
	phc, err := a.prepare(ctx, n)
	if err != nil {
		return social.User{}, err
	}
	user := social.User{Name: n.name, Joined: a.Now().UTC()}
	user.ID, err = a.createUser(ctx, append([]string{"username", n.name, "password", phc, "joined", storage.Seconds(user.Joined)}, n.fields...)...)
	if err != nil {
		return social.User{}, fmt.Errorf("social: register: %w", err)
	}
	err = a.enter(ctx, n, user)
	if err != nil && n.onWritten != nil {
		// onWritten may have recorded the account elsewhere, so the account must not remain without
		// a name, even if the request has been canceled. A failed claim may still be in flight, so
		// the hash must not be deleted either.
		cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if !errors.Is(err, social.ErrTaken) {
			err = a.enter(cleanupCtx, n, user)
		}
		if errors.Is(err, social.ErrTaken) {
			err = errors.Join(err, n.onWritten(cleanupCtx, storage.Itoa(user.ID)))
		}
	}
	if errors.Is(err, social.ErrTaken) {
		return social.User{}, err
	}
	if err != nil {
		return user, err
	}
	return user, nil
}

// enter claims the name of an account that has been written. It can be repeated until it returns
// ErrTaken, which means that the account has been removed.
func (a *Service) enter(ctx context.Context, n newAccount, user social.User) error {
	if n.onWritten != nil {
		if err := n.onWritten(ctx, storage.Itoa(user.ID)); err != nil {
			return err
		}
	}
	if err := a.Names.PutName(ctx, search.Name{Username: n.name}, 0); err != nil {
		return err
	}
	return a.Search.Change(ctx, user.ID, func() error { return a.Claim(ctx, user) })
}

// prepare validates a new account, and returns the hash of its password.
func (a *Service) prepare(ctx context.Context, n newAccount) (phc string, err error) {
	if err := social.CheckName(n.name); err != nil {
		return "", err
	}
	if !n.allowReserved {
		if err := a.checkReserved(ctx, n.name); err != nil {
			return "", err
		}
	}
	if err := auth.CheckPassword(n.password, n.name); err != nil {
		return "", err
	}
	// Check before hashing, which costs far more than a round trip.
	if err := a.checkFree(ctx, n.name); err != nil {
		return "", err
	}
	return a.Auth.HashNew(ctx, n.password)
}

// checkFree returns ErrTaken if a name is in use, or belonged to a deleted account.
func (a *Service) checkFree(ctx context.Context, name string) error {
	owners, err := a.Directory.Owners(ctx, name)
	if err == nil && owners[0].First() != "" {
		err = social.ErrTaken
	}
	return err
}

// createUser writes the hash of a user under the next free ID. It skips IDs in use, because the
// counter falls back when a server loses its last second of writes.
func (a *Service) createUser(ctx context.Context, fields ...string) (int64, error) {
	for {
		id, err := a.DB.NextID(ctx, storage.NextUserID)
		if err != nil {
			return 0, err
		}
		created, err := storage.CreateHash(ctx, a.DB.Client, storage.UserKey(id), fields)
		if err != nil || created {
			return id, err
		}
	}
}

// Claim claims the name for a user, or removes the user and returns ErrTaken.
func (a *Service) Claim(ctx context.Context, user social.User) error {
	owner, err := a.Directory.Claim(ctx, user.Name, user.ID)
	if err != nil {
		return fmt.Errorf("social: register: %w", err)
	}
	if owner == user.ID {
		return nil
	}
	if err := a.DB.Client.Do(ctx, a.DB.Client.B().Del().Key(storage.UserKey(user.ID)).Build().ToRetryable()).Error(); err != nil {
		return fmt.Errorf("%w: %w", social.ErrTaken, err)
	}
	return social.ErrTaken
}

// checkReserved returns *InvalidError if a name is reserved, looks like a reserved one, or looks
// like the name of a user with a role. Two round trips.
func (a *Service) checkReserved(ctx context.Context, name string) error {
	if social.IsReservedName(name) {
		return social.Invalid("username", "That username is reserved. Please choose another one.")
	}
	staff, err := a.Users.Staff(ctx)
	if err != nil {
		return err
	}
	for _, user := range staff {
		if social.LooksLike(name, user.Name) && !strings.EqualFold(name, user.Name) { // an equal name is reported as taken
			return social.Invalid("username", "That username looks too much like another one. Please choose another one.")
		}
	}
	return nil
}
