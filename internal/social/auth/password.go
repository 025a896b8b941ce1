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

// ErrHashersBusy reports that too many passwords are waiting to be checked.
var ErrHashersBusy = errors.New("social: too many passwords are being checked")

const phcPrefix = "$argon2id$"

// Hasher computes password hashes, a limited number at a time: each hash takes megabytes, so a
// flood of log-ins must wait rather than exhaust the memory. Waiting requests take turns by place
// (see WithPlace), so that one client with many connections does not block log-in for others.
type Hasher struct {
	params argon2id.Params
	queue  turns.Queue

	served, refused atomic.Uint64
	waited          atomic.Int64 // in nanoseconds

	// decoy returns a hash to compare against if there is no such user, so that the duration of a
	// log-in does not reveal which users exist.
	decoy func() (string, error)
}

// waitersPerSlot limits the queue. A core computes about 40 hashes a second, so in a longer queue
// the answer would come too late to be useful.
const waitersPerSlot = 256

// waitersPerPlace limits the waiting hashes of one place, per slot: a whole office may log in at
// once.
const waitersPerPlace = 16

// NewHasher returns a hasher. nil params mean 19 MiB, 2 passes and 1 lane, the minimum that OWASP
// recommends; 0 slots mean one per core.
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

// Waiting returns how many passwords are waiting to be checked or hashed.
func (h *Hasher) Waiting() int { return h.queue.Waiting() }

// HasherStats are the statistics of the queue since the start.
type HasherStats struct {
	Served  uint64        // passwords checked or hashed
	Waited  time.Duration // their total waiting time
	Refused uint64        // passwords rejected because too many were waiting, or the caller gave up
}

// Stats returns the statistics of the queue.
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

// WithPlace returns a context with the place that a request comes from, such as an address.
// Requests without a place, such as those of an operator's commands, share one turn, and may fill
// the whole queue.
func WithPlace(ctx context.Context, place string) context.Context {
	return context.WithValue(ctx, placeKey{}, place)
}

func placeOf(ctx context.Context) string {
	place, _ := ctx.Value(placeKey{}).(string)
	return place
}

// Hash returns the hash of a password as a PHC string.
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

// Verify reports whether typed matches the stored password, and whether stored should be replaced
// because it is in clear text, as the original program stored passwords, or was hashed at a
// different cost. An empty stored password matches nothing, and takes as long to check as any
// other.
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
