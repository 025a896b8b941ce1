package email

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/mail"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/auth"
	"retwis/internal/social/limits"
	"retwis/internal/social/notify"
	"retwis/internal/social/site"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

const (
	// confirmTTL is how long a confirmation link is valid.
	confirmTTL = 24 * time.Hour
	// resetTTL is how long a reset link is valid.
	resetTTL = time.Hour
	// maxToken is the maximum length of a token.
	maxToken = 100
	// maxTyped is the maximum length of a typed address or name.
	maxTyped = 254
)

// ErrNoLink reports that the link has expired, was replaced by another, or was ended by a new
// password.
var ErrNoLink = errors.New("social: no such link")

// Options configure a Service. All are required but Server.
type Options struct {
	timeline.Parts
	Store   *Store
	Outbox  *Outbox
	Server  *mail.Server // nil: this process sends no email
	Auth    *auth.Service
	Limits  *limits.Limits
	Notices *notify.Service
	Site    *site.Settings
	Audit   *audit.Log
}

// Service manages the addresses of users, and sends their emails. It is safe for concurrent use.
type Service struct {
	Options
	Counts Counts
}

// Counts counts the emails of a process by outcome.
type Counts struct {
	Sent, Refused, Failed, Limited atomic.Int64
}

// New returns a Service whose tasks are those of opt.Outbox.
func New(opt Options) *Service {
	s := &Service{Options: opt}
	opt.Outbox.tasks.HandleMail(taskKind, s.task, s.IsOn())
	return s
}

// IsOn reports whether this process has a mail server.
func (s *Service) IsOn() bool { return s.Server != nil }

// Get returns the address of a user. One round trip.
func (s *Service) Get(ctx context.Context, uid int64) (Record, error) { return s.Store.Get(ctx, uid) }

// Check returns *InvalidError if typed is not an address.
func Check(typed string) error {
	if _, ok := mail.Address(typed); !ok {
		return social.Invalid("address", "Use an email address such as name@example.com.")
	}
	return nil
}

// Set gives a user an address, which takes effect once the user confirms it with the link in an
// email. It returns ErrBadLogin if the password is wrong, and *InvalidError if typed is not an
// address. Only an email to the address reveals that it belongs to another account.
func (s *Service) Set(ctx context.Context, user social.User, password, typed string) error {
	if err := Check(typed); err != nil {
		return err
	}
	address, _ := mail.Address(typed)
	if err := s.Auth.ConfirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	rec, err := s.Store.Get(ctx, user.ID)
	if err != nil {
		return err
	}
	if rec.Confirmed() == address {
		return social.Invalid("address", "That's already your email address.")
	}
	was, err := s.Outbox.digest(ctx, user.ID, auth.PasswordField)
	if err != nil {
		return err
	}
	member, err := s.Outbox.add(ctx, note{Kind: confirmMail, User: user.ID, To: address, Field: auth.PasswordField, Was: was})
	if err != nil {
		return err
	}
	defer s.Outbox.tasks.Queue(member)
	return s.Store.update(ctx, user.ID, func(r *Record) error {
		if r.Pending != address { // otherwise the current link stays valid until a new one is sent
			r.Pending, r.Token, r.Ends = address, "", 0
		}
		r.Refused, r.Language = 0, i18n.From(ctx).Tag
		return nil
	})
}

// Remove removes the address of a user, and sends it a warning. It returns ErrBadLogin if the
// password is wrong.
func (s *Service) Remove(ctx context.Context, user social.User, password string) error {
	if err := s.Auth.ConfirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	rec, err := s.Store.Get(ctx, user.ID)
	if err != nil {
		return err
	}
	return s.changeAddress(ctx, rec, func() error { return s.Store.Forget(ctx, user.ID) })
}

// RemoveFor removes the address of a user on behalf of an operator. It writes to the audit log.
func (s *Service) RemoveFor(ctx context.Context, actor social.Actor, uid int64) error {
	if err := s.Audit.Add(ctx, audit.Entry{Actor: actor, Action: "remove-email", Target: audit.UserTarget(uid)}); err != nil {
		return err
	}
	return s.withoutReset(ctx, uid, func() error { return s.Store.Forget(ctx, uid) })
}

// changeAddress calls change, which changes the address of a user, and warns the previous address.
func (s *Service) changeAddress(ctx context.Context, rec Record, change func() error) error {
	if rec.Address == nil {
		return change()
	}
	member, err := s.Outbox.add(ctx, note{Kind: movedMail, User: rec.ID, To: *rec.Address})
	if err != nil {
		return err
	}
	defer s.Outbox.tasks.Queue(member)
	return s.withoutReset(ctx, rec.ID, change)
}

// withoutReset calls change, which changes the address of a user. It ends reset links sent to the
// previous address: before the change, in case this process dies, and after the change, in case
// there is a new link.
func (s *Service) withoutReset(ctx context.Context, uid int64, change func() error) error {
	err := s.endReset(ctx, uid)
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	return s.endReset(ctx, uid)
}

