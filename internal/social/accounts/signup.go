package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/auth"
	"retwis/internal/social/blocklist"
	"retwis/internal/social/limits"
	"retwis/internal/social/storage"
)

// SignUpMode is who can sign up.
type SignUpMode string

// The modes.
const (
	SignUpOpen     SignUpMode = "open"     // everybody
	SignUpApproval SignUpMode = "approval" // everybody, subject to approval by a moderator; people with an invitation immediately
	SignUpInvite   SignUpMode = "invite"   // people with an invitation
	SignUpClosed   SignUpMode = "closed"   // nobody; an operator can still create accounts
)

// ModeNames lists the modes for messages.
const ModeNames = "open, approval, invite or closed"

// ParseSignUpMode parses the name of a mode.
func ParseSignUpMode(name string) (SignUpMode, bool) {
	mode := SignUpMode(name)
	return mode, mode == SignUpOpen || mode == SignUpApproval || mode == SignUpInvite || mode == SignUpClosed
}

// SignUps registers people, if the mode allows it.
type SignUps struct {
	opt      SignUpOptions
	accounts *Service
	invites  inviteStore
}

// SignUpOptions configure SignUps; all are required.
type SignUpOptions struct {
	Audit     *audit.Log
	Blocklist *blocklist.List
	Limits    *limits.Limits
	Log       *slog.Logger
	// FollowStanding records the standing of a user whose account may have just been written.
	FollowStanding func(ctx context.Context, uid string) error
}

// NewSignUps returns SignUps that create accounts with a.
func NewSignUps(a *Service, opt SignUpOptions) *SignUps {
	return &SignUps{opt: opt, accounts: a, invites: newInviteStore(a.DB.Client)}
}

// RemoveInvites removes the invitations created by a user whose account is deleted.
func (s *SignUps) RemoveInvites(ctx context.Context, uid int64) error {
	return s.invites.RemoveAll(ctx, uid)
}

// SignUpMode returns who can sign up. The mode is cached in memory until it changes.
func (s *SignUps) SignUpMode(ctx context.Context) (SignUpMode, error) {
	name, err := s.accounts.DB.Read(ctx, s.accounts.DB.Client.B().Hget().Key(storage.Site).Field(storage.SignUpField).Cache()).ToString()
	if rueidis.IsRedisNil(err) {
		return SignUpOpen, nil
	}
	if err != nil {
		return "", fmt.Errorf("social: read the sign-up mode: %w", err)
	}
	mode, ok := ParseSignUpMode(name)
	if !ok {
		return SignUpClosed, nil // damage must not open the site
	}
	return mode, nil
}

// SetSignUpMode changes who can sign up, in all processes immediately. Only admins and operators
// may change the mode. A change to the current mode is not logged. It returns ErrForbidden or
// *InvalidError. Three round trips.
func (s *SignUps) SetSignUpMode(ctx context.Context, actor social.Actor, mode SignUpMode) error {
	if _, ok := ParseSignUpMode(string(mode)); !ok {
		return social.Invalid("mode", "Use {modes}.", ModeNames)
	}
	if err := s.accounts.Users.Require(ctx, actor, social.Admin); err != nil {
		return err
	}
	if before, err := s.SignUpMode(social.WithFresh(ctx)); err != nil || before == mode {
		return err
	}
	if err := s.opt.Audit.Add(ctx, audit.Entry{Actor: actor, Action: "sign-up-mode", Note: string(mode)}); err != nil {
		return err
	}
	b := s.accounts.DB.Client.B()
	// The second command ensures that the invalidation message of the first has arrived.
	res := s.accounts.DB.Client.DoMulti(ctx,
		b.Hset().Key(storage.Site).FieldValue().FieldValue(storage.SignUpField, string(mode)).Build().ToRetryable(),
		b.Exists().Key(storage.Site).Build())
	if err := res[0].Error(); err != nil {
		return fmt.Errorf("social: change the sign-up mode: %w", err)
	}
	return nil
}

// SignUp is a sign-up by a person.
type SignUp struct {
	Name, Password string
	Invite         string // the token of an invitation; may be empty
	Reason         string // why the person wants to join, for moderators; required if accounts need approval
	Unlisted       bool   // LatestUsers omits the person, because their network has recently signed up others
}

