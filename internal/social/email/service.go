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
	// confirmFor is how long a link confirms an address, and resetFor how long one sets a password.
	confirmFor = 24 * time.Hour
	resetFor   = time.Hour
	// maxToken bounds what is typed as a token, and maxTyped what is typed as an address or a name.
	maxToken = 100
	maxTyped = 254
)

// ErrNoLink: the link has expired, was replaced by another, or ended by a new password.
var ErrNoLink = errors.New("social: no such link of a mail")

// Options are what a Service needs. All are required but Server.
type Options struct {
	timeline.Parts
	Store   *Store
	Outbox  *Outbox
	Server  *mail.Server // nil: this process sends no mails
	Auth    *auth.Service
	Limits  *limits.Limits
	Notices *notify.Service
	Site    *site.Settings
	Audit   *audit.Log
}

// Service has the addresses of users, and sends their mails. It is safe for concurrent use.
type Service struct {
	Options
	Counts Counts
}

// Counts are what a process has done with mails.
type Counts struct {
	Sent, Refused, Failed, Limited atomic.Int64
}

// New returns a Service, whose tasks are those of opt.Outbox.
func New(opt Options) *Service {
	s := &Service{Options: opt}
	opt.Outbox.tasks.HandleMail(taskKind, s.task, s.IsOn())
	return s
}

// IsOn reports whether this process has a mail server.
func (s *Service) IsOn() bool { return s.Server != nil }

// Get returns the address of a user. One round trip.
func (s *Service) Get(ctx context.Context, uid int64) (Record, error) { return s.Store.Get(ctx, uid) }

// Check returns *InvalidError for what is no address.
func Check(typed string) error {
	if _, ok := mail.Address(typed); !ok {
		return social.Invalid("address", "Use an address such as name@example.com.")
	}
	return nil
}

// Set gives a user an address, which counts once it is confirmed by the link of a mail. It returns
// ErrBadLogin for a wrong password, and *InvalidError for what is no address. That the address
// belongs to another account is only said to the address.
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
		return social.Invalid("address", "This is your address already.")
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
		if r.Pending != address { // else a link that it has got stays good until it gets another one
			r.Pending, r.Token, r.Ends = address, "", 0
		}
		r.Refused, r.Language = 0, i18n.From(ctx).Tag
		return nil
	})
}

// Remove removes the address of a user, and warns it. It returns ErrBadLogin for a wrong password.
func (s *Service) Remove(ctx context.Context, user social.User, password string) error {
	if err := s.Auth.ConfirmPassword(ctx, user.ID, password); err != nil {
		return err
	}
	rec, err := s.Store.Get(ctx, user.ID)
	if err != nil {
		return err
	}
	return s.moved(ctx, rec, func() error { return s.Store.Forget(ctx, user.ID) })
}

// RemoveFor removes the address of a user for an operator. It is in the audit log.
func (s *Service) RemoveFor(ctx context.Context, actor social.Actor, uid int64) error {
	if err := s.Audit.Add(ctx, audit.Entry{Actor: actor, Action: "remove-email", Target: audit.UserTarget(uid)}); err != nil {
		return err
	}
	return s.withoutReset(ctx, uid, func() error { return s.Store.Forget(ctx, uid) })
}

// moved changes the address of a user, and warns the one before.
func (s *Service) moved(ctx context.Context, rec Record, change func() error) error {
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

// withoutReset changes the address of a user, and ends the link for a forgotten password that the
// one before may have got: before, should this process die, and after, should there be a new one.
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

// endReset ends the link for a forgotten password of a user.
func (s *Service) endReset(ctx context.Context, uid int64) error {
	err := s.Users.Edit(ctx, uid, "reset", "")
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	return err
}

// SetDigest turns the daily digest of a user on or off. It returns *InvalidError without a
// confirmed address. Two round trips.
func (s *Service) SetDigest(ctx context.Context, user social.User, on bool) error {
	err := s.Store.update(ctx, user.ID, func(r *Record) error {
		switch {
		case on && r.Address == nil:
			return social.Invalid("digest", "Confirm your address first.")
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

// Pending returns the user of a link that confirms an address, and the address, or ErrNoLink. No
// address is pending where the link has confirmed it.
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

// confirmation is the SHA-256 of a link that confirms an address, and of the digest of the password
// with which the address was typed: a new password ends the link.
func confirmation(token, password string) string { return digest(token + " " + password) }

// Confirm confirms the address of a link, and warns the address before. Repeating it changes nothing.
// It returns ErrNoLink, also where the address was confirmed for another account meanwhile.
func (s *Service) Confirm(ctx context.Context, token string) (social.User, error) {
	user, rec, err := s.Pending(ctx, token)
	if err != nil || rec.Pending == "" {
		return user, err
	}
	err = s.moved(ctx, rec, func() error {
		return s.Store.update(ctx, rec.ID, func(r *Record) error {
			switch address := r.Pending; {
			case r.Token != rec.Token:
				return ErrNoLink
			case address == "":
				return errSame
			default: // the token stays, for those who click again
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

// RequestReset notes that somebody has forgotten the password of an account: typed is its name or
// its address. It does the same whether there is such an account or not. It returns *InvalidError
// for what is neither.
func (s *Service) RequestReset(ctx context.Context, typed string) error {
	typed, err := social.CleanLine(typed, "account", maxTyped)
	if err != nil {
		return err
	}
	if typed == "" {
		return social.Invalid("account", "Type your username or your address.")
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

// CheckStop returns ErrNoLink for a link that ends no digests.
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

// tokenOf is the secret of a link with its user.
func tokenOf(uid int64, secret string) string { return storage.Itoa(uid) + "." + secret }

func userOf(token string) (uid int64, ok bool) {
	text, _, found := strings.Cut(token, ".")
	if !found || len(token) > maxToken {
		return 0, false
	}
	return storage.ParseID(text)
}

func isSame(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
