package auth

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
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

var (
	//go:embed second_factor_wait.lua
	factorWaitSource string
	factorWaitScript = script.New(factorWaitSource).Retryable()

	//go:embed second_factor_try.lua
	factorTrySource string
	factorTryScript = script.New(factorTrySource)

	//go:embed second_factor_use.lua
	factorUseSource string
	factorUseScript = script.New(factorUseSource)

	//go:embed second_factor_confirm.lua
	factorConfirmSource string
	factorConfirmScript = script.New(factorConfirmSource)

	//go:embed second_factor_set.lua
	factorSetSource string
	factorSetScript = script.New(factorSetSource).Retryable()
)

const (
	// LoginWaitsFor is how long a log-in waits for a code.
	LoginWaitsFor = 5 * time.Minute
	// maxWaiting is how many log-ins of one user can wait.
	maxWaiting = 5
	// maxTries is how many codes one log-in can try.
	maxTries = 5
	// maxAccountTries is how many codes all log-ins of an account can try within triesWithin; after
	// that, only recovery codes work.
	maxAccountTries = 20
	triesWithin     = time.Hour
	// setUpTimeout is how long a new key can be confirmed.
	setUpTimeout = 15 * time.Minute
)

// Errors of a second factor.
var (
	// ErrNoLogin reports that the log-in is no longer waiting, or has tried too many codes.
	ErrNoLogin = errors.New("social: no log-in is waiting for this code")
	// ErrBadCode reports that the code is wrong, or was used before.
	ErrBadCode = errors.New("social: wrong code")
	// ErrTooManyCodes reports that too many codes were tried for this account.
	ErrTooManyCodes = errors.New("social: too many wrong codes")
	// ErrSecondFactorState reports that the second factor is not set up, or is already on.
	ErrSecondFactorState = errors.New("social: the second factor has changed in the meantime")
)

// factorStore stores the second factors of all users. The second step of a log-in is a code from an
// authenticator app (TOTP, RFC 6238), or a recovery code.
//
// The key of the app is in the field `totp` of the user. The key can be encrypted with a key of the
// operator ([keyBox]); otherwise a copy of the database reveals the key. Recovery codes are random,
// and only their hashes are stored.
type factorStore struct {
	Client rueidis.Client
	Box    keyBox
}

// SecondFactorState is the state of a user's second factor.
type SecondFactorState struct {
	On    bool
	Codes int // recovery codes left
}

// State returns the state of a user's second factor. One round trip.
func (s *factorStore) State(ctx context.Context, uid int64) (SecondFactorState, error) {
	fields, err := s.fields(ctx, uid, "totp", "recovery")
	if err != nil {
		return SecondFactorState{}, err
	}
	state := SecondFactorState{On: fields[0] != ""}
	if fields[1] != "" {
		state.Codes = strings.Count(fields[1], ",") + 1
	}
	return state, nil
}

func (s *factorStore) fields(ctx context.Context, uid int64, names ...string) ([]string, error) {
	fields, err := reply.Fields(s.Client.Do(ctx, s.Client.B().Hmget().Key(storage.UserKey(uid)).Field(names...).Build()))
	if err != nil {
		return nil, fmt.Errorf("social: read a second factor: %w", err)
	}
	return fields, nil
}

// Wait makes a log-in wait for a code and returns its secret. password is the stored password; Wait
// returns ErrBadLogin if the password has changed since it was read. One round trip.
func (s *factorStore) Wait(ctx context.Context, uid int64, password string, now time.Time) (secret string, err error) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	secret = storage.Itoa(uid) + "." + base64.RawURLEncoding.EncodeToString(b[:])
	ok, err := factorWaitScript.Run(ctx, s.Client, []string{storage.LoginsKey(uid), storage.UserKey(uid)}, []string{
		loginHash(secret), storage.Seconds(now), storage.Itoa(int64(LoginWaitsFor / time.Second)), storage.Itoa(maxWaiting), password,
	}).AsBool()
	if err != nil {
		return "", fmt.Errorf("social: begin a log-in: %w", err)
	}
	if !ok {
		return "", social.ErrBadLogin
	}
	return secret, nil
}

// maxSecret is the maximum length of the secret of a log-in.
const maxSecret = 80

// userOfSecret returns the user ID in the secret of a log-in. It does not verify the secret.
func userOfSecret(secret string) (uid int64, ok bool) {
	text, _, found := strings.Cut(secret, ".")
	if !found || len(secret) > maxSecret {
		return 0, false
	}
	return storage.ParseID(text)
}