// SignUp registers a person if the mode allows it; see Register. It returns ErrSignUpClosed,
// ErrNoInvite, ErrInviteUsedUp or ErrInviteExpired. An invitation is used only if it is needed and
// an account is created. ErrPending reports that the account exists without a session, and is
// hidden until a moderator approves it.
func (s *SignUps) SignUp(ctx context.Context, p SignUp) (auth.Session, error) {
	mode, err := s.SignUpMode(ctx)
	if err != nil {
		return auth.Session{}, err
	}
	if mode == SignUpClosed {
		return auth.Session{}, social.ErrSignUpClosed
	}
	if err := s.checkBlocks(ctx, p); err != nil {
		return auth.Session{}, err
	}
	switch {
	case mode == SignUpOpen:
		session, err := s.register(ctx, p)
		if err == nil {
			s.watchCrowd(ctx)
		}
		return session, err
	case mode == SignUpApproval && p.Invite == "":
		return auth.Session{}, s.apply(ctx, p)
	}
	if _, err := s.usable(ctx, p.Invite); err != nil {
		return auth.Session{}, err
	}
	if err := s.invites.Take(ctx, p.Invite, s.accounts.Now()); err != nil {
		return auth.Session{}, err
	}
	session, err := s.register(ctx, p)
	if err == nil {
		return session, nil
	}
	// Clean up even if the request has been canceled.
	cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if uid := session.User.ID; uid != 0 {
		// The failed operation may have created the account.
		if owners, ownersErr := s.accounts.Directory.Owners(cleanupCtx, p.Name); ownersErr != nil || owners[0].First() == storage.Itoa(uid) {
			return auth.Session{}, errors.Join(err, ownersErr)
		}
	}
	return auth.Session{}, errors.Join(err, s.invites.GiveBack(cleanupCtx, p.Invite))
}

// repeatWindow is how long a sign-up can be repeated.
const repeatWindow = 10 * time.Minute

// Repeat logs in a person whose SignUp was refused because the same form had just created the
// account: the first response was lost, or the form was sent twice. It returns ErrPending as SignUp
// does. After any other error, the account may belong to somebody else; the error is ErrBadLogin
// for a wrong password of a new account. Calls count as log-in attempts.
func (s *SignUps) Repeat(ctx context.Context, p SignUp) (auth.Session, error) {
	user, err := s.accounts.Users.UserByName(ctx, p.Name)
	if err != nil {
		return auth.Session{}, err
	}
	if s.accounts.Now().Sub(user.Joined) > repeatWindow {
		return auth.Session{}, social.ErrTaken
	}
	from := social.AddressOf(ctx)
	giveBack, err := s.accounts.Auth.AllowLogin(ctx, p.Name, from)
	if err != nil {
		return auth.Session{}, err
	}
	session, err := s.accounts.Auth.Login(ctx, p.Name, p.Password)
	suspended := (*social.SuspendedError)(nil)
	if errors.As(err, &suspended) || errors.Is(err, auth.ErrBusy) {
		giveBack()
	}
	if suspended != nil && suspended.Pending() {
		err = social.ErrPending
	}
	if err == nil {
		err = s.accounts.Auth.LoggedIn(ctx, session.User, p.Name, from)
	}
	return session, err
}

// checkBlocks returns ErrForbidden if the person's address is blocked, and *InvalidError if the
// name or the reason contains a blocked word.
func (s *SignUps) checkBlocks(ctx context.Context, p SignUp) error {
	if err := s.opt.Blocklist.CheckAddress(ctx); err != nil {
		return err
	}
	if err := s.opt.Blocklist.CheckText(ctx, "username", strings.ReplaceAll(p.Name, "_", " ")); err != nil {
		return err
	}
	return s.opt.Blocklist.CheckText(ctx, "reason", p.Reason)
}

func (s *SignUps) register(ctx context.Context, p SignUp) (auth.Session, error) {
	return s.accounts.register(ctx, p.account())
}

func (p SignUp) account() newAccount {
	n := newAccount{name: p.Name, password: p.Password}
	if p.Unlisted {
		n.fields = []string{"unlisted", "1"}
	}
	return n
}

// cleanupTimeout limits how long a failed registration cleans up its invitation or its account.
const cleanupTimeout = 2 * time.Second

// NewInvite is an invitation to create.
type NewInvite struct {
	By   int64 // the user who creates it; 0 for an operator
	Uses int64 // how many people can sign up with it: 1 to 10,000
	For  time.Duration
	Note string // for those who manage invitations, at most 200 bytes
}

// maxInviteTTL is the maximum time for which an invitation can be used.
const maxInviteTTL = 366 * 24 * time.Hour

