// Package watched keeps values in memory until the server invalidates them.
//
// The server reports each change of a key that this process has read through its client-side
// cache. A [Map] holds values derived from such keys, by ID, and a [Cell] a single value, until a
// change is reported; [Link.On] registers their keys. A report can be late, or lost, if the
// network is slow or down. So no value is used unless [Link.Confirm] has confirmed, less than a
// second ago, that all reports have arrived.
//
// Callers wait for a slow read. A possibly stale value is used only while part of the database
// cannot be reached and another part can ([Link.Read]). Such uses are counted, and a value is never
// used after a change of the value was reported.
package watched

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"retwis/internal/elapsed"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/store"
)

const (
	// Lag is how long a value that changes often may be used after a change was reported, so that
	// it is read at most about once a second. Together with the time that a page is kept, it
	// stays below a second.
	Lag = 750 * time.Millisecond
	// readingFor is how long a value may be used after Lag while a reader replaces it.
	readingFor = 100 * time.Millisecond
	// MaxAge is how long a value is used if no change is reported.
	MaxAge = time.Minute

	// confirmedFor is how old a confirmation may be; renewAfter is the age at which the next
	// request starts another one.
	confirmedFor = 800 * time.Millisecond
	renewAfter   = 300 * time.Millisecond
	// confirmTimeout limits a confirmation.
	confirmTimeout = 5 * time.Second
	// fallbackTimeout limits a read that has a fallback value while part of the database cannot be
	// reached; after such a read has failed, the next one is not made for skipFor.
	fallbackTimeout = 250 * time.Millisecond
	skipFor         = 500 * time.Millisecond
)

// Link is the state of a process's connections to the database. It is safe for concurrent use.
type Link struct {
	// probe reads from each part of the database through the connections that report changes. Its
	// error wraps [store.ErrPartly] if another part answers.
	probe   func(ctx context.Context) error
	watched bool

	epoch     atomic.Uint64 // number of times that reports may have been lost
	confirmed atomic.Int64  // all reports of changes before this time have arrived, by package elapsed
	partly    atomic.Bool   // the last probe reached only part of the database
	skipUntil atomic.Int64
	served    atomic.Int64

	changed map[string][]func(id int64) // by prefix; see On

	mu      sync.Mutex
	running *confirmation
}

type confirmation struct {
	began int64
	done  chan struct{} // closed once err is set
	err   error
}

// NewLink returns the Link of a process. Unless watched is true, the server reports no changes,
// and nothing is kept in memory.
func NewLink(watched bool, probe func(ctx context.Context) error) *Link {
	return &Link{probe: probe, watched: watched, changed: map[string][]func(int64){}}
}

// On registers changed, which is called with the ID in each changed key with this prefix.
// Functions for the empty prefix are called when reports may have been lost. A key without an ID
// is its own prefix, with ID 0. Functions for the same prefix are called in the order of
// registration. The functions must not block, because the connection to the database waits. Call
// On before the first report.
func (l *Link) On(prefix string, changed func(id int64)) {
	l.changed[prefix] = append(l.changed[prefix], changed)
}

// Changed reports that a key with this prefix and ID has changed.
func (l *Link) Changed(prefix string, id int64) {
	for _, changed := range l.changed[prefix] {
		changed(id)
	}
}

// Watched reports whether the server reports changes.
func (l *Link) Watched() bool { return l.watched }

// Lost reports that invalidations may have been lost: any key may have changed.
func (l *Link) Lost() {
	l.Changed("", 0)
	l.epoch.Add(1)
}

// Partly reports whether the last probe reached only part of the database.
func (l *Link) Partly() bool { return l.partly.Load() }

// Served returns how often a possibly stale value was used.
func (l *Link) Served() int64 { return l.served.Load() }

// Probe probes the database.
func (l *Link) Probe(ctx context.Context) error {
	began := elapsed.Now()
	err := l.probe(ctx)
	switch {
	case err == nil:
		l.partly.Store(false)
		if l.confirmed.Load() < began {
			l.confirmed.Store(began)
		}
	case errors.Is(err, store.ErrPartly):
		l.partly.Store(true)
	}
	return err
}

// Confirm waits until this process has received the reports of all changes made more than a second
// ago. Call it before using values for a request. While only part of the database can be reached,
// Confirm does not wait. Most calls take no round trip; the first call after a pause takes one.
func (l *Link) Confirm(ctx context.Context) error {
	if !l.watched {
		return nil
	}
	for began := elapsed.Now(); ; {
		age := began - l.confirmed.Load()
		if age < int64(renewAfter) {
			return nil
		}
		c := l.begin()
		if age < int64(confirmedFor) || l.Partly() {
			return nil
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if c.err != nil && !l.Partly() {
			return c.err
		}
		if c.began >= began {
			return nil // the database takes more than a second to answer
		}
	}
}

// begin returns the running confirmation, or starts a confirmation.
func (l *Link) begin() *confirmation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		c := &confirmation{began: elapsed.Now(), done: make(chan struct{})}
		l.running = c
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), confirmTimeout)
			defer cancel()
			c.err = l.Probe(ctx)
			l.mu.Lock()
			l.running = nil
			l.mu.Unlock()
			close(c.done)
		}()
	}
	return l.running
}

type noteKey struct{}

// WithNote returns a context, and a flag that is set when a possibly stale value is used with
// that context.
func WithNote(ctx context.Context) (context.Context, *atomic.Bool) {
	note := new(atomic.Bool)
	return context.WithValue(ctx, noteKey{}, note), note
}

// Read calls read to replace a value in memory; hasOld reports whether there is an old value. useOld
// reports whether the caller must use the old value, because only part of the database can be
// reached, and not the part that has the value. Otherwise Read waits for read.
func (l *Link) Read(ctx context.Context, hasOld bool, read func(context.Context) error) (useOld bool, err error) {
	if !hasOld || !l.Partly() {
		if err = read(ctx); !hasOld || !isUnreachable(ctx, err) {
			return false, err
		}
		if probeErr := l.Probe(ctx); !errors.Is(probeErr, store.ErrPartly) {
			return false, err
		}
	} else if elapsed.Now() >= l.skipUntil.Load() {
		bounded, cancel := context.WithTimeout(ctx, fallbackTimeout)
		defer cancel()
		if err = read(bounded); !isUnreachable(ctx, err) {
			return false, err
		}
		l.skipUntil.Store(elapsed.Now() + int64(skipFor))
	}
	l.served.Add(1)
	if note, ok := ctx.Value(noteKey{}).(*atomic.Bool); ok {
		note.Store(true)
	}
	return true, nil
}

// isUnreachable reports whether a read failed because the database cannot be reached, and not
// because its caller has stopped waiting.
func isUnreachable(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && rediserr.Of(err) == rediserr.Unavailable
}
