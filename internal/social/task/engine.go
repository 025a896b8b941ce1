package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"retwis/internal/jobs"
	"retwis/internal/sleep"
)

const (
	// shortWorkers and longWorkers are how many jobs of each kind run in a process
	// at once. Long jobs write with pauses for other requests: two at once would
	// fill each other's pauses.
	shortWorkers = 4
	longWorkers  = 1
	mailWorkers  = 4
	// retryAfter is the pause after a try that failed, and after one that has done
	// all it could.
	retryAfter = time.Second
	// queueTimeout bounds the attempt to queue a task. What fails is found by Sweep.
	queueTimeout = 3 * time.Second
	// drainTimeout bounds the wait for the queues to be empty. Jobs of a process that
	// has just died are in them for longer.
	drainTimeout = 3 * time.Second
)

// Queues are those in which tasks wait.
type Queues struct{ Short, Long, Mail *jobs.Queue }

func (q Queues) all() []*jobs.Queue { return []*jobs.Queue{q.Short, q.Long, q.Mail} }

// ErrAgain: a task has done all it can for now, and will be repeated in a second.
var ErrAgain = jobs.ErrAgain

// ErrLater is ErrAgain for a task that waits for longer. It leaves its queue, where others would
// wait behind it, and stays in the ledger until Sweep queues it again, some ten seconds later.
var ErrLater = fmt.Errorf("%w later", jobs.ErrAgain)

// ErrElsewhere: this process cannot do a task, whose kind it does not know, or which needs what only
// others have. The task is left to them.
var ErrElsewhere = errors.New("social: another process can do this task")

// Func runs a task, by the argument of its member.
type Func func(ctx context.Context, argument string) error

type kind struct {
	run   Func
	queue *jobs.Queue
}

