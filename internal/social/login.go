package social

import (
	"context"
	"errors"

	"retwis/internal/social/secondfactor"
)

// Errors of log-ins with a second factor.
var (
	// ErrNoLogin: the log-in has waited too long for its code, or has tried too many.
	ErrNoLogin = secondfactor.ErrNoLogin
	// ErrBadCode: the code is wrong, or was used before.
	ErrBadCode = secondfactor.ErrBadCode
	// ErrTooManyCodes: too many codes were tried for this account; a recovery code works.
	ErrTooManyCodes = secondfactor.ErrTooMany
	// ErrSecondFactorState: it is on already, or not set up, or not any more.
	ErrSecondFactorState = secondfactor.ErrState
)

// LoginWaitsFor is how long a log-in waits for a code.
const LoginWaitsFor = secondfactor.WaitFor

// SecondFactorError is returned by Login for an account with a second factor: the
// password was right, and FinishLogin needs a code.
type SecondFactorError struct {
	User   User
	Secret string // of the log-in that waits, for FinishLogin
}

func (e *SecondFactorError) Error() string { return "social: a code of the second factor is needed" }

// Login opens a session for the user of this name and password, or returns ErrBadLogin,
// or *SecondFactorError. Six round trips and one password hash.
func (a *accounts) Login(ctx context.Context, name, password string) (Session, error) {
	user, err := a.Authenticate(ctx, name, password)
	if err != nil {
		return Session{}, err
	}
	state, err := a.factors.State(ctx, user.ID)
	if err != nil {
		return Session{}, err
	}
	if !state.On {
		return a.openSession(ctx, user)
	}
	secret, err := a.factors.Wait(ctx, user.ID, a.now())
	if err != nil {
		return Session{}, err
	}
	return Session{}, &SecondFactorError{User: user, Secret: secret}
}

// Finished is a log-in with a second factor that has succeeded.
type Finished struct {
	Session
	Recovered bool // by a recovery code
	CodesLeft int
}

// FinishLogin opens the session of a log-in that waits for a code: one of the app, or a
// recovery code. It returns ErrNoLogin, ErrBadCode or ErrTooManyCodes. Six round trips.
func (a *accounts) FinishLogin(ctx context.Context, secret, code string) (Finished, error) {
	left, recovered, err := a.factors.Finish(ctx, secret, code, a.now())
	if err != nil {
		return Finished{}, err
	}
	uid, _ := secondfactor.UserOf(secret)
	rec, err := a.record(WithFresh(ctx), uid)
	if errors.Is(err, ErrNotFound) || err == nil && rec.Standing.Hidden() {
		return Finished{}, ErrNoLogin
	}
	if err != nil {
		return Finished{}, err
	}
	session, err := a.openSession(ctx, rec.User)
	return Finished{session, recovered, left}, err
}

// LoginUser returns the user of a log-in that waits, for the log. It proves nothing.
func (a *accounts) LoginUser(ctx context.Context, secret string) (User, error) {
	uid, ok := secondfactor.UserOf(secret)
	if !ok {
		return User{}, ErrNotFound
	}
	rec, err := a.record(ctx, uid)
	return rec.User, err
}

// SecondFactor is whether a user has a second factor, and how many recovery codes are
// left. One round trip.
func (a *accounts) SecondFactor(ctx context.Context, uid int64) (secondfactor.State, error) {
	return a.factors.State(ctx, uid)
}

// issuer is the name of the site in authenticator apps.
const issuer = "Retwis"

// KeyURL is the key of an app as apps read it from a QR code.
func KeyURL(key string, user User) string { return secondfactor.URL(key, issuer, user.Name) }

// SetUpSecondFactor returns a key for an authenticator app, which a code of it confirms.
// It returns ErrBadLogin for a wrong password. One password hash.
func (a *accounts) SetUpSecondFactor(ctx context.Context, user User, password string) (key string, err error) {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return "", err
	}
	return a.factors.Begin(ctx, user.ID, a.now())
}

// SecondFactorKey returns the key that was set up and is not confirmed yet, or
// ErrSecondFactorState.
func (a *accounts) SecondFactorKey(ctx context.Context, uid int64) (string, error) {
	return a.factors.Pending(ctx, uid, a.now())
}

// ConfirmSecondFactor turns the second factor on, by a code of the key that was set up,
// and returns the recovery codes, which cannot be read again.
func (a *accounts) ConfirmSecondFactor(ctx context.Context, uid int64, code string) ([]string, error) {
	return a.factors.Confirm(ctx, uid, code, a.now())
}

// RenewRecoveryCodes replaces the recovery codes. It returns ErrBadLogin for a wrong
// password. One password hash.
func (a *accounts) RenewRecoveryCodes(ctx context.Context, user User, password string) ([]string, error) {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return nil, err
	}
	return a.factors.Renew(ctx, user.ID)
}

// TurnOffSecondFactor turns it off. It returns ErrBadLogin for a wrong password. One
// password hash.
func (a *accounts) TurnOffSecondFactor(ctx context.Context, user User, password string) error {
	if _, err := a.confirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	return a.factors.Remove(ctx, user.ID)
}

// RemoveSecondFactor turns it off without a password: for an operator, when a user has
// lost the device and the recovery codes.
func (a *accounts) RemoveSecondFactor(ctx context.Context, uid int64) error {
	return a.factors.Remove(ctx, uid)
}
