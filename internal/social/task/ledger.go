// Package task guarantees that background work is finished, whatever interrupts it.
//
// A Ledger is a sorted set of unfinished work: each member describes work that can be
// repeated from its beginning, scored by the time at which its process last renewed
// its claim. A member is there from before the first write until all is written and
// the replicas have confirmed that. An Engine runs what its ledger has: the fan-out of a
// post, say, or its deletion.
//
// A ledger says what must be done; the queues of package jobs say who does it. Work that
// waits in a queue, or that a process does as a job, is begun again by another process a
// few seconds after its own has died. What a process does without a queue, and what a
// queue has lost in a failover, is found by Engine.Sweep: a member that was not renewed
// for a while, and that no queue has, is queued again.
package task

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
)

//go:embed claim.lua
var claimSource string

var claimScript = script.New(claimSource).Retryable()

//go:embed note.lua
var noteSource string

var noteScript = script.New(noteSource).Retryable()

// maxSubmitted bounds what was submitted and not yet looked at.
const maxSubmitted = 1024

// staleAtOnce is how much stale work is read at a time.
const staleAtOnce = 50

// maxNoted bounds the members that one command adds.
const maxNoted = 1000

// Work is what a member of a ledger describes.
type Work struct {
	Member string
	// Masters is the identity of the masters before the first write; see
	// Observer.Identity. Empty: the work is repeated.
	Masters string
	// Repeat begins the work again from its beginning. It must not wait.
	Repeat func()

	watched bool // left to others: its member stays
}

// Ledger is a sorted set of unfinished work. It is safe for concurrent use.
type Ledger struct {
	client   rueidis.Client
	key      string
	log      *slog.Logger
	now      func() time.Time
	observer *Observer
	claims   claims

	done        chan struct{} // closed when Run ends
	unconfirmed chan *written
	// For Run alone:
	waiting     []*written
	replicaSeen map[string]time.Time // by address of the master
	failing     bool
	conn        *pinned // to the only master; nil on a Cluster
}

// NewLedger returns the ledger at key. Run must run while it is used.
func NewLedger(client rueidis.Client, key string, observer *Observer, log *slog.Logger, now func() time.Time) *Ledger {
	return &Ledger{
		client: client, key: key, log: log, now: now, observer: observer,
		done: make(chan struct{}), unconfirmed: make(chan *written, maxSubmitted), replicaSeen: map[string]time.Time{},
	}
}

// Note adds members, or renews them. One round trip for each 1,000.
func (l *Ledger) Note(ctx context.Context, members ...string) error {
	now := float64(l.now().Unix())
	for some := range slices.Chunk(members, maxNoted) {
		add := l.client.B().Zadd().Key(l.key).ScoreMember()
		for _, member := range some {
			add = add.ScoreMember(now, member)
		}
		if err := l.client.Do(ctx, add.Build().ToRetryable()).Error(); err != nil {
			return fmt.Errorf("social: key %s: %w", l.key, err)
		}
	}
	return nil
}

// NoteFull is Note for one member, and works where the memory of the server is full: the
// work may free some. One round trip, two where it is full.
func (l *Ledger) NoteFull(ctx context.Context, member string) error {
	err := l.Note(ctx, member)
	if rediserr.Of(err) != rediserr.WritesRefused {
		return err
	}
	err = noteScript.Run(ctx, l.client, []string{l.key}, []string{member, layout.Seconds(l.now())}).Error()
	if err != nil {
		return fmt.Errorf("social: key %s: %w", l.key, err)
	}
	return nil
}

// Forget removes members whose work is not needed any more. One round trip.
func (l *Ledger) Forget(ctx context.Context, members ...string) error {
	return l.remove(ctx, l.client, members)
}

func (l *Ledger) remove(ctx context.Context, conn rueidis.CoreClient, members []string) error {
	err := conn.Do(ctx, conn.B().Zrem().Key(l.key).Member(members...).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: key %s: %w", l.key, err)
	}
	return nil
}

// Hold keeps a member claimed by this process until Release.
func (l *Ledger) Hold(member string) { l.claims.add(member) }

// Release ends a Hold.
func (l *Ledger) Release(member string) { l.claims.remove(member) }

// Claims returns on how many members this process works.
func (l *Ledger) Claims() int { return len(l.claims.all()) }

// Finish removes the member of work that is written, as soon as it cannot be lost any
// more: before it returns where there are no replicas, else in the background,
// together with others. An error is ctx's.
func (l *Ledger) Finish(ctx context.Context, work Work) error {
	w, err := l.submit(ctx, work)
	if err != nil || l.observer.replicated() {
		return err
	}
	select {
	case <-w.looked:
		return nil
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("social: key %s: %w", l.key, ctx.Err())
	}
}

