package auth

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/audit"

	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

var (
	//go:embed field_replace.lua
	fieldReplaceSource string
	fieldReplaceScript = script.New(fieldReplaceSource).Retryable()
)

// ErrBusy reports that too many passwords are waiting to be checked.
var ErrBusy = ErrHashersBusy

// SecondFactorError is returned by Login for an account with a second factor: the password was
// right, and FinishLogin needs a code.
type SecondFactorError struct {
	User   social.User
	Secret string // of the waiting log-in, for FinishLogin
}

func (e *SecondFactorError) Error() string { return "social: a second-factor code is needed" }

// Service logs users in with passwords, second factors and reset links.
type Service struct {
	opt      Options
	sessions *Sessions
	hasher   *Hasher
	factors  *factorStore
}

// Warner warns users about changes that affect the security of their accounts.
type Warner interface {
	// Begin records a warning before a field of a user changes. The caller calls end after the
	// field has changed, or could not be changed: the task that sends the warning checks whether
	// the field has changed.
	Begin(ctx context.Context, uid int64, field string) (end func(), err error)
}

// The fields of a user whose changes a Warner reports.
const (
	PasswordField = "password"
	FactorField   = "totp" // reported when it is removed
	PasskeysField = "passkeys"
)

// warn changes a field of a user by calling change, and warns the user; w may be nil.
func warn(ctx context.Context, w Warner, uid int64, field string, change func() error) error {
	if w == nil {
		return change()
	}
	end, err := w.Begin(ctx, uid, field)
	if err != nil {
		return err
	}
	defer end()
	return change()
}

// Options configure a Service; all but HashParams, Hashers, SecretKey and Warner are required.
type Options struct {
	HashParams *argon2id.Params // see NewHasher
	Hashers    int
	SecretKey  []byte // see newKeyBox
	Limits     *limits.Limits
	Audit      *audit.Log
	Warner     Warner // may be nil
}

// New returns a Service that opens sessions in s.
func New(s *Sessions, opt Options) (*Service, error) {
	box, err := newKeyBox(opt.SecretKey)
	if err != nil {
		return nil, err
	}
	hasher, err := NewHasher(opt.HashParams, opt.Hashers)
	if err != nil {
		return nil, err
	}
	return &Service{opt: opt, sessions: s, hasher: hasher, factors: &factorStore{Client: s.DB.Client, Box: box}}, nil
}

// Login opens a session for the user with this name and password. It returns ErrBadLogin, or
// *SecondFactorError. Six round trips and one password hash.
func (a *Service) Login(ctx context.Context, name, password string) (Session, error) {
	user, stored, err := a.authenticate(ctx, name, password)
	if err != nil {
		return Session{}, err
	}
	state, err := a.factors.State(ctx, user.ID)
	if err != nil {
		return Session{}, err
	}
	if !state.On {
		return a.sessions.open(ctx, user, stored)
	}
	secret, err := a.factors.Wait(ctx, user.ID, stored, a.sessions.Now())
	if err != nil {
		return Session{}, err
	}
	return Session{}, &SecondFactorError{User: user, Secret: secret}
}

// Finished is a successful log-in with a second factor.
type Finished struct {
	Session
	Recovered bool // with a recovery code
	CodesLeft int
}

// FinishLogin opens the session of a log-in that is waiting for a code, which is either from the
// app or a recovery code. It returns ErrNoLogin, ErrBadCode or ErrTooManyCodes. Six round trips.
func (a *Service) FinishLogin(ctx context.Context, secret, code string) (Finished, error) {
	uid, ok := userOfSecret(secret)
	if !ok {
		return Finished{}, ErrNoLogin
	}
	// Read the password before comparing the code: a change of the password ends waiting log-ins.
	rec, stored, err := a.credentials(ctx, uid)
	if err != nil {
		return Finished{}, err
	}
	left, recovered, err := a.factors.Finish(ctx, secret, code, a.sessions.Now())
	if err != nil {
		return Finished{}, err
	}
	if rec.Standing.Hidden() {
		return Finished{}, ErrNoLogin
	}
	session, err := a.sessions.open(ctx, rec.User, stored)
	if errors.Is(err, social.ErrBadLogin) {
		err = ErrNoLogin
	}
	return Finished{session, recovered, left}, err
}

// LoginUser returns the user of a waiting log-in, for logging. It does not verify the secret.
func (a *Service) LoginUser(ctx context.Context, secret string) (social.User, error) {
	uid, ok := userOfSecret(secret)
	if !ok {
		return social.User{}, social.ErrNotFound
	}
	rec, err := a.sessions.Users.Record(ctx, uid)
	return rec.User, err
}

// SecondFactor returns whether a user has a second factor, and how many recovery codes are left.
// One round trip.
func (a *Service) SecondFactor(ctx context.Context, uid int64) (SecondFactorState, error) {
	return a.factors.State(ctx, uid)
}

// KeyURL returns the URL of a key, which apps read from a QR code. Colons in the site name are
// replaced by spaces, because a colon ends the name in the URL.
func KeyURL(key, site string, user social.User) string {
	return keyURL(key, strings.ReplaceAll(site, ":", " "), user.Name)
}

// SetUpSecondFactor returns a key for an authenticator app; a code from the app then confirms it.
// It returns ErrBadLogin if the password is wrong. One password hash.
func (a *Service) SetUpSecondFactor(ctx context.Context, user social.User, password string) (key string, err error) {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return "", err
	}
	return a.factors.Begin(ctx, user.ID, a.sessions.Now())
}