// Finish checks the code of a waiting log-in, and uses up the code and the log-in. It returns the
// number of recovery codes left, and whether the code was a recovery code. Two round trips.
//
// An attempt is counted before the code is compared, so concurrent requests get no additional
// attempts. If two requests use the same code, one succeeds.
func (s *factorStore) Finish(ctx context.Context, secret, typed string, now time.Time) (left int, recovered bool, err error) {
	uid, ok := userOfSecret(secret)
	if !ok {
		return 0, false, ErrNoLogin
	}
	keys := []string{storage.UserKey(uid), storage.LoginsKey(uid)}
	got, err := factorTryScript.Run(ctx, s.Client, keys, []string{
		loginHash(secret), storage.Seconds(now), storage.Itoa(maxTries), storage.Itoa(maxAccountTries), storage.Itoa(int64(triesWithin / time.Second)),
	}).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return 0, false, ErrNoLogin
	}
	if err != nil {
		return 0, false, fmt.Errorf("social: compare a code: %w", err)
	}
	step, recovery := "", ""
	if hash, ok := codeHash(typed); ok {
		if recovery = hash; !contains(got[1], hash) {
			return 0, false, ErrBadCode
		}
	} else {
		if got[2] == "1" {
			return 0, false, ErrTooManyCodes
		}
		key, err := s.Box.open(uid, got[0])
		if err != nil {
			return 0, false, err
		}
		at, ok := matchCode(key, typed, now)
		if !ok {
			return 0, false, ErrBadCode
		}
		step = storage.Itoa(at)
	}
	n, err := factorUseScript.Run(ctx, s.Client, keys, []string{loginHash(secret), got[0], step, recovery}).AsInt64()
	if err != nil {
		return 0, false, fmt.Errorf("social: use a code: %w", err)
	}
	if n < 0 {
		return 0, false, ErrBadCode
	}
	return int(n), step == "", nil
}

// Begin sets up a key, for Confirm, and returns it. It returns ErrSecondFactorState if the user has
// a second factor. One round trip.
func (s *factorStore) Begin(ctx context.Context, uid int64, now time.Time) (key string, err error) {
	key = newKey()
	value := storage.Seconds(now.Add(setUpTimeout)) + " " + s.Box.seal(uid, key)
	return key, s.set(ctx, uid, false, "totp_new", value)
}

func (s *factorStore) set(ctx context.Context, uid int64, on bool, field, value string) error {
	required := "0"
	if on {
		required = "1"
	}
	ok, err := factorSetScript.Run(ctx, s.Client, []string{storage.UserKey(uid)}, []string{required, field, value}).AsBool()
	if err != nil {
		return fmt.Errorf("social: set a second factor: %w", err)
	}
	if !ok {
		return ErrSecondFactorState
	}
	return nil
}

// Pending returns the key that was set up, or ErrSecondFactorState if there is none. One round
// trip.
func (s *factorStore) Pending(ctx context.Context, uid int64, now time.Time) (key string, err error) {
	key, _, err = s.pending(ctx, uid, now)
	return key, err
}

func (s *factorStore) pending(ctx context.Context, uid int64, now time.Time) (key, stored string, err error) {
	fields, err := s.fields(ctx, uid, "totp_new", "totp")
	if err != nil {
		return "", "", err
	}
	ends, value, _ := strings.Cut(fields[0], " ")
	if value == "" || fields[1] != "" || storage.ParseTime(ends).Before(now) {
		return "", "", ErrSecondFactorState
	}
	key, err = s.Box.open(uid, value)
	return key, fields[0], err
}

// Confirm turns the second factor on, given a code of the key that was set up. It returns the
// recovery codes, which are shown once. Two round trips.
func (s *factorStore) Confirm(ctx context.Context, uid int64, typed string, now time.Time) (codes []string, err error) {
	key, stored, err := s.pending(ctx, uid, now)
	if err != nil {
		return nil, err
	}
	step, ok := matchCode(key, typed, now)
	if !ok {
		return nil, ErrBadCode
	}
	codes, hashes := newRecoveryCodes()
	_, value, _ := strings.Cut(stored, " ")
	done, err := factorConfirmScript.Run(ctx, s.Client, []string{storage.UserKey(uid)}, []string{
		stored, value, storage.Itoa(step), strings.Join(hashes, ","),
	}).AsBool()
	if err != nil {
		return nil, fmt.Errorf("social: turn a second factor on: %w", err)
	}
	if !done {
		return nil, ErrSecondFactorState
	}
	return codes, nil
}

// Renew replaces the recovery codes. One round trip.
func (s *factorStore) Renew(ctx context.Context, uid int64) (codes []string, err error) {
	codes, hashes := newRecoveryCodes()
	return codes, s.set(ctx, uid, true, "recovery", strings.Join(hashes, ","))
}

// Remove turns the second factor off. One round trip.
func (s *factorStore) Remove(ctx context.Context, uid int64) error {
	err := s.Client.Do(ctx, s.Client.B().Hdel().Key(storage.UserKey(uid)).
		Field("totp", "totp_new", "totp_step", "recovery", "code_tries").Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: turn a second factor off: %w", err)
	}
	return nil
}