// endReset ends the reset link of a user.
func (s *Service) endReset(ctx context.Context, uid int64) error {
	err := s.Users.Edit(ctx, uid, "reset", "")
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	return err
}

// SetDigest turns the daily digest of a user on or off. It returns *InvalidError if the user has no
// confirmed address. Two round trips.
func (s *Service) SetDigest(ctx context.Context, user social.User, on bool) error {
	err := s.Store.update(ctx, user.ID, func(r *Record) error {
		switch {
		case on && r.Address == nil:
			return social.Invalid("digest", "Confirm your email address first.")
		case on == (r.Due != nil):
			return errSame
		case !on:
			r.Due = nil
			return nil
		}
		next := s.Now().Add(digestEvery).Unix()
		r.Due, r.Since, r.Language = &next, s.Now().Unix(), i18n.From(ctx).Tag
		if r.Stop == "" {
			r.Stop = newSecret()
		}
		return nil
	})
	if errors.Is(err, errSame) {
		return nil
	}
	return err
}

// Pending returns the user and the address of a confirmation link, or ErrNoLink. If the link was
// already used, no address is pending.
func (s *Service) Pending(ctx context.Context, token string) (social.User, Record, error) {
	uid, ok := userOf(token)
	if !ok {
		return social.User{}, Record{}, ErrNoLink
	}
	rec, err := s.Store.Get(ctx, uid)
	if err != nil {
		return social.User{}, Record{}, err
	}
	password, err := s.Outbox.digest(ctx, uid, auth.PasswordField)
	if err != nil {
		return social.User{}, Record{}, err
	}
	if !isSame(rec.Token, confirmation(token, password)) || rec.Ends <= s.Now().Unix() {
		return social.User{}, Record{}, ErrNoLink
	}
	owner, err := s.Users.Record(ctx, uid)
	if errors.Is(err, social.ErrNotFound) || err == nil && owner.Standing == social.Closed {
		err = ErrNoLink
	}
	return owner.User, rec, err
}

// confirmation returns the SHA-256 of a confirmation link together with the digest of the password
// with which the address was entered, so that a new password ends the link.
func confirmation(token, password string) string { return digest(token + " " + password) }

// Confirm confirms the address of a link, and warns the previous address. Confirming again changes
// nothing. It returns ErrNoLink for an invalid link, and if another account has confirmed the
// address in the meantime.
func (s *Service) Confirm(ctx context.Context, token string) (social.User, error) {
	user, rec, err := s.Pending(ctx, token)
	if err != nil || rec.Pending == "" {
		return user, err
	}
	err = s.changeAddress(ctx, rec, func() error {
		return s.Store.update(ctx, rec.ID, func(r *Record) error {
			switch address := r.Pending; {
			case r.Token != rec.Token:
				return ErrNoLink
			case address == "":
				return errSame
			default: // the token stays, in case the user clicks again
				r.Address, r.Pending, r.Refused = &address, "", 0
				return nil
			}
		})
	})
	switch {
	case errors.Is(err, errSame):
		err = nil
	case errors.Is(err, errTaken):
		err = ErrNoLink
	}
	return user, err
}

// RequestReset records that somebody has forgotten the password of an account: typed is its name or
// its address. RequestReset behaves the same whether or not there is such an account. It returns
// *InvalidError if typed is empty or too long.
func (s *Service) RequestReset(ctx context.Context, typed string) error {
	typed, err := social.CleanLine(typed, "account", maxTyped)
	if err != nil {
		return err
	}
	if typed == "" {
		return social.Invalid("account", "Enter your username or email address.")
	}
	member, err := s.Outbox.add(ctx, note{Kind: resetMail, To: typed})
	if err != nil {
		return err
	}
	s.Outbox.tasks.Queue(member)
	return nil
}

// StopDigest ends the digests of the user of a link, or returns ErrNoLink. Repeating it changes
// nothing.
func (s *Service) StopDigest(ctx context.Context, token string) error {
	if err := s.CheckStop(ctx, token); err != nil {
		return err
	}
	uid, _ := userOf(token)
	return s.SetDigest(ctx, social.User{ID: uid}, false)
}

// CheckStop returns ErrNoLink unless token is the token of a link that ends digests.
func (s *Service) CheckStop(ctx context.Context, token string) error {
	uid, ok := userOf(token)
	if !ok {
		return ErrNoLink
	}
	rec, err := s.Store.Get(ctx, uid)
	if err == nil && (rec.Stop == "" || !isSame(token, tokenOf(uid, rec.Stop))) {
		err = ErrNoLink
	}
	return err
}

func newSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenOf returns the token of a link: the ID of its user and its secret.
func tokenOf(uid int64, secret string) string { return storage.Itoa(uid) + "." + secret }

func userOf(token string) (uid int64, ok bool) {
	text, _, found := strings.Cut(token, ".")
	if !found || len(token) > maxToken {
		return 0, false
	}
	return storage.ParseID(text)
}

func isSame(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
