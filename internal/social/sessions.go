package social

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

// Session is an open session: its user, and the secret that opens it. Only the
// SHA-256 of the secret is stored, so a copy of the database opens nothing.
type Session struct {
	User   User
	Secret string
}

// maxSessions is how many sessions a user may have open; the oldest ends when
// one more begins.
const maxSessions = 10

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

// openSession begins a session. `auths` learns of it first and the user's hash
// last; it is open when both agree, so a crash in between leaves an entry that
// opens nothing.
func (s *Service) openSession(ctx context.Context, user User) (Session, error) {
	session := Session{User: user, Secret: newSecret()}
	token := digest(session.Secret)
	b := s.client.B()
	add := b.Zadd().Key(keyUsersByTime).Nx().ScoreMember()
	cmds := rueidis.Commands{b.Hset().Key(keyAuths).FieldValue().FieldValue(token, itoa(user.ID)).Build().ToRetryable()}
	if !user.Joined.IsZero() {
		cmds = append(cmds, add.ScoreMember(float64(user.Joined.Unix()), user.Name).Build().ToRetryable())
	}
	for _, res := range s.client.DoMulti(ctx, cmds...) {
		if err := res.Error(); err != nil {
			return Session{}, fmt.Errorf("social: open a session: %w", err)
		}
	}
	dropped, err := sessionAddScript.Run(ctx, s.client, []string{userKey(user.ID)}, []string{token, itoa(maxSessions)}).AsStrSlice()
	if err != nil {
		return Session{}, fmt.Errorf("social: open a session: %w", err)
	}
	return session, s.forget(ctx, dropped)
}

// SessionUser returns whose session a secret opens, or ErrNoSession. It is
// answered from memory for a session seen lately, as long as the user's own
// list of sessions, which the server watches for us, has it too.
func (s *Service) SessionUser(ctx context.Context, secret string) (User, error) {
	if len(secret) != secretLength {
		return User{}, ErrNoSession
	}
	token := digest(secret)
	uid, known := s.sessions.GetIfPresent(token)
	if !known {
		id, err := s.client.Do(ctx, s.client.B().Hget().Key(keyAuths).Field(token).Build()).AsInt64()
		if rueidis.IsRedisNil(err) {
			return User{}, ErrNoSession
		}
		if err != nil {
			return User{}, fmt.Errorf("social: look up a session: %w", err)
		}
		uid = id
		s.sessions.Set(token, uid)
	}
	user, err := s.agreed(ctx, uid, token)
	if errors.Is(err, ErrNoSession) && !isFresh(ctx) {
		// It may have begun elsewhere a moment ago.
		user, err = s.agreed(WithFresh(ctx), uid, token)
	}
	if errors.Is(err, ErrNoSession) {
		s.sessions.Invalidate(token)
	}
	return user, err
}

// agreed returns a user whose own list of sessions has the token.
func (s *Service) agreed(ctx context.Context, uid int64, token string) (User, error) {
	rec, err := s.record(ctx, uid)
	if errors.Is(err, ErrNotFound) || err == nil && !hasToken(rec.auth, token) {
		return User{}, ErrNoSession
	}
	return rec.User, err
}

func hasToken(auth, token string) bool {
	for auth != "" {
		var one string
		one, auth, _ = strings.Cut(auth, ",")
		if one == token {
			return true
		}
	}
	return false
}

// Logout ends every session of a user: each secret that was ever given out is
// dead when it returns. The user's own list goes first, which alone ends them;
// repeating it clears what a crash left in `auths`.
func (s *Service) Logout(ctx context.Context, uid int64) error {
	closed, err := sessionClearScript.Run(ctx, s.client, []string{userKey(uid)}, nil).AsStrSlice()
	if err != nil {
		return fmt.Errorf("social: log out: %w", err)
	}
	return s.forget(ctx, closed)
}

// forget removes ended sessions from `auths`.
func (s *Service) forget(ctx context.Context, tokens []string) error {
	if len(tokens) == 0 {
		return nil
	}
	err := s.client.Do(ctx, s.client.B().Hdel().Key(keyAuths).Field(tokens...).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: end a session: %w", err)
	}
	for _, token := range tokens {
		s.sessions.Invalidate(token)
	}
	return nil
}

// text is a string reply, empty where there is none.
func text(res rueidis.RedisResult) (string, error) {
	value, err := res.ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("social: %w", err)
	}
	return value, nil
}
