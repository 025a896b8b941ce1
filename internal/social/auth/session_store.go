package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

var (
	//go:embed session_common.lua
	sessionCommon string

	//go:embed session_open.lua
	sessionOpenSource string
	sessionOpenScript = script.New(sessionCommon, sessionOpenSource).Retryable()

	//go:embed session_touch.lua
	sessionTouchSource string
	sessionTouchScript = script.New(sessionCommon, sessionTouchSource).Retryable()

	//go:embed session_end.lua
	sessionEndSource string
	sessionEndScript = script.New(sessionCommon, sessionEndSource).Retryable()

	//go:embed session_replace.lua
	sessionReplaceSource string
	sessionReplaceScript = script.New(sessionCommon, sessionReplaceSource)
)

// MaxSessions is the maximum number of open sessions per user.
const MaxSessions = 10

// SessionUseEvery is the minimum interval between recorded uses of a session.
const SessionUseEvery = time.Hour

// Errors of a sessionStore.
var (
	// errNoSession reports that the session is not open.
	errNoSession = errors.New("social: no such session")
	// errUserChanged reports that there is no such user, or that the value on which the change was
	// based has changed.
	errUserChanged = errors.New("social: the user has changed in the meantime")
)

// sessionStore stores the sessions of all users.
//
// A session is a random secret that a browser keeps, prefixed with the ID of its user:
// `<uid>.<secret>`. Only its SHA-256, the token, is stored: in the field `auth` of the user, which
// lists the user's open sessions.
//
// The hash `sessions:{user:<uid>}` records for each session when it began, when it was last used,
// and on which device. The hash of the sessions is in the slot of the user's hash, so one script
// can change both hashes.
type sessionStore struct {
	Client rueidis.Client
	Idle   time.Duration // how long a session may be unused before it ends
	Max    time.Duration // the maximum duration of a session
}

// SessionEntry describes a session. The times are zero if the session predates their recording.
type SessionEntry struct {
	Token         string
	Created, Used time.Time
	Device        string // "Firefox on Linux", or empty
}

// maxDevice limits the label of a device, in bytes.
const maxDevice = 60

// String returns the stored form of the entry.
func (e SessionEntry) String() string {
	device := strings.Join(strings.Fields(e.Device), " ")
	if len(device) > maxDevice {
		device = strings.ToValidUTF8(device[:maxDevice], "")
	}
	return storage.Seconds(e.Created) + " " + storage.Seconds(e.Used) + " " + device
}

// ParseSession parses the stored form of an entry.
func ParseSession(token, text string) SessionEntry {
	created, rest, _ := strings.Cut(text, " ")
	used, device, _ := strings.Cut(rest, " ")
	return SessionEntry{Token: token, Created: storage.ParseTime(created), Used: storage.ParseTime(used), Device: device}
}

// Expired reports whether a session has ended because of its age or lack of use.
func (s *sessionStore) Expired(e SessionEntry, now time.Time) bool {
	return !e.Created.IsZero() && (now.Sub(e.Used) > s.Idle || now.Sub(e.Created) > s.Max)
}

// secretLength is the length of the random part of a secret: 32 bytes in base64.
const secretLength = 43

// newSecret returns a secret for a new session or a reset link, which includes the user ID.
func newSecret(uid int64) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return storage.Itoa(uid) + "." + base64.RawURLEncoding.EncodeToString(b[:])
}

// SessionToken returns the user and the token of a secret; ok is false if secret is malformed.
func SessionToken(secret string) (uid int64, token string, ok bool) {
	id, random, _ := strings.Cut(secret, ".")
	if uid, ok = storage.ParseID(id); !ok || len(random) != secretLength {
		return 0, "", false
	}
	sum := sha256.Sum256([]byte(random))
	return uid, hex.EncodeToString(sum[:]), true
}

// HasSession reports whether the field `auth` of a user contains a token.
func HasSession(auth, token string) bool {
	for auth != "" {
		var entry string
		entry, auth, _ = strings.Cut(auth, ",")
		if entry == token {
			return true
		}
	}
	return false
}

func sessionKeys(uid int64) []string { return []string{storage.UserKey(uid), storage.SessionsKey(uid)} }

func wholeSeconds(d time.Duration) string { return storage.Itoa(int64(d / time.Second)) }

