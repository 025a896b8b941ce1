package secondfactor

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
)

var (
	//go:embed wait.lua
	waitSource string
	waitScript = script.New(waitSource).Retryable()

	//go:embed try.lua
	trySource string
	tryScript = script.New(trySource)

	//go:embed use.lua
	useSource string
	useScript = script.New(useSource)

	//go:embed confirm.lua
	confirmSource string
	confirmScript = script.New(confirmSource)

	//go:embed set.lua
	setSource string
	setScript = script.New(setSource).Retryable()
)

const (
	// WaitFor is how long a log-in waits for a code.
	WaitFor = 5 * time.Minute
	// maxWaiting is how many log-ins of a user wait.
	maxWaiting = 5
	// maxTries is how many codes one log-in can try, and maxAccountTries how many all
	// log-ins of an account can try in an hour; after that recovery codes work.
	maxTries        = 5
	maxAccountTries = 20
	triesWithin     = time.Hour
	// setUpFor is for how long a key can be confirmed.
	setUpFor = 15 * time.Minute
)

// Errors of a Store.
var (
	// ErrNoLogin: the log-in does not wait any more, or has tried too many codes.
	ErrNoLogin = errors.New("social: no log-in waits for this code")
	// ErrBadCode: the code is wrong, or was used before.
	ErrBadCode = errors.New("social: wrong code")
	// ErrTooMany: too many codes were tried for this account.
	ErrTooMany = errors.New("social: too many wrong codes")
	// ErrState: the second factor is not set up, or is on already.
	ErrState = errors.New("social: the second factor has changed meanwhile")
)

// Store is the second factors of all users.
type Store struct {
	Client rueidis.Client
	Box    Box
}

// State is whether a user has a second factor.
type State struct {
	On    bool
	Codes int // recovery codes that are left
}

// State returns it. One round trip.
func (s *Store) State(ctx context.Context, uid int64) (State, error) {
	fields, err := s.fields(ctx, uid, "totp", "recovery")
	if err != nil {
		return State{}, err
	}
	state := State{On: fields[0] != ""}
	if fields[1] != "" {
		state.Codes = strings.Count(fields[1], ",") + 1
	}
	return state, nil
}

func (s *Store) fields(ctx context.Context, uid int64, names ...string) ([]string, error) {
	fields, err := reply.Fields(s.Client.Do(ctx, s.Client.B().Hmget().Key(layout.UserKey(uid)).Field(names...).Build()))
	if err != nil {
		return nil, fmt.Errorf("social: read a second factor: %w", err)
	}
	return fields, nil
}

// Wait lets a log-in wait for a code and returns its secret. One round trip.
func (s *Store) Wait(ctx context.Context, uid int64, now time.Time) (secret string, err error) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	secret = layout.Itoa(uid) + "." + base64.RawURLEncoding.EncodeToString(b[:])
	err = waitScript.Run(ctx, s.Client, []string{layout.LoginsKey(uid)}, []string{
		hash(secret), layout.Seconds(now), layout.Itoa(int64(WaitFor / time.Second)), layout.Itoa(maxWaiting),
	}).Error()
	if err != nil {
		return "", fmt.Errorf("social: begin a log-in: %w", err)
	}
	return secret, nil
}

// maxSecret bounds the secret of a log-in.
const maxSecret = 80

// UserOf returns the user of a log-in's secret. It proves nothing.
func UserOf(secret string) (uid int64, ok bool) {
	text, _, found := strings.Cut(secret, ".")
	if !found || len(secret) > maxSecret {
		return 0, false
	}
	return layout.ParseID(text)
}

