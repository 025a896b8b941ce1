// Package jobs is a durable queue for work in the background.
//
// A queue in the memory of a process is lost with it, and what waits in a slow process
// waits although others are idle. Here a job is an entry of a Redis stream, and the
// processes are consumers of one group: each takes a job when it is free to work on it,
// holds it by a lease that it renews each second, and removes it when it is done. The
// lease of a process that dies ends after five seconds, and another process begins the
// job again. So a job is run at least once, by one process at a time as long as clocks
// and connections are healthy: it must be repeatable from its beginning.
//
//   - Add appends a job: one round trip. Work runs jobs until its context ends.
//   - A job that fails is tried again after a pause that grows, while others run. After
//     Options.Tries it becomes a dead letter, which an operator can read and try again.
//     So does a job that kills each process that takes it.
//   - Jobs of one stream begin in the order in which they were added. With several
//     streams, in different slots of a Cluster, the order holds only roughly.
//   - The entry of a job that is done is deleted, and with the last one the stream: an
//     empty queue has no key.
//
// A process that has nothing to do asks each stream for its length once a second, in one
// pipeline: about a microsecond of the server for each. It asks at once after it has
// added or finished a job. A stream can lose entries in a failover, like any key: what
// must not be lost has to be noted elsewhere too, and added again; see Queue.Waiting.
package jobs

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
)

var (
	//go:embed add.lua
	addSource string
	addScript = script.New(addSource).Retryable()

	//go:embed take.lua
	takeSource string
	takeScript = script.New(takeSource)

	//go:embed reclaim.lua
	reclaimSource string
	reclaimScript = script.New(reclaimSource)

	//go:embed claim.lua
	claimSource string
	claimScript = script.New(claimSource).Retryable()

	//go:embed finish.lua
	finishSource string
	finishScript = script.New(finishSource).Retryable()
)

const (
	// group is the name of the only group of consumers.
	group = "workers"
	// field is the field of an entry that holds the job.
	field = "job"
	// consumerIdle is how long a consumer without jobs stays in the group after it
	// has last asked for one.
	consumerIdle = time.Minute
)

// Options are the settings of a queue; the zero value of each but the first two is a
// good default.
type Options struct {
	Prefix  string        // of the keys of the streams, which end in 0, 1 ...
	Dead    string        // the key of the dead letters
	Streams int           // how many streams: 1 on a single server, more on a Cluster
	Lease   time.Duration // how long a process keeps a job without renewing it: 5 s
	Poll    time.Duration // how often an idle process asks for jobs: 1 s
	Tries   int           // how often a job is tried: 12, in about half an hour
	// Pause is the pause after the first failure, a second; each next one is three
	// times as long, up to five minutes.
	Pause time.Duration
	// OnDead is called after a job was added to the dead letters and before it leaves its
	// stream, which it does not until OnDead succeeds. May be nil.
	OnDead func(ctx context.Context, job string) error
	Log    *slog.Logger
	Now    func() time.Time
}