// Open opens a session and returns the tokens of the sessions that it dropped. It returns
// errUserChanged if there is no such user, or if password is not empty and is not the stored
// password. One round trip.
func (s *sessionStore) Open(ctx context.Context, uid int64, e SessionEntry, password string) (dropped []string, err error) {
	dropped, err = sessionOpenScript.RunFenced(ctx, s.Client, sessionKeys(uid), []string{
		e.Token, e.String(), storage.Itoa(MaxSessions), storage.Seconds(e.Used), wholeSeconds(s.Idle), wholeSeconds(s.Max), password,
	}).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return nil, errUserChanged
	}
	if err != nil {
		return nil, fmt.Errorf("social: open a session: %w", err)
	}
	return dropped, nil
}

// Touch records the use of a session, at most once per SessionUseEvery, and ends expired sessions
// of its user. It returns the session, or errNoSession, and the tokens of the ended sessions. One
// round trip.
func (s *sessionStore) Touch(ctx context.Context, uid int64, token string, now time.Time) (e SessionEntry, ended []string, err error) {
	got, err := sessionTouchScript.Run(ctx, s.Client, sessionKeys(uid), []string{
		token, storage.Seconds(now), wholeSeconds(s.Idle), wholeSeconds(s.Max), wholeSeconds(SessionUseEvery),
	}).AsStrSlice()
	if err != nil {
		return SessionEntry{}, nil, fmt.Errorf("social: record the use of a session: %w", err)
	}
	if got[0] == "" {
		return SessionEntry{}, got[1:], errNoSession
	}
	return ParseSession(token, got[0]), got[1:], nil
}

// whichSessions selects sessions of a user.
type whichSessions string

// The selections.
const (
	oneSession    whichSessions = "one"    // the session whose token has the given prefix
	otherSessions whichSessions = "others" // all but the session with the given token
	allSessions   whichSessions = "all"
)

// End ends sessions and returns their tokens. One round trip.
func (s *sessionStore) End(ctx context.Context, uid int64, which whichSessions, token string) ([]string, error) {
	ended, err := sessionEndScript.RunFenced(ctx, s.Client, sessionKeys(uid), []string{string(which), token}).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("social: end a session: %w", err)
	}
	return ended, nil
}

// passwordChange is a new password of a user.
type passwordChange struct {
	Field, Value string // the precondition: `password` or `reset`, and its expected value
	Hash         string
	Session      *SessionEntry // the session to open; may be nil
}

// Replace sets a password, ends all sessions, and opens the given one. It returns the tokens of the
// ended sessions. It returns errUserChanged if the precondition no longer holds: of two changes
// with the same precondition, one succeeds. One round trip.
func (s *sessionStore) Replace(ctx context.Context, uid int64, p passwordChange) ([]string, error) {
	token, entry := "", ""
	if p.Session != nil {
		token, entry = p.Session.Token, p.Session.String()
	}
	ended, err := sessionReplaceScript.RunFenced(ctx, s.Client, append(sessionKeys(uid), storage.LoginsKey(uid)), []string{
		p.Field, p.Value, p.Hash, token, entry,
	}).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return nil, errUserChanged
	}
	if err != nil {
		return nil, fmt.Errorf("social: set a password: %w", err)
	}
	return ended, nil
}

// List returns the open sessions of a user, last used first. One round trip.
func (s *sessionStore) List(ctx context.Context, uid int64, now time.Time) ([]SessionEntry, error) {
	open, _, err := s.list(ctx, uid, now)
	slices.SortStableFunc(open, func(a, b SessionEntry) int {
		return cmp.Or(b.Used.Compare(a.Used), b.Created.Compare(a.Created))
	})
	return open, err
}

// CountExpired counts the expired sessions of a user that are still listed.
func (s *sessionStore) CountExpired(ctx context.Context, uid int64, now time.Time) (int, error) {
	_, expired, err := s.list(ctx, uid, now)
	return expired, err
}

func (s *sessionStore) list(ctx context.Context, uid int64, now time.Time) (open []SessionEntry, expired int, err error) {
	res := s.Client.DoMulti(ctx,
		s.Client.B().Hget().Key(storage.UserKey(uid)).Field("auth").Build(),
		s.Client.B().Hgetall().Key(storage.SessionsKey(uid)).Build(),
	)
	auth, err := reply.TextOrEmpty(res[0])
	if err != nil {
		return nil, 0, fmt.Errorf("social: list sessions: %w", err)
	}
	entries, err := res[1].AsStrMap()
	if err != nil {
		return nil, 0, fmt.Errorf("social: list sessions: %w", err)
	}
	for token := range strings.SplitSeq(auth, ",") {
		e := ParseSession(token, entries[token])
		switch {
		case len(token) != 2*sha256.Size: // a secret of the original program
		case s.Expired(e, now):
			expired++
		default:
			open = append(open, e)
		}
	}
	return open, expired, nil
}
