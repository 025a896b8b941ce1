package social

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/script"
	"retwis/internal/social/layout"
)

// Session is an open session: its user, and the secret that opens it. Only the
// SHA-256 of the secret is stored, so a copy of the database opens nothing.
type Session struct {
	User   User
	Secret string
}

var (
	//go:embed session_add.lua
	sessionAddSource string
	sessionAddScript = script.New(sessionAddSource).Retryable()

	//go:embed session_clear.lua
	sessionClearSource string
	sessionClearScript = script.New(sessionClearSource).Retryable()
)

// MaxSessions is how many sessions a user may have open; a further one ends the
// oldest.
const MaxSessions = 10

// secretLength is the length of a secret: 32 random bytes in base64.
const secretLength = 43

func newSecret() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// sessions are the sessions of all users.
type sessions struct {
	*users
	// tokens maps the hash of a session secret to its user id. A pair never
	// changes while it exists; the user is read and compared each time.
	tokens *otter.Cache[string, int64]
}

// openSession begins a session. It is written to `auths` first and to the
// user's hash last, and is open when both have it, so that a crash in between
// leaves an entry that opens nothing.
func (s *sessions) openSession(ctx context.Context, user User) (Session, error) {
	session := Session{User: user, Secret: newSecret()}
	token := digest(session.Secret)
	b := s.client.B()
	cmds := rueidis.Commands{b.Hset().Key(layout.Auths).FieldValue().FieldValue(token, layout.Itoa(user.ID)).Build().ToRetryable()}
	if !user.Joined.IsZero() { // a registration may have been cut short
		cmds = append(cmds, b.Zadd().Key(layout.UsersByTime).Nx().ScoreMember().
			ScoreMember(float64(user.Joined.Unix()), user.Name).Build().ToRetryable())
	}
	for _, res := range s.client.DoMulti(ctx, cmds...) {
		if err := res.Error(); err != nil {
			return Session{}, fmt.Errorf("social: open a session: %w", err)
		}
	}
	dropped, err := sessionAddScript.Run(ctx, s.client, []string{layout.UserKey(user.ID)}, []string{token, layout.Itoa(MaxSessions)}).AsStrSlice()
	if err != nil {
		return Session{}, fmt.Errorf("social: open a session: %w", err)
	}
	return session, s.removeTokens(ctx, dropped)
}

// SessionUser returns the user of the session that a secret opens, or
// ErrNoSession. It is answered from memory for a session seen lately, as long
// as the user's own list of sessions, which the server watches for this
// process, has it too.
func (s *sessions) SessionUser(ctx context.Context, secret string) (User, error) {
	if len(secret) != secretLength {
		return User{}, ErrNoSession
	}
	token := digest(secret)
	uid, known := s.tokens.GetIfPresent(token)
	if !known {
		id, err := s.client.Do(ctx, s.client.B().Hget().Key(layout.Auths).Field(token).Build()).AsInt64()
		if rueidis.IsRedisNil(err) {
			return User{}, ErrNoSession
		}
		if err != nil {
			return User{}, fmt.Errorf("social: look up a session: %w", err)
		}
		uid = id
		s.tokens.Set(token, uid)
	}
	user, err := s.sessionUser(ctx, uid, token)
	if errors.Is(err, ErrNoSession) && !isFresh(ctx) {
		// Another process may have opened it a moment ago.
		user, err = s.sessionUser(WithFresh(ctx), uid, token)
	}
	if errors.Is(err, ErrNoSession) {
		s.tokens.Invalidate(token)
	}
	return user, err
}

// sessionUser returns a user whose own list of sessions has the token, or
// ErrNoSession.
func (s *sessions) sessionUser(ctx context.Context, uid int64, token string) (User, error) {
	rec, err := s.record(ctx, uid)
	if errors.Is(err, ErrNotFound) || err == nil && !HasToken(rec.auth, token) {
		return User{}, ErrNoSession
	}
	return rec.User, err
}

// HasToken reports whether the field `auth` of a user contains a token.
func HasToken(auth, token string) bool {
	for auth != "" {
		var one string
		one, auth, _ = strings.Cut(auth, ",")
		if one == token {
			return true
		}
	}
	return false
}

// Logout ends every session of a user. The user's own list is cleared first,
// which alone ends them; repeating it clears what a crash left in `auths`. Two
// round trips.
func (s *sessions) Logout(ctx context.Context, uid int64) error {
	closed, err := sessionClearScript.Run(ctx, s.client, []string{layout.UserKey(uid)}, nil).AsStrSlice()
	if err != nil {
		return fmt.Errorf("social: log out: %w", err)
	}
	return s.removeTokens(ctx, closed)
}

// removeTokens removes ended sessions from `auths`.
func (s *sessions) removeTokens(ctx context.Context, tokens []string) error {
	if len(tokens) == 0 {
		return nil
	}
	err := s.client.Do(ctx, s.client.B().Hdel().Key(layout.Auths).Field(tokens...).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: end a session: %w", err)
	}
	for _, token := range tokens {
		s.tokens.Invalidate(token)
	}
	return nil
}