// Engine runs tasks. Each is named by a text, "<kind>:<argument>", which is a member
// of the ledger until the task is finished, and can be run again from its beginning at
// any time. The function of its kind is set by Handle. An Engine is safe for
// concurrent use.
//
// Tasks wait in three queues, so that short ones do not wait for long ones, and none for a mail
// server.
type Engine struct {
	ledger    *Ledger
	log       *slog.Logger
	queues    Queues
	mails     bool // this process sends mails
	kinds     map[string]kind
	keptSlots chan struct{} // see keptWorkers

	ctx    context.Context
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// NewEngine returns an engine on a ledger, which it runs, and queues. Start starts it, and Close
// ends it.
func NewEngine(ledger *Ledger, queues Queues, log *slog.Logger) *Engine {
	e := &Engine{ledger: ledger, log: log, queues: queues, kinds: map[string]kind{}, keptSlots: make(chan struct{}, keptWorkers)}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Handle sets the function of a kind of task. Call it before Start.
func (e *Engine) Handle(name string, run Func) { e.kinds[name] = kind{run, e.queues.Short} }

// HandleLong is Handle for tasks that take more than a moment.
func (e *Engine) HandleLong(name string, run Func) { e.kinds[name] = kind{run, e.queues.Long} }

// HandleMail is Handle for tasks that wait for a mail server. A process that has none leaves them
// in their queue: its function only ends those that nobody can do any more, and returns ErrAgain
// for the others.
func (e *Engine) HandleMail(name string, run Func, hasServer bool) {
	e.kinds[name], e.mails = kind{run, e.queues.Mail}, hasServer
}

// Start starts the ledger, and with works the jobs in the queues.
func (e *Engine) Start(works bool) {
	e.worker.Go(func() { e.ledger.Run(e.ctx) })
	if works {
		e.worker.Go(func() { e.queues.Short.Work(e.ctx, shortWorkers, e.do) })
		e.worker.Go(func() { e.queues.Long.Work(e.ctx, longWorkers, e.do) })
		if e.mails {
			e.worker.Go(func() { e.queues.Mail.Work(e.ctx, mailWorkers, e.do) })
		}
	}
}

// Close stops the tasks in the background and waits for them. Other processes go on with
// them.
func (e *Engine) Close() {
	e.stop()
	e.worker.Wait()
}

// Note adds tasks to the ledger, before their first write: from now on they will be
// finished, whatever interrupts them. One that is noted alone is noted again should a
// failover lose it. One round trip for a thousand.
func (e *Engine) Note(ctx context.Context, members ...string) error {
	if len(members) != 1 {
		return e.ledger.Note(ctx, members...)
	}
	masters, _ := e.ledger.observer.Identity(ctx) // on an error it is noted again
	if err := e.ledger.NoteFull(ctx, members[0]); err != nil {
		return err
	}
	e.ledger.Watch(ctx, e.work(members[0], masters))
	return nil
}

// Masters is the identity of the masters; see Observer.Identity. A task that relies on what
// was done outside of it looks whether that was done under the same.
func (e *Engine) Masters(ctx context.Context) (string, error) {
	return e.ledger.observer.Identity(ctx)
}

// Run runs a task that was noted, to its end. A task that fails goes on in the
// background, and its error is logged only.
func (e *Engine) Run(ctx context.Context, member string) {
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	if err := e.run(ctx, member); err != nil {
		e.later(ctx, member, err)
	}
}

// later leaves a task to the background that was interrupted by an error, or by ErrAgain.
func (e *Engine) later(ctx context.Context, member string, err error) {
	if !errors.Is(err, ErrAgain) {
		e.log.WarnContext(ctx, "a task was interrupted, to be finished later", "task", member, "error", err)
	}
	e.Queue(member)
}

// Do notes a task and does what it does: first what the caller has to know, and then the rest.
// It returns the error of first; what fails after it goes on in the background, by the
// function of the task, as does what a crash cuts short. After an error of first, which can
// hide a success, or without rest, that function runs at once.
func (e *Engine) Do(ctx context.Context, member string, first, rest func(ctx context.Context) error) error {
	if err := e.Note(ctx, member); err != nil {
		return err
	}
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	masters, unknown := e.ledger.observer.Identity(ctx)
	if err := first(ctx); err != nil || rest == nil || unknown != nil {
		e.Run(ctx, member)
		return err
	}
	err := rest(ctx)
	if err == nil {
		err = e.ledger.Finish(ctx, e.work(member, masters))
	}
	if err != nil {
		e.later(ctx, member, err)
	}
	return nil
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
		if !sleep.For(ctx, retryAfter) {
			return fmt.Errorf("social: task %.40q: %w", member, ctx.Err())
		}
	}
}

// Queue leaves a task that was noted to the background. One round trip. Where it cannot
// be queued, Sweep finds it later.
func (e *Engine) Queue(member string) {
	if err := e.add(e.ctx, member); err != nil && e.ctx.Err() == nil {
		e.log.Warn("a task could not be queued, to be finished later", "task", member, "error", err)
	}
}

// add adds a job to the queue of its kind.
func (e *Engine) add(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	return queueOf(e, member).Add(ctx, member)
}

// queueOf returns the queue in which a task waits.
func queueOf(e *Engine, member string) *jobs.Queue {
	name, _, _ := strings.Cut(member, ":")
	return cmp.Or(e.kinds[name].queue, e.queues.Short)
}

// function returns the function of a task, bound to its argument.
func (e *Engine) function(member string) (func(ctx context.Context) error, error) {
	name, argument, _ := strings.Cut(member, ":")
	k, ok := e.kinds[name]
	if !ok {
		return nil, fmt.Errorf("%w: %.40q is not known", ErrElsewhere, member)
	}
	return func(ctx context.Context) error { return k.run(ctx, argument) }, nil
}

// once runs a task once, and returns what is left to confirm.
func (e *Engine) once(ctx context.Context, member string) (Work, error) {
	run, err := e.function(member)
	if err != nil {
		return Work{}, err
	}
	masters, err := e.ledger.observer.Identity(ctx)
	if err != nil {
		return Work{}, err
	}
	if err := run(ctx); err != nil {
		return Work{}, err
	}
	return e.work(member, masters), nil
}

// work is a task that was written under the identity of masters.
func (e *Engine) work(member, masters string) Work {
	return Work{Member: member, Masters: masters, Repeat: func() { e.repeat(member) }}
}

// run runs a task once, and finishes it.
func (e *Engine) run(ctx context.Context, member string) error {
	work, err := e.once(ctx, member)
	if err != nil {
		return err
	}
	return e.ledger.Finish(ctx, work)
}

// do runs a job. It is done when the ledger has confirmed it.
func (e *Engine) do(ctx context.Context, member string) (<-chan struct{}, error) {
	e.ledger.Hold(member)
	defer e.ledger.Release(member)
	work, err := e.once(ctx, member)
	if errors.Is(err, ErrElsewhere) {
		e.log.Warn("left a task to another process", "task", member)
		return nil, nil // it stays in the ledger
	}
	if errors.Is(err, ErrLater) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.ledger.Submit(ctx, work)
}

// Forget removes a task from the ledger that was given up.
func (e *Engine) Forget(ctx context.Context, member string) error {
	return e.ledger.Forget(ctx, member)
}

// repeat runs a task again after a failover, which can have lost its member too.
func (e *Engine) repeat(member string) {
	e.worker.Go(func() {
		e.ledger.Hold(member)
		defer e.ledger.Release(member)
		for e.Note(e.ctx, member) != nil {
			if !sleep.For(e.ctx, retryAfter) {
				return
			}
		}
		e.Queue(member)
	})
}

// waiting returns the jobs that wait in the queues, or that a process holds.
func (e *Engine) waiting(ctx context.Context) (Queued, error) {
	all := Queued{Jobs: map[string]bool{}}
	for _, queue := range e.queues.all() {
		if queue == e.queues.Mail && !e.mails {
			continue // perhaps no process ever works in it again
		}
		some, until, err := queue.Waiting(ctx, maxWaiting)
		if err != nil {
			return Queued{}, err
		}
		if !until.IsZero() && (all.Until.IsZero() || until.Before(all.Until)) {
			all.Until = until
		}
		maps.Copy(all.Jobs, some)
	}
	return all, nil
}

// Sweep queues the tasks again that no process and no queue has; see Ledger.Sweep. Where
// the queues cannot be written, it runs them itself.
func (e *Engine) Sweep(ctx context.Context) error {
	return e.ledger.Sweep(ctx, e.waiting, func(ctx context.Context, member string) error {
		if _, err := e.function(member); err != nil {
			return nil // left to a process that knows it
		}
		if queueOf(e, member) == e.queues.Mail && !e.mails {
			if err := e.run(ctx, member); !errors.Is(err, ErrAgain) {
				return err
			}
			return nil // left to a process with a mail server
		}
		if err := e.add(ctx, member); err != nil {
			e.log.WarnContext(ctx, "a task could not be queued", "task", member, "error", err)
			return e.claimed(ctx, member)
		}
		e.log.DebugContext(ctx, "a task goes on that was interrupted, or has waited", "task", member)
		return nil
	})
}

// RetryAll finishes the tasks that dead processes left unfinished, in this process; see
// Ledger.Retry. Then it empties the queues, as far as that is possible at once.
func (e *Engine) RetryAll(ctx context.Context) error {
	err := e.ledger.Retry(ctx, e.claimed)
	drain, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for _, queue := range []*jobs.Queue{e.queues.Short, e.queues.Long} {
		if err := queue.Drain(drain); err != nil && drain.Err() == nil {
			e.log.WarnContext(ctx, "the queues of jobs cannot be emptied", "error", err)
		}
	}
	return err
}

func (e *Engine) claimed(ctx context.Context, member string) error {
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

// Claim claims a task that was last renewed at stale (unix seconds) or earlier, and
// finishes it. It reports whether this process got the claim and could do that: a task
// of a kind that only a newer version knows is left to it.
func (e *Engine) Claim(ctx context.Context, member string, stale int64) (bool, error) {
	claimed, err := e.ledger.Claim(ctx, member, stale)
	if err != nil || !claimed {
		return false, err
	}
	if err := e.claimed(ctx, member); !errors.Is(err, ErrElsewhere) {
		return true, err
	}
	return false, nil
}

// Confirm ends tasks that the caller has written itself, as soon as they cannot be lost any
// more. It waits for that until timeout; later the background goes on. masters is the
// identity of the masters before their first write.
func (e *Engine) Confirm(ctx context.Context, members []string, masters string, timeout time.Duration) error {
	all := make([]<-chan struct{}, len(members))
	for i, member := range members {
		var err error
		if all[i], err = e.ledger.Submit(ctx, e.work(member, masters)); err != nil {
			return err
		}
	}
	end := time.After(timeout)
	for _, dropped := range all {
		select {
		case <-dropped:
		case <-e.ctx.Done():
			return nil
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