// Submit is Finish in the background. The channel is closed when the member is
// removed, or left to another process.
func (l *Ledger) Submit(ctx context.Context, work Work) (<-chan struct{}, error) {
	w, err := l.submit(ctx, work)
	if err != nil {
		return nil, err
	}
	return w.dropped, nil
}

// Watch repeats work that is left to other processes should a failover lose its member,
// until a replica of each master that has one has that. Call it after Note.
func (l *Ledger) Watch(ctx context.Context, work Work) {
	if !l.observer.replicated() {
		return
	}
	work.watched = true
	_, _ = l.submit(ctx, work) // where ctx ends, so does this process
}

func (l *Ledger) submit(ctx context.Context, work Work) (*written, error) {
	w := &written{Work: work, since: time.Now(), looked: make(chan struct{}), dropped: make(chan struct{})}
	l.Hold(work.Member)
	select {
	case l.unconfirmed <- w:
		return w, nil
	case <-l.done: // it stays in the set
		l.Release(work.Member)
		return w, nil
	case <-ctx.Done():
		l.Release(work.Member)
		return nil, fmt.Errorf("social: key %s: %w", l.key, ctx.Err())
	}
}

// Run confirms and renews until ctx ends. What is not confirmed by then stays in the
// set.
func (l *Ledger) Run(ctx context.Context) {
	defer close(l.done)
	defer l.hangUp()
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	renewal := time.NewTicker(renewEvery)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-l.unconfirmed:
			l.take(w)
			if l.observer.replicated() {
				continue // the next tick looks
			}
		case <-tick.C:
			if len(l.waiting) == 0 {
				continue
			}
		case <-renewal.C:
			l.Renew(ctx)
		}
		l.round(ctx)
	}
}

// Renew tells other processes that the work of this one is not abandoned.
func (l *Ledger) Renew(ctx context.Context) {
	if err := l.renew(ctx, l.claims.all()); err != nil && ctx.Err() == nil {
		l.log.Warn("cannot renew the claim on unfinished work", "error", err)
	}
}

// renew renews members that are still there.
func (l *Ledger) renew(ctx context.Context, all []string) error {
	now := float64(l.now().Unix())
	for members := range slices.Chunk(all, maxBatch) {
		add := l.client.B().Zadd().Key(l.key).Xx().Gt().ScoreMember()
		for _, member := range members {
			add = add.ScoreMember(now, member)
		}
		if err := l.client.Do(ctx, add.Build().ToRetryable()).Error(); err != nil {
			return fmt.Errorf("social: key %s: %w", l.key, err)
		}
	}
	return nil
}

// Stale is the latest time of renewal (unix seconds) of work whose process counts as
// dead.
func (l *Ledger) Stale() int64 { return l.now().Add(-StaleAfter).Unix() }

// Claim claims a member that was last renewed at stale or earlier, and reports whether
// this process has the claim.
func (l *Ledger) Claim(ctx context.Context, member string, stale int64) (bool, error) {
	return claimScript.Run(ctx, l.client, []string{l.key},
		[]string{member, layout.Itoa(stale), layout.Seconds(l.now())}).AsBool()
}

// Retry calls finish with each member that a dead process has left, after it has
// claimed it. One that fails does not delay the others: it is logged, left for a later
// call, and counted in the error that comes back at the end.
func (l *Ledger) Retry(ctx context.Context, finish func(ctx context.Context, member string) error) error {
	var failed int
	var first error
	for {
		stale := l.Stale()
		members, err := l.client.Do(ctx, l.client.B().Zrangebyscore().Key(l.key).
			Min("-inf").Max(layout.Itoa(stale)).Limit(0, staleAtOnce).Build()).AsStrSlice()
		if err != nil {
			return fmt.Errorf("social: key %s: %w", l.key, err)
		}
		if len(members) == 0 {
			break
		}
		for _, member := range members {
			claimed, err := l.Claim(ctx, member, stale)
			if err == nil && claimed {
				err = finish(ctx, member)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("social: key %s: %w", l.key, ctx.Err())
			}
			if err != nil {
				l.log.WarnContext(ctx, "cannot finish what was interrupted, trying again later", "key", l.key, "member", member, "error", err)
				failed++
				if first == nil {
					first = err
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("social: %d members of %s could not be finished, the first: %w", failed, l.key, first)
	}
	return nil
}