func (o Options) withDefaults() Options {
	o.Streams = max(1, o.Streams)
	if o.Lease <= 0 {
		o.Lease = 5 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Tries <= 0 {
		o.Tries = 12
	}
	if o.Pause <= 0 {
		o.Pause = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Queue is a durable queue. It is safe for concurrent use.
type Queue struct {
	client   rueidis.Client
	opt      Options
	keys     []string
	consumer string
	next     atomic.Uint64 // the stream of the next job
	added    chan int      // streams to which this process has just added a job
	counts   counters

	mu      sync.Mutex
	length  int64     // see Len
	counted time.Time // when that was read
}

// New returns a queue on the database behind client, which stays the caller's. It asks no
// server.
func New(client rueidis.Client, opt Options) *Queue {
	opt = opt.withDefaults()
	host, _ := os.Hostname()
	q := &Queue{
		client: client, opt: opt, keys: make([]string, opt.Streams), added: make(chan int, opt.Streams),
		consumer: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8]),
	}
	for i := range q.keys {
		q.keys[i] = opt.Prefix + strconv.Itoa(i)
	}
	return q
}

// Add adds a job. One round trip. Where a stream cannot be written, the next one is
// tried.
func (q *Queue) Add(ctx context.Context, job string) error {
	var err error
	for range q.keys {
		i := int(q.next.Add(1) % uint64(len(q.keys)))
		if err = addScript.Run(ctx, q.client, q.keys[i:i+1], []string{group, job}).Error(); err == nil {
			select {
			case q.added <- i:
			default: // the next look finds it
			}
			return nil
		}
		if ctx.Err() != nil || rediserr.Of(err) == rediserr.Denied {
			break
		}
	}
	return fmt.Errorf("jobs: add to %s: %w", q.opt.Prefix, err)
}

// lengths reads how many unfinished jobs each stream has. One round trip. A key of
// another type has none.
func (q *Queue) lengths(ctx context.Context) ([]int64, error) {
	cmds := make(rueidis.Commands, len(q.keys))
	for i, key := range q.keys {
		cmds[i] = q.client.B().Xlen().Key(key).Build()
	}
	lengths := make([]int64, len(q.keys))
	var sum int64
	var failed error
	for i, res := range q.client.DoMulti(ctx, cmds...) {
		n, err := res.AsInt64()
		if err != nil && !rediserr.IsWrongType(err) {
			failed = fmt.Errorf("jobs: %s: %w", q.keys[i], err)
		}
		lengths[i] = n
		sum += n
	}
	if failed == nil {
		q.mu.Lock()
		q.length, q.counted = sum, time.Now()
		q.mu.Unlock()
	}
	return lengths, failed
}

// Len returns how many jobs are not finished, as of at most a second ago. No round trip
// in a process that works, at most one otherwise.
func (q *Queue) Len(ctx context.Context) (int64, error) {
	q.mu.Lock()
	length, age := q.length, time.Since(q.counted)
	q.mu.Unlock()
	if age <= 2*q.opt.Poll {
		return length, nil
	}
	return q.LenNow(ctx)
}

// LenNow returns how many jobs are not finished. One round trip.
func (q *Queue) LenNow(ctx context.Context) (int64, error) {
	lengths, err := q.lengths(ctx)
	var sum int64
	for _, n := range lengths {
		sum += n
	}
	return sum, err
}

// Oldest returns when the oldest unfinished job was added, by the clock of the server;
// the zero time where there is none. One round trip.
func (q *Queue) Oldest(ctx context.Context) (time.Time, error) {
	cmds := make(rueidis.Commands, len(q.keys))
	for i, key := range q.keys {
		cmds[i] = q.client.B().Xrange().Key(key).Start("-").End("+").Count(1).Build()
	}
	var oldest time.Time
	for i, res := range q.client.DoMulti(ctx, cmds...) {
		entries, err := res.AsXRange()
		if err != nil && !rediserr.IsWrongType(err) {
			return time.Time{}, fmt.Errorf("jobs: %s: %w", q.keys[i], err)
		}
		if len(entries) > 0 {
			if at := addedAt(entries[0].ID); oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
	}
	return oldest, nil
}

// pageOfEntries is how many entries are read at a time.
const pageOfEntries = 1000

// Waiting returns the unfinished jobs of all streams, at most limit of each, the oldest
// first. Jobs that were added after until may be missing; it is the zero time where none
// is. It is for those who look for jobs that were lost.
func (q *Queue) Waiting(ctx context.Context, limit int) (jobs map[string]bool, until time.Time, err error) {
	jobs = map[string]bool{}
	for _, key := range q.keys {
		from := "-"
		for n := 0; ; {
			entries, err := q.client.Do(ctx, q.client.B().Xrange().Key(key).Start(from).End("+").Count(pageOfEntries).Build()).AsXRange()
			if rediserr.IsWrongType(err) {
				break
			}
			if err != nil {
				return nil, until, fmt.Errorf("jobs: %s: %w", key, err)
			}
			for _, entry := range entries {
				jobs[entry.FieldValues[field]] = true
			}
			if len(entries) < pageOfEntries {
				break
			}
			last := entries[len(entries)-1].ID
			if n += len(entries); n >= limit {
				if at := addedAt(last); until.IsZero() || at.Before(until) {
					until = at
				}
				break
			}
			from = "(" + last
		}
	}
	return jobs, until, nil
}

// addedAt is the time in the id of an entry.
func addedAt(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
