package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"

	"retwis/internal/turns"
)

// ErrBusy: too many passwords wait to be checked; try again in a moment.
var ErrHashersBusy = errors.New("social: too many passwords are being checked")

const phcPrefix = "$argon2id$"

// Hasher computes password hashes, a bounded number at a time: each takes
// megabytes, so a flood of log-ins must wait rather than exhaust the memory. Those who
// wait take turns by their place, see WithPlace, so that one client with many
// connections does not close log-in for others.
type Hasher struct {
	params argon2id.Params
	queue  turns.Queue

	served, refused atomic.Uint64
	waited          atomic.Int64 // in nanoseconds

	// decoy is compared against when there is no such user, so that the
	// duration of a log-in does not reveal which users exist.
	decoy func() (string, error)
}

// waitersPerSlot bounds the queue: a core makes some 40 hashes a second, so
// past it the answer would come too late to be of use.
const waitersPerSlot = 256

// waitersPerPlace bounds the part of one place, in hashes: an office may log in at once.
const waitersPerPlace = 16

// NewHasher returns a hasher. nil params mean 19 MiB, 2 passes, 1 lane, the
// first of the settings that OWASP recommends; slots 0 means one for each core.
func NewHasher(params *argon2id.Params, slots int) (*Hasher, error) {
	if params == nil {
		params = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	}
	if slots < 0 {
		return nil, fmt.Errorf("social: Options.Hashers: %d is negative", slots)
	}
	if slots == 0 {
		slots = runtime.NumCPU()
	}
	h := &Hasher{params: *params, queue: turns.Queue{Capacity: int64(slots), Max: slots * waitersPerSlot, MaxPlace: slots * waitersPerPlace}}
	h.decoy = sync.OnceValues(func() (string, error) { return argon2id.CreateHash("decoy", &h.params) })
	return h, nil
}

// Waiting returns how many passwords wait to be checked or hashed.
func (h *Hasher) Waiting() int { return h.queue.Waiting() }

// HasherStats are what the queue has done since the start.
type HasherStats struct {
	Served  uint64        // passwords that were checked or hashed
	Waited  time.Duration // how long these waited in all
	Refused uint64        // those that were not: too many waited, or the caller gave up
}

// Stats returns what the queue has done.
func (h *Hasher) Stats() HasherStats {
	return HasherStats{Served: h.served.Load(), Waited: time.Duration(h.waited.Load()), Refused: h.refused.Load()}
}

func (h *Hasher) acquire(ctx context.Context) error {
	began := time.Now()
	err := h.queue.Acquire(ctx, placeOf(ctx), 1)
	if err != nil {
		h.refused.Add(1)
		return fmt.Errorf("%w: %w", ErrHashersBusy, err)
	}
	h.served.Add(1)
	h.waited.Add(int64(time.Since(began)))
	return nil
}

func (h *Hasher) release() { h.queue.Release(1) }

type placeKey struct{}

// WithPlace notes in a context where a request comes from, such as an address. Those
// without a place, of an operator's command, take one turn together, and as much of the
// queue as there is.
func WithPlace(ctx context.Context, place string) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

func placeOf(ctx context.Context) string {
	place, _ := ctx.Value(placeKey{}).(string)
	return place
}

// Hash returns the PHC string of a password.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
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

// Verify reports whether typed matches the stored password, and whether stored
// should be replaced because it is in clear, as the original program kept
// passwords, or was hashed at another cost. An empty stored password matches
// nothing and takes as long as any other.
func (h *Hasher) Verify(ctx context.Context, typed, stored string) (ok, outdated bool, err error) {
	if err := h.acquire(ctx); err != nil {
		return false, false, err
	}
	defer h.release()
	missing := stored == ""
	inClear := !missing && !strings.HasPrefix(stored, phcPrefix)
	same := inClear && subtle.ConstantTimeCompare([]byte(typed), []byte(stored)) == 1
	if missing || inClear {
		if stored, err = h.decoy(); err != nil {
			return false, false, fmt.Errorf("social: hash a password: %w", err)
		}
	}
	match, params, err := argon2id.CheckHash(norm.NFC.String(typed), stored)
	if err != nil {
		return false, false, fmt.Errorf("social: a stored password hash cannot be read: %w", err)
	}
	if inClear {
		return same, true, nil
	}
	return match && !missing, *params != h.params, nil
}
