package social

import (
	"context"
	"crypto/subtle"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"
)

// Bounds on a new password, in characters. A log-in takes any length up to
// maxTypedPassword bytes, so that passwords from before these bounds still
// work.
const (
	MinPassword = 8
	MaxPassword = 128

	maxTypedPassword = 1024
)

const phcPrefix = "$argon2id$"

// hasher computes password hashes, a bounded number at a time: each takes
// megabytes, so a flood of log-ins must wait rather than pile up.
type hasher struct {
	params  argon2id.Params
	slots   chan struct{}
	waiting atomic.Int64

	// decoy is compared against when there is no such user, so that the time
	// an answer takes does not tell who exists.
	decoy func() (string, error)
}

// waitersPerSlot bounds the queue: a core makes some 40 hashes a second, so
// past it the answer would come too late to be of use.
const waitersPerSlot = 256

func newHasher(params *argon2id.Params, slots int) (*hasher, error) {
	if params == nil {
		params = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	}
	if slots < 0 {
		return nil, fmt.Errorf("social: Options.Hashers: %d is negative", slots)
	}
	if slots == 0 {
		slots = runtime.NumCPU()
	}
	h := &hasher{params: *params, slots: make(chan struct{}, slots)}
	h.decoy = sync.OnceValues(func() (string, error) { return argon2id.CreateHash("decoy", &h.params) })
	return h, nil
}

func (h *hasher) acquire(ctx context.Context) error {
	if h.waiting.Add(1) > int64(cap(h.slots)*waitersPerSlot) {
		h.waiting.Add(-1)
		return ErrBusy
	}
	defer h.waiting.Add(-1)
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
}

func (h *hasher) release() { <-h.slots }

// hash returns the PHC string of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.acquire(ctx); err != nil {
		return "", err
	}
	defer h.release()
	phc, err := argon2id.CreateHash(norm.NFC.String(password), &h.params)
	if err != nil {
		return "", fmt.Errorf("social: hash a password: %w", err)
	}
	return phc, nil
}

// verify tells whether typed is the password that stored stands for, and
// whether stored should be replaced: it is a password in clear, as the original
// program kept them, or was made at another cost. An empty stored stands for
// nobody's. Each takes as long as any other.
func (h *hasher) verify(ctx context.Context, typed, stored string) (ok, outdated bool, err error) {
	if err := h.acquire(ctx); err != nil {
		return false, false, err
	}
	defer h.release()
	clear := stored != "" && !strings.HasPrefix(stored, phcPrefix)
	same := clear && subtle.ConstantTimeCompare([]byte(typed), []byte(stored)) == 1
	nobody := stored == ""
	if nobody || clear {
		if stored, err = h.decoy(); err != nil {
			return false, false, fmt.Errorf("social: hash a password: %w", err)
		}
	}
	match, params, err := argon2id.CheckHash(norm.NFC.String(typed), stored)
	if err != nil {
		return false, false, fmt.Errorf("social: a stored password hash cannot be read: %w", err)
	}
	if clear {
		return same, true, nil
	}
	return match && !nobody, *params != h.params, nil
}

func checkPassword(password string) error {
	n := utf8.RuneCountInString(password)
	if !utf8.ValidString(password) || n < MinPassword || n > MaxPassword {
		return &InvalidError{"password", fmt.Sprintf("Use %d to %d characters.", MinPassword, MaxPassword)}
	}
	return nil
}
