package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"retwis/internal/social/pause"
)

const (
	// maxTasks bounds the tasks that wait in memory. Past it they wait in the
	// database.
	maxTasks = 1024
	// workers is how many tasks run in the background at once.
	workers = 4
	// retryAfter is the pause after a task that failed, and maxFailures how often in
	// a row one may fail before it is left to ResumeAll.
	retryAfter  = time.Second
	maxFailures = 60
)

// ErrAgain: a task has done all it can for now, and will be repeated in a second.
var ErrAgain = errors.New("social: to be repeated")

// errUnknown: the kind of a task is not known to this process.
var errUnknown = errors.New("social: unknown kind of task")

// Engine runs tasks. Each is named by a text, "<kind>:<argument>", which is a member
// of the ledger until the task is finished, and can be run again from its beginning at
// any time. The function of its kind is set by Handle. An Engine is safe for
// concurrent use.
type Engine struct {
	ledger *Ledger
	log    *slog.Logger
	kinds  map[string]func(ctx context.Context, argument string) error

	queue  chan queued
	ctx    context.Context
	stop   context.CancelFunc
	worker sync.WaitGroup
}

type queued struct {
	member string
	failed int
}

// NewEngine returns an engine on a ledger, which it runs. Start starts it, and Close
// ends it.
func NewEngine(ledger *Ledger, log *slog.Logger) *Engine {
	e := &Engine{
		ledger: ledger, log: log, queue: make(chan queued, maxTasks),
		kinds: map[string]func(ctx context.Context, argument string) error{},
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Handle sets the function of a kind of task. Call it before the first task of the kind.
func (e *Engine) Handle(kind string, run func(ctx context.Context, argument string) error) {
	e.kinds[kind] = run
}

// Start starts the background.
func (e *Engine) Start() {
	e.worker.Go(func() { e.ledger.Run(e.ctx) })
	for range workers {
		e.worker.Go(e.work)
	}
}

// Close stops the tasks in the background and waits for them. Unfinished ones stay in
// the ledger, for ResumeAll.
func (e *Engine) Close() {
	e.stop()
	e.worker.Wait()
}

// Note adds a task to the ledger, before its first write: from now on it will be
// finished, whatever interrupts it. One round trip.
func (e *Engine) Note(ctx context.Context, member string) error {
	return e.ledger.NoteFull(ctx, member)
}

// Run runs a task that was noted, to its end. A task that fails goes on in the
// background, and its error is logged only.
func (e *Engine) Run(ctx context.Context, member string) {
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	if err := e.run(ctx, member); err != nil {
		if !errors.Is(err, ErrAgain) {
			e.log.WarnContext(ctx, "a task was interrupted, to be finished later", "task", member, "error", err)
		}
		e.Queue(member)
	}
}

// Finish runs a task that was noted to its end, as often as it has to be repeated.
func (e *Engine) Finish(ctx context.Context, member string) error {
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	for {
		err := e.run(ctx, member)
		if !errors.Is(err, ErrAgain) {
			return err
		}
		if !pause.For(ctx, retryAfter) {
			return fmt.Errorf("social: task %.40q: %w", member, ctx.Err())
		}
	}
}

// Queue leaves a task that was noted to the background.
func (e *Engine) Queue(member string) { e.enqueue(queued{member: member}) }

func (e *Engine) enqueue(q queued) {
	e.ledger.Hold(q.member)
	select {
	case e.queue <- q:
	default:
		e.ledger.Release(q.member)
		e.log.Warn("too many tasks at once, one to be finished later", "task", q.member)
	}
}

// run runs a task once.
func (e *Engine) run(ctx context.Context, member string) error {
	kind, argument, _ := strings.Cut(member, ":")
	do, ok := e.kinds[kind]
	if !ok {
		return fmt.Errorf("%w: %.40q", errUnknown, member)
	}
	masters, err := e.ledger.observer.Identity(ctx)
	if err != nil {
		return err
	}
	if err := do(ctx, argument); err != nil {
		return err
	}
	return e.ledger.Finish(ctx, Work{Member: member, Masters: masters, Repeat: func() { e.repeat(member) }})
}

// repeat runs a task again after a failover, which can have lost its member too.
func (e *Engine) repeat(member string) {
	e.worker.Go(func() {
		e.ledger.Hold(member)
		defer e.ledger.Release(member)
		for e.ledger.Note(e.ctx, member) != nil {
			if !pause.For(e.ctx, retryAfter) {
				return
			}
		}
		e.Queue(member)
	})
}

func (e *Engine) work() {
	for {
		select {
		case <-e.ctx.Done():
			return
		case q := <-e.queue:
			e.workOn(q)
		}
	}
}

func (e *Engine) workOn(q queued) {
	defer e.ledger.Release(q.member)
	err := e.run(e.ctx, q.member)
	switch {
	case err == nil, e.ctx.Err() != nil:
		return
	case errors.Is(err, errUnknown):
		e.log.Warn("left a task to another process", "task", q.member)
		return
	case q.failed >= maxFailures:
		e.log.Warn("a task was interrupted, to be finished later", "task", q.member, "error", err)
		return
	case !errors.Is(err, ErrAgain):
		e.log.Warn("a task was interrupted, trying again", "task", q.member, "error", err, "in", retryAfter.String())
	}
	e.ledger.Hold(q.member)
	time.AfterFunc(retryAfter, func() {
		defer e.ledger.Release(q.member)
		e.enqueue(queued{member: q.member, failed: q.failed + 1})
	})
}

// ResumeAll finishes the tasks that dead processes left unfinished; see
// Ledger.Resume.
func (e *Engine) ResumeAll(ctx context.Context) error {
	return e.ledger.Resume(ctx, e.resume)
}

func (e *Engine) resume(ctx context.Context, member string) error {
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	err := e.run(ctx, member)
	switch {
	case errors.Is(err, ErrAgain):
		e.Queue(member)
		return nil
	case err == nil:
		e.log.InfoContext(ctx, "finished an interrupted task", "task", member)
	}
	return err
}

// Take claims a task that was last renewed at stale (unix seconds) or earlier, and
// finishes it. It reports whether this process got the claim and could do that: a task
// of a kind that only a newer version knows is left to it.
func (e *Engine) Take(ctx context.Context, member string, stale int64) (bool, error) {
	claimed, err := e.ledger.Take(ctx, member, stale)
	if err != nil || !claimed {
		return false, err
	}
	if err := e.resume(ctx, member); !errors.Is(err, errUnknown) {
		return true, err
	}
	return false, nil
}