// Finish compares a code for a log-in that waits, and uses both up. It returns the number
// of recovery codes that are left, and whether the code was one. Two round trips.
//
// A try is counted before the code is compared: no number of requests at once tries
// more. Of two with the same code, one succeeds.
func (s *Store) Finish(ctx context.Context, secret, typed string, now time.Time) (left int, recovered bool, err error) {
	uid, ok := UserOf(secret)
	if !ok {
		return 0, false, ErrNoLogin
	}
	keys := []string{layout.UserKey(uid), layout.LoginsKey(uid)}
	got, err := tryScript.Run(ctx, s.Client, keys, []string{
		hash(secret), layout.Seconds(now), layout.Itoa(maxTries), layout.Itoa(maxAccountTries), layout.Itoa(int64(triesWithin / time.Second)),
	}).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return 0, false, ErrNoLogin
	}
	if err != nil {
		return 0, false, fmt.Errorf("social: compare a code: %w", err)
	}
	step, recovery := "", ""
	if one, ok := codeHash(typed); ok {
		if recovery = one; !contains(got[1], one) {
			return 0, false, ErrBadCode
		}
	} else {
		if got[2] == "1" {
			return 0, false, ErrTooMany
		}
		key, err := s.Box.open(uid, got[0])
		if err != nil {
			return 0, false, err
		}
		at, ok := Match(key, typed, now)
		if !ok {
			return 0, false, ErrBadCode
		}
		step = layout.Itoa(at)
	}
	n, err := useScript.Run(ctx, s.Client, keys, []string{hash(secret), got[0], step, recovery}).AsInt64()
	if err != nil {
		return 0, false, fmt.Errorf("social: use a code: %w", err)
	}
	if n < 0 {
		return 0, false, ErrBadCode
	}
	return int(n), step == "", nil
}

// Begin sets a key up, for Confirm, and returns it. It returns ErrState for a user who
// has a second factor. One round trip.
func (s *Store) Begin(ctx context.Context, uid int64, now time.Time) (key string, err error) {
	key = NewKey()
	value := layout.Seconds(now.Add(setUpFor)) + " " + s.Box.seal(uid, key)
	return key, s.set(ctx, uid, false, "totp_new", value)
}

func (s *Store) set(ctx context.Context, uid int64, on bool, field, value string) error {
	must := "0"
	if on {
		must = "1"
	}
	ok, err := setScript.Run(ctx, s.Client, []string{layout.UserKey(uid)}, []string{must, field, value}).AsBool()
	if err != nil {
		return fmt.Errorf("social: set a second factor: %w", err)
	}
	if !ok {
		return ErrState
	}
	return nil
}

// Pending returns the key that was set up, or ErrState where there is none. One round
// trip.
func (s *Store) Pending(ctx context.Context, uid int64, now time.Time) (key string, err error) {
	key, _, err = s.pending(ctx, uid, now)
	return key, err
}

func (s *Store) pending(ctx context.Context, uid int64, now time.Time) (key, stored string, err error) {
	fields, err := s.fields(ctx, uid, "totp_new", "totp")
	if err != nil {
		return "", "", err
	}
	ends, value, _ := strings.Cut(fields[0], " ")
	if value == "" || fields[1] != "" || layout.ParseTime(ends).Before(now) {
		return "", "", ErrState
	}
	key, err = s.Box.open(uid, value)
	return key, fields[0], err
}

// Confirm turns the second factor on, with a code of the key that was set up, and
// returns the recovery codes: they are shown once. Two round trips.
func (s *Store) Confirm(ctx context.Context, uid int64, typed string, now time.Time) (codes []string, err error) {
	key, stored, err := s.pending(ctx, uid, now)
	if err != nil {
		return nil, err
	}
	step, ok := Match(key, typed, now)
	if !ok {
		return nil, ErrBadCode
	}
	codes, hashes := NewCodes()
	_, value, _ := strings.Cut(stored, " ")
	done, err := confirmScript.Run(ctx, s.Client, []string{layout.UserKey(uid)}, []string{
		stored, value, layout.Itoa(step), strings.Join(hashes, ","),
	}).AsBool()
	if err != nil {
		return nil, fmt.Errorf("social: turn a second factor on: %w", err)
	}
	if !done {
		return nil, ErrState
	}
	return codes, nil
}

// Renew replaces the recovery codes. One round trip.
func (s *Store) Renew(ctx context.Context, uid int64) (codes []string, err error) {
	codes, hashes := NewCodes()
	return codes, s.set(ctx, uid, true, "recovery", strings.Join(hashes, ","))
}

// Remove turns the second factor off. One round trip.
func (s *Store) Remove(ctx context.Context, uid int64) error {
	err := s.Client.Do(ctx, s.Client.B().Hdel().Key(layout.UserKey(uid)).
		Field("totp", "totp_new", "totp_step", "recovery", "code_tries").Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: turn a second factor off: %w", err)
	}
	return nil
}
