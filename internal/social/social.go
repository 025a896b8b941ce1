// Package social is Retwis: the Twitter clone that keeps everything in Redis.
// It knows accounts, sessions, follows, posts and timelines, and nothing of
// how they are seen: no HTTP, no pages.
//
// The keys are those of the Retwis tutorial (docs/keys.md lists every one), so
// a database that the original PHP program wrote opens unchanged. No write
// mixes keys that a Cluster could keep on different servers, except follows on
// a single server (see follows.go); a write that needs several keys is a
// sequence that can be repeated from its start without harm, and its comment
// says so.
//
// # Reads
//
// Reads are answered from the client's own memory where the server allows it
// (server-assisted client-side caching: the server says which keys changed).
// On one server and in one process, a read that begins after a write has
// returned always sees that write, because the client is expected to keep one
// connection to a server: what was invalidated is read before the reply to a
// later command. Another process sees the write as soon as the server's word
// has travelled; [WithFresh] makes a read that must not wait for it.
package social

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/maypok86/otter/v2"
	"github.com/redis/rueidis"

	"retwis/internal/store"
)

// Options are the settings of a Service. The zero value is a good default.
type Options struct {
	// Logger is told what happens behind a caller's back: fan-outs that were
	// interrupted or mended. Default: slog.Default().
	Logger *slog.Logger

	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// HashParams is the cost of a password hash. Default: 19 MiB, 2 passes,
	// 1 lane, the first of the settings that OWASP recommends.
	HashParams *argon2id.Params

	// Hashers bounds how many password hashes are computed at once, and with
	// that the memory they take. Default: the number of cores.
	Hashers int

	// Server describes the database to those who load it: a Loader then writes by
	// mass insertion, on connections of its own. Default: it writes through the
	// client.
	Server *rueidis.ClientOption
}

// Service is Retwis on one database. It is safe for concurrent use.
type Service struct {
	client  rueidis.Client
	log     *slog.Logger
	now     func() time.Time
	hasher  *hasher
	server  *rueidis.ClientOption
	cluster bool

	sessionGrace time.Duration // see the constant

	// ids maps a folded username to its user id, sessions the hash of a
	// session secret to its user id. Neither pair ever changes while it
	// exists, and what it leads to is read and checked each time.
	ids      *otter.Cache[string, int64]
	sessions *otter.Cache[string, int64]

	lastPost    atomic.Int64 // the largest id of a post that was seen
	postCounter atomic.Int64 // next_post_id as it was last read

	background context.Context // ends the fan-out worker, never used for a caller
	stop       context.CancelFunc
	worker     sync.WaitGroup

	jobs        chan fanOut   // to be written
	unconfirmed chan *written // written, to be confirmed
	claims      claims        // both
	observed    atomic.Pointer[mastersOf]
}

// cachedPairs bounds the immutable pairs kept in memory, about 150 bytes each.
const cachedPairs = 200_000

// New returns a Service on the database behind client, which stays the
// caller's. Close ends it.
func New(client rueidis.Client, opt Options) (*Service, error) {
	if client == nil {
		return nil, fmt.Errorf("social: no client")
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	hasher, err := newHasher(opt.HashParams, opt.Hashers)
	if err != nil {
		return nil, err
	}
	pairs := func() (*otter.Cache[string, int64], error) {
		return otter.New(&otter.Options[string, int64]{MaximumSize: cachedPairs})
	}
	ids, err := pairs()
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	sessions, err := pairs()
	if err != nil {
		return nil, fmt.Errorf("social: %w", err)
	}
	s := &Service{
		client:   client,
		log:      opt.Logger,
		now:      opt.Now,
		hasher:   hasher,
		server:   opt.Server,
		cluster:  client.Mode() == rueidis.ClientModeCluster,
		ids:      ids,
		sessions: sessions,

		sessionGrace: sessionGrace,

		jobs:        make(chan fanOut, maxJobs),
		unconfirmed: make(chan *written, maxJobs),
	}
	s.background, s.stop = context.WithCancel(context.Background())
	s.worker.Go(s.work)
	s.worker.Go(s.confirm)
	return s, nil
}

// Close ends the fan-outs that go on in the background and waits for them.
// What they left undone is known to the database and finished by
// ResumeFanOuts. The client stays open.
func (s *Service) Close() error {
	s.stop()
	s.worker.Wait()
	return nil
}

// Ping reports whether the database can be read, every part of a Cluster
// included. An error wraps store.ErrPartly where another part answers. One round
// trip.
func (s *Service) Ping(ctx context.Context) error {
	if err := store.ProbeRead(ctx, s.client); err != nil {
		return fmt.Errorf("social: the database cannot be read: %w", err)
	}
	return nil
}

// PingWrite reports whether the database takes writes. It changes nothing. One
// round trip.
func (s *Service) PingWrite(ctx context.Context) error {
	if err := store.ProbeWrite(ctx, s.client); err != nil {
		return fmt.Errorf("social: the database takes no writes: %w", err)
	}
	return nil
}

// seconds is how the layout writes a moment: unix seconds.
func seconds(t time.Time) string { return fmt.Sprintf("%d", t.Unix()) }
