package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/audit"

	"retwis/internal/social/storage"
)

// Limits on a new password, in characters.
const (
	MinPassword = 8
	MaxPassword = 128
)

// MaxTypedPassword limits the password of a log-in, in bytes. It exceeds MaxPassword so that
// accounts that predate the limits above can still log in.
const MaxTypedPassword = 1024

// siteName is rejected as a password because it is easy to guess on this site.
const siteName = "retwis"

// CheckPassword returns *InvalidError if typed is not allowed as the password of the user with this
// name.
func CheckPassword(typed, username string) error {
	if err := checkLength(typed); err != nil {
		return err
	}
	switch {
	case IsName(typed, username):
		return social.Invalid("password", "Your password is too similar to your username.")
	case IsName(typed, siteName) || IsCommon(typed):
		return social.Invalid("password", "This password is too easy to guess. Try several words, or a longer one.")
	}
	return nil
}

func checkLength(typed string) error {
	n := utf8.RuneCountInString(typed)
	if !utf8.ValidString(typed) || n < MinPassword || n > MaxPassword {
		return social.Invalid("password", "Use {least} to {most} characters.", MinPassword, MaxPassword)
	}
	return nil
}

// HashNew hashes a password that CheckPassword has accepted.
func (a *Service) HashNew(ctx context.Context, password string) (string, error) {
	return a.hasher.Hash(ctx, password)
}

// HashPassword hashes the password of a bulk-loaded account: it checks only the length.
func (a *Service) HashPassword(ctx context.Context, password string) (string, error) {
	if err := checkLength(password); err != nil {
		return "", err
	}
	return a.hasher.Hash(ctx, password)
}

// confirmPassword returns the stored password of a user if typed matches it, or ErrBadLogin.
func (a *Service) confirmPassword(ctx context.Context, uid int64, typed string) (stored string, err error) {
	if len(typed) > MaxTypedPassword {
		return "", social.ErrBadLogin
	}
	_, stored, err = a.credentials(ctx, uid)
	if err != nil {
		return "", err
	}
	ok, _, err := a.hasher.Verify(ctx, typed, stored)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", social.ErrBadLogin
	}
	return stored, nil
}

// ConfirmPassword returns ErrBadLogin if typed is not the password of a user. One round trip and
// one password hash.
func (a *Service) ConfirmPassword(ctx context.Context, uid int64, typed string) error {
	_, err := a.confirmPassword(ctx, uid, typed)
	return err
}

// ChangePassword sets a new password. It ends all sessions of the user and log-ins waiting for a
// code, invalidates a reset link, and opens the session that it returns. It returns ErrBadLogin if
// current is wrong, and *InvalidError if the new password is not allowed. Five round trips and two
// password hashes.
func (a *Service) ChangePassword(ctx context.Context, user social.User, current, typed string) (Session, error) {
	stored, err := a.confirmPassword(ctx, user.ID, current)
	if err != nil {
		return Session{}, err
	}
	if err := CheckPassword(typed, user.Name); err != nil {
		return Session{}, err
	}
	phc, err := a.hasher.Hash(ctx, typed)
	if err != nil {
		return Session{}, err
	}
	secret, entry := a.sessions.newEntry(ctx, user.ID)
	ended, err := a.replace(ctx, user.ID, passwordChange{Field: PasswordField, Value: stored, Hash: phc, Session: &entry})
	if errors.Is(err, errUserChanged) {
		// A concurrent request has changed the password.
		return Session{}, social.ErrBadLogin
	}
	if err != nil {
		return Session{}, err
	}
	a.sessions.forget(ended)
	return Session{User: user, Secret: secret}, nil
}

// replace sets a password, and warns the user.
func (a *Service) replace(ctx context.Context, uid int64, p passwordChange) (ended []string, err error) {
	err = warn(ctx, a.opt.Warner, uid, PasswordField, func() error {
		ended, err = a.sessions.store.Replace(ctx, uid, p)
		return err
	})
	return ended, err
}

