package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Session is an open session: its user, and its secret. Only the SHA-256 of the secret is stored,
// so a copy of the database does not give access to the session.
type Session struct {
	User   social.User
	Secret string
}

// retryUse is how long to wait after a failure before recording a use again.
const retryUse = time.Minute

type deviceKey struct{}

// WithDevice returns a context for a log-in or a registration from a device, such as "Firefox on
// Linux", by which users recognize their sessions.
func WithDevice(ctx context.Context, device string) context.Context {
	return context.WithValue(ctx, deviceKey{}, device)
}

// Sessions manages the sessions of all users.
type Sessions struct {
	SessionOptions
	store *sessionStore
	// tokens caches sessions by token. The user's list of sessions decides whether a session is
	// open, and is checked on each request.
	tokens *otter.Cache[string, knownSession]
}

// knownSession is the cached state of a session. The last use in the database may be later, because
// other processes record uses too.
type knownSession struct{ created, used time.Time } // zero if unknown

// SessionOptions configure Sessions; all are required.
type SessionOptions struct {
	storage.Parts
	Users     *storage.Users
	Directory *storage.Directory
	Idle, Max time.Duration // see sessionStore
}

// NewSessions returns the Sessions of a database.
func NewSessions(opt SessionOptions) (*Sessions, error) {
	tokens, err := otter.New(&otter.Options[string, knownSession]{MaximumSize: cachedTokens})
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	store := &sessionStore{Client: opt.DB.Client, Idle: opt.Idle, Max: opt.Max}
	return &Sessions{SessionOptions: opt, store: store, tokens: tokens}, nil
}

// MaxAge returns the maximum duration of a session.
func (s *Sessions) MaxAge() time.Duration { return s.store.Max }

// cachedTokens limits the number of sessions kept in memory, about 150 bytes each.
const cachedTokens = 200_000

// newEntry returns a new session of a user, on the device of the context.
func (s *Sessions) newEntry(ctx context.Context, uid int64) (secret string, e SessionEntry) {
	secret = newSecret(uid)
	_, token, _ := SessionToken(secret)
	device, _ := ctx.Value(deviceKey{}).(string)
	now := s.Now()
	return secret, SessionEntry{Token: token, Created: now, Used: now, Device: device}
}

// OpenSession opens a session for a user.
func (s *Sessions) OpenSession(ctx context.Context, user social.User) (Session, error) {
	return s.open(ctx, user, "")
}

// open opens a session for a user. It returns ErrBadLogin if there is no such user, or if password
// is neither empty nor the stored password.
func (s *Sessions) open(ctx context.Context, user social.User, password string) (Session, error) {
	secret, entry := s.newEntry(ctx, user.ID)
	if !user.Joined.IsZero() { // a registration may have been interrupted
		err := reply.FirstError(s.DB.Client.DoMulti(ctx, s.Directory.AddLatest(user.Name, float64(user.Joined.Unix()))...))
		if err != nil && rediserr.Of(err) != rediserr.WritesRefused { // the server may be out of memory
			return Session{}, fmt.Errorf("social: open a session: %w", err)
		}
	}
	dropped, err := s.store.Open(ctx, user.ID, entry, password)
	if errors.Is(err, errUserChanged) {
		return Session{}, social.ErrBadLogin
	}
	if err != nil {
		return Session{}, err
	}
	s.forget(dropped)
	return Session{User: user, Secret: secret}, nil
}

// SessionUser returns the user of the session that a secret opens, or ErrNoSession. A recently seen
// session is answered from memory if the cached list of the user's sessions, which the server
// invalidates when it changes, still has the session. Once an hour, SessionUser records that the
// session is in use.
func (s *Sessions) SessionUser(ctx context.Context, secret string) (social.User, error) {
	uid, token, ok := SessionToken(secret)
	if !ok {
		return social.User{}, social.ErrNoSession
	}
	user, known, err := s.sessionUser(ctx, uid, token)
	if errors.Is(err, social.ErrNoSession) && !social.IsFresh(ctx) {
		// Another process may have just opened the session.
		user, known, err = s.sessionUser(social.WithFresh(ctx), uid, token)
	}
	if err == nil {
		err = s.inUse(ctx, uid, token, known)
	}
	if errors.Is(err, social.ErrNoSession) {
		s.tokens.Invalidate(token)
	}
	if err != nil {
		return social.User{}, err
	}
	return user, nil
}

// sessionUser returns the user whose list of sessions contains a token, or ErrNoSession. No round
// trip for a recently seen session and user, otherwise one.
func (s *Sessions) sessionUser(ctx context.Context, uid int64, token string) (social.User, knownSession, error) {
	known, ok := s.tokens.GetIfPresent(token)
	var rec storage.Record
	var err error
	if ok {
		rec, err = s.Users.Record(ctx, uid)
	} else {
		rec, known, err = s.readSession(ctx, uid, token)
	}
	if errors.Is(err, social.ErrNotFound) || err == nil && (!HasSession(rec.Auth, token) || rec.Standing.Hidden()) {
		return social.User{}, known, social.ErrNoSession
	}
	return rec.User, known, err
}

// readSession reads a user and the times of a session, and caches these times.
func (s *Sessions) readSession(ctx context.Context, uid int64, token string) (storage.Record, knownSession, error) {
	res := s.DB.ReadMany(ctx, s.Users.RecordCommand(uid), s.DB.Client.B().Hget().Key(storage.SessionsKey(uid)).Field(token).Cache())
	rec, err := storage.ParseRecord(uid, res[0])
	if err != nil {
		return rec, knownSession{}, err
	}
	entry, err := reply.TextOrEmpty(res[1])
	if err != nil {
		return rec, knownSession{}, err
	}
	e := ParseSession(token, entry)
	known := knownSession{created: e.Created, used: e.Used}
	if HasSession(rec.Auth, token) {
		s.tokens.Set(token, known)
	}
	return rec, known, nil
}