// CreateInvite creates an invitation and returns its token, which cannot be read again. It returns
// *InvalidError if something is not allowed. It writes to the audit log. Three round trips.
func (s *SignUps) CreateInvite(ctx context.Context, n NewInvite) (token string, created Invite, err error) {
	note := strings.Join(strings.Fields(social.CleanRunes(n.Note)), " ")
	switch {
	case n.Uses < 1 || n.Uses > maxInviteUses:
		return "", Invite{}, social.Invalid("uses", "Use a number from 1 to {n}.", maxInviteUses)
	case n.For < time.Minute || n.For > maxInviteTTL:
		return "", Invite{}, social.Invalid("expires", "Use a duration from one minute to one year.")
	case len(note) > maxInviteNote:
		return "", Invite{}, social.Invalid("note", "This is too long. Use at most {n} bytes.", maxInviteNote)
	}
	now := s.accounts.Now()
	full := social.Invalid("uses", "There are {n} invitations already. Revoke one first.", maxInvites)
	switch count, err := s.invites.Prune(ctx, now); {
	case err != nil:
		return "", Invite{}, err
	case count >= maxInvites:
		return "", Invite{}, full
	}
	by := social.Operator
	if n.By != 0 {
		by = social.Actor(n.By)
	}
	if err := s.opt.Audit.Add(ctx, audit.Entry{Actor: by, Action: "invite", Note: note}); err != nil {
		return "", Invite{}, err
	}
	token, created, err = s.invites.Create(ctx, Invite{Uses: n.Uses, Expires: now.Add(n.For).UTC().Truncate(time.Second), By: n.By, Note: note}, now)
	if errors.Is(err, errTooManyInvites) {
		err = full // another process has created the last one
	}
	return token, created, err
}

// Invites returns all invitations, latest first. One round trip, and two for each creator.
func (s *SignUps) Invites(ctx context.Context) ([]Invite, error) {
	all, err := s.invites.All(ctx)
	if err != nil {
		return nil, err
	}
	allowed := map[int64]bool{} // by creator
	for k := range all {
		by := all[k].By
		if _, known := allowed[by]; !known {
			if allowed[by], err = s.mayInvite(ctx, by); err != nil {
				return nil, err
			}
		}
		all[k].Paused = !allowed[by]
	}
	return all, nil
}

// mayInvite reports whether a user, or the operator, may invite people now: moderators may, unless
// they are suspended.
func (s *SignUps) mayInvite(ctx context.Context, uid int64) (bool, error) {
	if uid == 0 {
		return true, nil
	}
	roles, err := s.accounts.Users.Roles(ctx, uid)
	if err != nil || roles[0] < social.Moderator {
		return false, err
	}
	info, err := s.accounts.Users.Standing(social.WithFresh(ctx), uid)
	if errors.Is(err, social.ErrNotFound) {
		return false, nil
	}
	return !info.Standing.Hidden(), err
}

// usable returns the invitation of a token, or the error that SignUp returns, which is ErrNoInvite
// also while the creator of the invitation may not invite people. At most three round trips.
func (s *SignUps) usable(ctx context.Context, token string) (Invite, error) {
	found, err := s.invites.Find(ctx, token, s.accounts.Now())
	if err != nil {
		return Invite{}, err
	}
	if may, err := s.mayInvite(ctx, found.By); err != nil || !may {
		return Invite{}, cmp.Or(err, ErrNoInvite)
	}
	return found, nil
}

// FindInvite returns the invitation of a token, or the error that SignUp would return.
func (s *SignUps) FindInvite(ctx context.Context, token string) (Invite, error) {
	mode, err := s.SignUpMode(ctx)
	if err != nil {
		return Invite{}, err
	}
	if mode == SignUpClosed {
		return Invite{}, social.ErrSignUpClosed
	}
	return s.usable(ctx, token)
}

// RevokeInvite removes the invitation with an ID, or returns ErrNotFound. Three round trips.
func (s *SignUps) RevokeInvite(ctx context.Context, actor social.Actor, id string) (Invite, error) {
	found, err := s.invites.ByID(ctx, id)
	if errors.Is(err, ErrNoInvite) {
		err = social.ErrNotFound
	}
	if err != nil {
		return Invite{}, err
	}
	if err := s.opt.Audit.Add(ctx, audit.Entry{Actor: actor, Action: "revoke-invitation", Target: "invite:" + found.ID}); err != nil {
		return Invite{}, err
	}
	return found, s.invites.Remove(ctx, found)
}