// ResetFor is how long a reset link is valid.
const ResetFor = 24 * time.Hour

// ErrNoReset reports that a reset link was used, has expired, or was replaced by another one.
var ErrNoReset = errors.New("social: no such reset link")

// IssueReset returns the secret of a link with which a user can set a new password once, within a
// day. It replaces the previous link. Only its SHA-256 is stored. It returns ErrNotFound if there
// is no such user. It writes to the audit log. Three round trips.
func (a *Service) IssueReset(ctx context.Context, by social.Actor, uid int64) (token string, expires time.Time, err error) {
	expires = a.sessions.Now().Add(ResetFor)
	if _, err := a.sessions.Users.Record(ctx, uid); err != nil {
		return "", time.Time{}, err
	}
	// Write to the log first, so that no link is missing from it.
	if err := a.opt.Audit.Add(ctx, audit.Entry{Actor: by, Action: "reset-password", Target: audit.UserTarget(uid)}); err != nil {
		return "", time.Time{}, err
	}
	token, err = a.NewReset(ctx, uid, ResetFor)
	return token, expires, err
}

// NewReset is IssueReset for a user who has requested the link; it does not write to the audit log.
// One round trip.
func (a *Service) NewReset(ctx context.Context, uid int64, valid time.Duration) (token string, err error) {
	token = newSecret(uid)
	if err := a.sessions.Users.Edit(ctx, uid, "reset", resetHash(token)+" "+storage.Seconds(a.sessions.Now().Add(valid))); err != nil {
		return "", err
	}
	return token, nil
}

func resetHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ResetUser returns the user of a reset link, or ErrNoReset.
func (a *Service) ResetUser(ctx context.Context, token string) (social.User, error) {
	user, _, err := a.findReset(ctx, token)
	return user, err
}

// findReset returns the user of a reset link, and the stored form of the link.
func (a *Service) findReset(ctx context.Context, token string) (social.User, string, error) {
	uid, ok := userOfSecret(token)
	if !ok {
		return social.User{}, "", ErrNoReset
	}
	stored, err := reply.TextOrEmpty(a.sessions.DB.Client.Do(ctx, a.sessions.DB.Client.B().Hget().Key(storage.UserKey(uid)).Field("reset").Build()))
	if err != nil {
		return social.User{}, "", fmt.Errorf("social: look up a reset link: %w", err)
	}
	hash, ends, _ := strings.Cut(stored, " ")
	if hash != resetHash(token) || storage.ParseTime(ends).Before(a.sessions.Now()) {
		return social.User{}, "", ErrNoReset
	}
	rec, err := a.sessions.Users.Record(social.WithFresh(ctx), uid)
	if errors.Is(err, social.ErrNotFound) || err == nil && rec.Standing == social.Closed {
		err = ErrNoReset
	}
	return rec.User, stored, err
}

// ResetPassword sets the password of a reset link's user and uses up the link. It ends all sessions
// of the user and log-ins waiting for a code; a second factor stays on. It returns ErrNoReset, or
// *InvalidError if the password is not allowed. If several requests use the link concurrently, one
// succeeds. Four round trips and one password hash.
func (a *Service) ResetPassword(ctx context.Context, token, typed string) (social.User, error) {
	user, stored, err := a.findReset(ctx, token)
	if err != nil {
		return social.User{}, err
	}
	if err := CheckPassword(typed, user.Name); err != nil {
		return social.User{}, err
	}
	phc, err := a.hasher.Hash(ctx, typed)
	if err != nil {
		return social.User{}, err
	}
	ended, err := a.replace(ctx, user.ID, passwordChange{Field: "reset", Value: stored, Hash: phc})
	if errors.Is(err, errUserChanged) {
		return social.User{}, ErrNoReset
	}
	if err != nil {
		return social.User{}, err
	}
	a.sessions.forget(ended)
	return user, nil
}
