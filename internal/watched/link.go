// Package watched keeps values in memory that the server invalidates.
//
// The server reports each change of a key that this process has read through its
// client-side cache. A [Map] holds what was made of such keys, by an id, and a [Cell] a single
// value, until a change is reported; [Link.On] registers their keys. A report can be late, or
// lost: the cable is slow, or cut. So no value is used before [Link.Confirm] has confirmed, less
// than a second ago, that all reports have arrived.
//
// A read that is only slow is waited for. A value that may be outdated is used only while a
// part of the database cannot be reached and others can ([Link.Read]), is counted, and never
// is where a change of it was reported.
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
	// Lag is for how long a value may be used although a change was reported, where many
	// change it: so that it is read about once a second at most. Together with what a
	// page is kept for it stays below a second.
	Lag = 750 * time.Millisecond
	// readingFor is how long a value may be used after Lag while a reader replaces it.
	readingFor = 100 * time.Millisecond
	// MaxAge is how long a value is used although no change was reported.
	MaxAge = time.Minute

	// confirmedFor is how old a confirmation may be, and renewAfter when the next
	// request begins another one.
	confirmedFor = 800 * time.Millisecond
	renewAfter   = 300 * time.Millisecond
	// confirmTimeout bounds a confirmation.
	confirmTimeout = 5 * time.Second
	// partlyPatience bounds a read that has a value to fall back on while a part of the
	// database cannot be reached, and skipFor is for how long there is no other such
	// read after one that failed.
	partlyPatience = 250 * time.Millisecond
	skipFor        = 500 * time.Millisecond
)

// Link is what a process knows of its connections to the database. It is safe for
// concurrent use.
type Link struct {
	// Probe reads from each part of the database through the connections that report
	// changes. Its error wraps [store.ErrPartly] where another part answers.
	probe   func(ctx context.Context) error
	watched bool

	epoch     atomic.Uint64 // the number of times that reports may have been lost
	confirmed atomic.Int64  // all reports of changes before this time have arrived, by package elapsed
	partly    atomic.Bool   // the last probe reached only a part of the database
	skipUntil atomic.Int64
	served    atomic.Int64

	changed map[string][]func(id int64) // by prefix; see On

	mu      sync.Mutex
	running *confirmation
}

type confirmation struct {
	began int64
	done  chan struct{} // closed when err is set
	err   error
}

// NewLink returns the Link of a process. Unless watched, the server reports no changes, and
// nothing is kept in memory.
func NewLink(watched bool, probe func(ctx context.Context) error) *Link {
	return &Link{probe: probe, watched: watched, changed: map[string][]func(int64){}}
}

// On has changed called with the id in each key of this prefix that has changed, and for the
// empty prefix where reports may have been lost. A key without an id is its own prefix, with the
// id 0. Those of the same prefix are called in the order of On. They must not wait: the
// connection to the database does. Call On before the first report.
func (l *Link) On(prefix string, changed func(id int64)) {
	l.changed[prefix] = append(l.changed[prefix], changed)
}

// Changed notes that a key has changed: one of this prefix, with an id.
func (l *Link) Changed(prefix string, id int64) {
	for _, changed := range l.changed[prefix] {
		changed(id)
	}
}

// Watched reports whether the server reports changes.
func (l *Link) Watched() bool { return l.watched }

// Lost notes that reports may have been lost: any key may have changed.
func (l *Link) Lost() {
	l.Changed("", 0)
	l.epoch.Add(1)
}

// Partly reports whether only a part of the database could be reached when it was probed
// last.
func (l *Link) Partly() bool { return l.partly.Load() }

// Served returns how often a value was used that may have been outdated.
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

// Confirm waits until all changes are in memory that were made before the call, or at most
// a second before. Call it before values are used for a request. While only a part of the
// database can be reached, it does not wait. No round trip for most requests, one for the
// first after a pause.
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
			return nil // a database that takes more than a second for an answer
		}
	}
}

// begin returns the confirmation that is running, or begins one.
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

// WithNote returns a context, and where it is noted that a value was used with it that may
// have been outdated.
func WithNote(ctx context.Context) (context.Context, *atomic.Bool) {
	note := new(atomic.Bool)
	return context.WithValue(ctx, noteKey{}, note), note
}

// Read reads what another value is in memory for, if hasOld. It reports whether the old
// value must do: while only a part of the database can be reached, and not the one that has
// the value. Otherwise it waits for the read.
func (l *Link) Read(ctx context.Context, hasOld bool, read func(context.Context) error) (useOld bool, err error) {
	if !hasOld || !l.Partly() {
		if err = read(ctx); !hasOld || !isUnreachable(ctx, err) {
			return false, err
		}
		if probed := l.Probe(ctx); !errors.Is(probed, store.ErrPartly) {
			return false, err
		}
	} else if elapsed.Now() >= l.skipUntil.Load() {
		bounded, cancel := context.WithTimeout(ctx, partlyPatience)
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

// isUnreachable reports whether a read failed although its caller still waits.
func isUnreachable(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && rediserr.Of(err) == rediserr.Unavailable
}