// inUse returns ErrNoSession for an expired session. Otherwise, if no use was recorded for an hour,
// it records a use and ends the user's expired sessions, in one round trip. A session stays open
// while the database accepts no writes.
func (s *Sessions) inUse(ctx context.Context, uid int64, token string, known knownSession) error {
	now := s.Now()
	if now.Sub(known.used) < SessionUseEvery && now.Sub(known.created) <= s.store.Max {
		return nil
	}
	e, ended, err := s.store.Touch(ctx, uid, token, now)
	switch {
	case errors.Is(err, errNoSession):
		s.forget(ended)
		return social.ErrNoSession
	case err != nil:
		text, readErr := reply.TextOrEmpty(s.DB.Client.Do(ctx, s.DB.Client.B().Hget().Key(storage.SessionsKey(uid)).Field(token).Build()))
		if readErr != nil {
			return readErr
		}
		if e = ParseSession(token, text); s.store.Expired(e, now) {
			return social.ErrNoSession
		}
		e.Used = now.Add(retryUse - SessionUseEvery)
		if e.Created.IsZero() {
			e.Created = now
		}
	default:
		s.forget(ended)
	}
	known.created, known.used = e.Created, e.Used
	s.tokens.Set(token, known)
	return nil
}

// SessionOpen reports for each secret whether the user's list of sessions, read through client,
// contains its session. One round trip.
func (s *Sessions) SessionOpen(ctx context.Context, client rueidis.Client, uid int64, secrets ...string) ([]bool, error) {
	user, err := reply.Fields(client.Do(ctx, client.B().Hmget().Key(storage.UserKey(uid)).Field("auth", "standing").Build()))
	if err != nil {
		return nil, fmt.Errorf("social: look up a session: %w", err)
	}
	open, hidden := make([]bool, len(secrets)), social.ParseStanding(user[1]).Hidden()
	for i, secret := range secrets {
		owner, token, ok := SessionToken(secret)
		open[i] = ok && owner == uid && !hidden && HasSession(user[0], token)
	}
	return open, nil
}

// Logout ends the session of a secret. One round trip.
func (s *Sessions) Logout(ctx context.Context, uid int64, secret string) error {
	owner, token, ok := SessionToken(secret)
	if !ok || owner != uid {
		return nil
	}
	return s.end(ctx, uid, oneSession, token)
}

// LogoutEverywhere ends every session of a user. One round trip.
func (s *Sessions) LogoutEverywhere(ctx context.Context, uid int64) error {
	return s.end(ctx, uid, allSessions, "")
}

// LogoutOthers ends every session of a user except the session of a secret.
func (s *Sessions) LogoutOthers(ctx context.Context, uid int64, secret string) error {
	owner, token, ok := SessionToken(secret)
	if !ok || owner != uid {
		return social.ErrNoSession
	}
	return s.end(ctx, uid, otherSessions, token)
}

func (s *Sessions) end(ctx context.Context, uid int64, which whichSessions, token string) error {
	ended, err := s.store.End(ctx, uid, which, token)
	s.forget(ended)
	return err
}

// forget removes ended sessions from memory.
func (s *Sessions) forget(tokens []string) {
	for _, token := range tokens {
		s.tokens.Invalidate(token)
	}
}

// OpenSession is an open session as shown to its user.
type OpenSession struct {
	ID            string // for EndSession; it does not open the session
	Device        string // "Firefox on Linux"; empty if unknown
	Created, Used time.Time
	Here          bool // whether it is the requesting session
}

// sessionIDLength is how many characters of a token identify a session of a user.
const sessionIDLength = 16

// OpenSessions returns the sessions of a user, last used first. secret is the secret of the
// requesting session, or empty. The times are zero if the session predates their recording. One
// round trip.
func (s *Sessions) OpenSessions(ctx context.Context, uid int64, secret string) ([]OpenSession, error) {
	entries, err := s.store.List(ctx, uid, s.Now())
	if err != nil {
		return nil, err
	}
	_, requesting, _ := SessionToken(secret)
	open := make([]OpenSession, len(entries))
	for i, e := range entries {
		open[i] = OpenSession{ID: e.Token[:sessionIDLength], Device: e.Device, Created: e.Created, Used: e.Used, Here: e.Token == requesting}
	}
	return open, nil
}

// EndSession ends one session of a user, if it is open. One round trip.
func (s *Sessions) EndSession(ctx context.Context, uid int64, id string) error {
	if len(id) != sessionIDLength {
		return social.ErrNoSession
	}
	return s.end(ctx, uid, oneSession, id)
}

// ExpiredSessions counts the expired sessions of a user that are still listed. One round trip.
func (s *Sessions) ExpiredSessions(ctx context.Context, uid int64) (int, error) {
	return s.store.CountExpired(ctx, uid, s.Now())
}

// EndExpiredSessions removes the expired sessions of a user, and reports whether there were any.
// One round trip.
func (s *Sessions) EndExpiredSessions(ctx context.Context, uid int64) (bool, error) {
	_, ended, err := s.store.Touch(ctx, uid, "", s.Now())
	if err != nil && !errors.Is(err, errNoSession) {
		return false, err
	}
	s.forget(ended)
	return len(ended) > 0, nil
}