// SecondFactorKey returns the key that was set up but is not confirmed yet, or
// ErrSecondFactorState.
func (a *Service) SecondFactorKey(ctx context.Context, uid int64) (string, error) {
	return a.factors.Pending(ctx, uid, a.sessions.Now())
}

// ConfirmSecondFactor turns the second factor on, given a code of the key that was set up. It
// returns the recovery codes, which cannot be read again.
func (a *Service) ConfirmSecondFactor(ctx context.Context, uid int64, code string) ([]string, error) {
	return a.factors.Confirm(ctx, uid, code, a.sessions.Now())
}

// RenewRecoveryCodes replaces the recovery codes. It returns ErrBadLogin if the password is wrong.
// One password hash.
func (a *Service) RenewRecoveryCodes(ctx context.Context, user social.User, password string) ([]string, error) {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return nil, err
	}
	return a.factors.Renew(ctx, user.ID)
}

// TurnOffSecondFactor turns the second factor off. It returns ErrBadLogin if the password is wrong.
// One password hash.
func (a *Service) TurnOffSecondFactor(ctx context.Context, user social.User, password string) error {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	return warn(ctx, a.opt.Warner, user.ID, FactorField, func() error { return a.factors.Remove(ctx, user.ID) })
}

// RemoveSecondFactor turns the second factor off without a password, for an operator when a user
// has lost both the device and the recovery codes. It writes to the audit log.
func (a *Service) RemoveSecondFactor(ctx context.Context, by social.Actor, uid int64) error {
	if err := a.opt.Audit.Add(ctx, audit.Entry{Actor: by, Action: "remove-second-factor", Target: audit.UserTarget(uid)}); err != nil {
		return err
	}
	return warn(ctx, a.opt.Warner, uid, FactorField, func() error { return a.factors.Remove(ctx, uid) })
}

// Authenticate returns the user with this name and password. It returns ErrBadLogin, or
// *SuspendedError if the password is right but the user is suspended. A password stored in clear
// text by the original program, or hashed at a different cost, is replaced by a hash at the current
// cost.
func (a *Service) Authenticate(ctx context.Context, name, password string) (social.User, error) {
	user, _, err := a.authenticate(ctx, name, password)
	return user, err
}

// authenticate implements Authenticate and also returns the stored password.
func (a *Service) authenticate(ctx context.Context, name, password string) (user social.User, stored string, err error) {
	if len(password) > MaxTypedPassword || !utf8.ValidString(name) {
		return user, "", social.ErrBadLogin
	}
	uid, err := a.sessions.Users.LookUp(ctx, name)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return user, "", err
	}
	var rec storage.Record
	if err == nil {
		if rec, stored, err = a.credentials(ctx, uid); err != nil {
			return user, "", err
		}
	}
	ok, outdated, err := a.hasher.Verify(ctx, password, stored)
	if err != nil {
		return user, "", err
	}
	if !ok {
		return user, "", social.ErrBadLogin
	}
	if outdated {
		phc, err := a.hasher.Hash(ctx, password)
		if err != nil {
			return user, "", err
		}
		switch done, err := a.replaceField(ctx, uid, PasswordField, stored, phc); {
		case err != nil:
			return user, "", err
		case !done: // another log-in has rehashed the password, or the password has changed
			return a.authenticate(ctx, name, password)
		}
		stored = phc
	}
	return rec.User, stored, a.mayLogIn(ctx, rec)
}

// mayLogIn returns *SuspendedError if the user is suspended.
func (a *Service) mayLogIn(ctx context.Context, rec storage.Record) error {
	if rec.Standing != social.Suspended {
		return nil
	}
	info, err := a.sessions.Users.Standing(social.WithFresh(ctx), rec.ID)
	if err == nil && info.Standing == social.Suspended {
		err = &social.SuspendedError{StandingInfo: info}
	}
	return err
}

// credentials returns a user and their stored password, which is empty if there is no such user.
func (a *Service) credentials(ctx context.Context, uid int64) (storage.Record, string, error) {
	b := a.sessions.DB.Client.B()
	res := a.sessions.DB.Client.DoMulti(ctx,
		b.Hmget().Key(storage.UserKey(uid)).Field(storage.RecordFields...).Build(),
		b.Hget().Key(storage.UserKey(uid)).Field("password").Build(),
	)
	rec, err := storage.ParseRecord(uid, res[0])
	if errors.Is(err, social.ErrNotFound) {
		return storage.Record{}, "", nil
	}
	if err != nil {
		return storage.Record{}, "", err
	}
	stored, err := reply.Text(res[1])
	return rec, stored, err
}

// replaceField replaces a field of a user unless the field has changed since it was read, and
// reports whether it replaced the field. One round trip.
func (a *Service) replaceField(ctx context.Context, uid int64, field, oldValue, newValue string) (bool, error) {
	done, err := fieldReplaceScript.Run(ctx, a.sessions.DB.Client, []string{storage.UserKey(uid)}, []string{field, oldValue, newValue}).AsBool()
	if err != nil {
		return false, fmt.Errorf("social: replace a %s: %w", field, err)
	}
	return done, nil
}

// HashQueue returns how many passwords are waiting to be checked or hashed.
func (a *Service) HashQueue() int { return a.hasher.Waiting() }

// HashStats returns the statistics of the password queue since the start.
func (a *Service) HashStats() HasherStats { return a.hasher.Stats() }
