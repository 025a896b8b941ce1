// Package work runs background tasks, and guarantees that they finish, whatever interrupts them.
//
// A task is a text, "<kind>:<argument>", that can be run again from its beginning at any time. The
// task is a member of one sorted set from before its first write until everything is written and,
// if there are replicas, every replica of each master has the writes. The score is the time at
// which the task is due, in microseconds of the server's clock. A process that runs a task holds a
// lease on the task, which the process renews. If the process dies, the task is due when the lease
// expires, and another process starts the task again, before new tasks. The score is also the token
// of the lease: a process finishes a task by naming the score that it has set, so it cannot finish
// a task that another process has started again.
//
//   - An Engine runs work that a caller waits for as a task (Do), and work that can wait (Queue).
//   - A task that fails is retried with exponential back-off. After a number of tries it becomes a
//     dead letter, which an operator can read and retry. So does a task that kills each process
//     that runs it.
//   - There are three classes of tasks, each with a band of scores, so that short tasks do not wait
//     for long ones, and neither waits for a mail server.
//   - An idle process waits in one BLPOP, which an addition ends, and polls for due tasks every
//     five seconds.
//   - Periodic work is in another sorted set, by due time; see Repeat.
//   - Work that an Engine has acknowledged is on all replicas of each master; see fence.go. If a
//     write may be missing there, the error is social.ErrUncertain.
package work

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
)

// Library is shared by the scripts. Scripts of other packages use it to lease a task together with
// their own writes: lease(key, class, member, now() + microseconds) returns the token.
//
//go:embed lib.lua
var Library string

var (
	//go:embed add.lua
	addSource string
	addScript = script.New(Library, addSource).Retryable()

	//go:embed claim.lua
	claimSource string
	claimScript = script.New(Library, claimSource)

	//go:embed take.lua
	takeSource string
	takeScript = script.New(Library, takeSource)

	//go:embed renew.lua
	renewSource string
	renewScript = script.New(Library, renewSource)

	//go:embed finish.lua
	finishSource string
	finishScript = script.New(Library, finishSource)

	//go:embed leave.lua
	leaveSource string
	leaveScript = script.New(Library, leaveSource)

	//go:embed beat.lua
	beatSource string
	beatScript = script.New(Library, beatSource).Retryable()
)

// Lease is the time for which a process holds a task without renewing the lease.
const Lease = 5 * time.Second

// LeaseText is Lease in microseconds, for scripts that lease a task.
var LeaseText = micros(Lease)

const (
	// noteLease is the time after Note before other processes start the task.
	noteLease = 15 * time.Second
	// againPause is the pause after ErrAgain.
	againPause = time.Second
	// laterPause is the pause after ErrLater.
	laterPause = 10 * time.Second
	// outagePause is the pause after a try that failed because a server was unavailable.
	outagePause = 2 * time.Second
	// firstPause and maxPause are the pauses after the first failure and after many failures. Each
	// pause is three times as long as the previous one.
	firstPause = time.Second
	maxPause   = 5 * time.Minute
	// maxTries is the maximum number of tries of a task, which take about half an hour. An email is
	// tried until it is too old.
	maxTries     = 12
	maxMailTries = 1000
	// commandTimeout limits a command that no caller waits for.
	commandTimeout = 3 * time.Second
	// maxAdded limits the number of tasks that one command adds.
	maxAdded = 1000
)

var (
	// ErrAgain means that the task has done all it can for now, and is to be repeated in a second.
	// It is not a failure.
	ErrAgain = errors.New("work: to be repeated")
	// ErrLater is like ErrAgain, but the task is repeated in ten seconds.
	ErrLater = fmt.Errorf("%w later", ErrAgain)
	// ErrElsewhere means that this process lacks something that the task needs. The task is left to
	// other processes.
	ErrElsewhere = errors.New("work: another process can do this task")
	// errLost means that another process holds the task.
	errLost = errors.New("work: the lease was lost")
)

// Class is a class of tasks.
type Class int

// The classes, in the order of their bands.
const (
	Short Class = iota
	Long
	Mail
	classes
)

func (c Class) String() string { return [classes]string{"short", "long", "mail"}[c] }

// Func runs a task, given the argument of its member.
type Func func(ctx context.Context, argument string) error

// kind is a kind of tasks.
type kind struct {
	run   Func
	class Class
}

// Engine runs tasks. It is safe for concurrent use.
type Engine struct {
	client rueidis.Client
	log    *slog.Logger
	kinds  map[string]kind
	mails  bool // this process sends mail
	fence  *fence
	ended  chan *ended // tasks to be finished

	ctx    context.Context
	stop   context.CancelFunc
	worker sync.WaitGroup
	works  atomic.Bool

	unsettled atomic.Int64  // tasks claimed but not started, or ended but not examined
	added     chan struct{} // signals that this process has queued a task
	freed     chan struct{} // signals that a slot is free
	running   [classes]atomic.Int64
	counts    [classes]counters
	poll      time.Duration // the maximum interval between polls
	backlog   atomic.Int64
	counted   atomic.Int64 // when backlog was read, in nanoseconds

	mu   sync.Mutex
	held map[*Held]struct{}
}

// counters count the tasks of a class in this process.
type counters struct{ done, failed, dead, lost, reclaimed atomic.Int64 }

// New returns an engine on the database of client, which the caller must close. Start starts the
// engine, and Close stops it.
func New(client rueidis.Client, log *slog.Logger) *Engine {
	e := &Engine{
		client: client, log: log, kinds: map[string]kind{}, fence: newFence(client, log), ended: make(chan *ended, 1024),
		added: make(chan struct{}, 1), freed: make(chan struct{}, 1), held: map[*Held]struct{}{}, poll: poll,
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Handle sets the function of a kind of task. Call it before Start.
func (e *Engine) Handle(name string, run Func) { e.kinds[name] = kind{run, Short} }

// HandleLong is like Handle for tasks that take more than a moment.
func (e *Engine) HandleLong(name string, run Func) { e.kinds[name] = kind{run, Long} }

// HandleMail is like Handle for tasks that wait for a mail server. A process without a mail server
// takes only tasks that have been due for long: its function ends the tasks that no process can run
// any more, and returns ErrAgain for the others.
func (e *Engine) HandleMail(name string, run Func, hasServer bool) {
	e.kinds[name], e.mails = kind{run, Mail}, hasServer
}

// Start starts the engine. If works is set, it also runs tasks that other processes have queued or
// left unfinished.
func (e *Engine) Start(works bool) {
	e.worker.Go(e.settle)
	e.worker.Go(e.renewUntilClosed)
	if works {
		e.works.Store(true)
		e.worker.Go(e.work)
	}
}

// Close stops the background tasks and waits for them. Other processes take over unfinished tasks
// immediately.
func (e *Engine) Close() {
	e.stop()
	e.worker.Wait()
	e.mu.Lock()
	unfinished := slices.Collect(maps.Keys(e.held))
	e.mu.Unlock()
	for _, h := range unfinished {
		e.leave(h, 0, false)
	}
}

// Beat records that this process serves the site, until ctx ends.
func (e *Engine) Beat(ctx context.Context) {
	name := processName()
	beat := func(ctx context.Context, ms int) {
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		err := beatScript.Run(ctx, e.client, []string{storage.Processes}, []string{name, strconv.Itoa(ms)}).Error()
		if err != nil && ctx.Err() == nil {
			e.log.Debug("cannot record that this process is running", "key", storage.Processes, "error", err)
		}
	}
	for {
		beat(ctx, int(3*Lease/time.Millisecond))
		if !sleep.For(ctx, Lease) {
			beat(context.WithoutCancel(ctx), 0)
			return
		}
	}
}

// Served reports whether a process has served the site within the last fifteen seconds.
func Served(ctx context.Context, client rueidis.Client) (bool, error) {
	return client.Do(ctx, client.B().Exists().Key(storage.Processes).Build()).AsBool()
}

// classOf returns the class of a task.
func (e *Engine) classOf(member string) Class {
	name, _, _ := strings.Cut(member, ":")
	return e.kinds[name].class // Short if unknown
}

// call runs the function of a task once.
func (e *Engine) call(ctx context.Context, member string) error {
	name, argument, _ := strings.Cut(member, ":")
	k, ok := e.kinds[name]
	if !ok {
		return fmt.Errorf("%w: %.40q is not known", ErrElsewhere, member)
	}
	return k.run(ctx, argument)
}

// micros formats a duration in microseconds.
func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

// add adds tasks, and returns their tokens and the replication history. One round trip per
// thousand.
func (e *Engine) add(ctx context.Context, lease time.Duration, members []string) (tokens []string, history string, err error) {
	var calls []script.Call
	var chunks [][]int // the indexes of the members of each call
	for class := range classes {
		var indexes []int
		for i, member := range members {
			if e.classOf(member) == class {
				indexes = append(indexes, i)
			}
		}
		for chunk := range slices.Chunk(indexes, maxAdded) {
			args := []string{strconv.Itoa(int(class)), micros(lease)}
			for _, i := range chunk {
				args = append(args, members[i])
			}
			calls = append(calls, script.Call{Keys: []string{storage.Tasks, storage.WakeKey(int(class))}, Args: args})
			chunks = append(chunks, chunk)
		}
	}
	tokens = make([]string, len(members))
	for c, res := range addScript.RunMany(ctx, e.client, calls) {
		reply, err := res.AsStrSlice()
		if err != nil {
			return nil, "", fmt.Errorf("social: key %s: %w", storage.Tasks, err)
		}
		history = reply[0]
		for i, token := range reply[1:] {
			tokens[chunks[c][i]] = token
		}
	}
	if lease == 0 {
		select {
		case e.added <- struct{}{}:
		default:
		}
	}
	return tokens, history, nil
}

// Note records tasks before their first write. From then on the tasks will be finished, whatever
// interrupts them. Other processes start the tasks fifteen seconds later, or when Queue is called.
// One round trip per thousand.
func (e *Engine) Note(ctx context.Context, members ...string) error {
	_, history, err := e.add(ctx, noteLease, members)
	if err != nil {
		return err
	}
	return e.Fenced(ctx, e.fence.since(ctx, history))
}

// Queue leaves recorded tasks to any process. One round trip. If the command fails, the tasks start
// a few seconds later.
func (e *Engine) Queue(members ...string) {
	if len(members) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(e.ctx, commandTimeout)
	defer cancel()
	if _, _, err := e.add(ctx, 0, members); err != nil && e.ctx.Err() == nil {
		e.log.Warn("cannot queue a task; it will be finished later", "task", members[0], "error", err)
	}
}

// Add is like Queue, for tasks that were not recorded with Note.
func (e *Engine) Add(ctx context.Context, members ...string) error {
	if len(members) == 0 {
		return nil
	}
	_, _, err := e.add(ctx, 0, members)
	return err
}

// Mark identifies the last known replication histories of all masters. Fenced with this mark
// returns nil only if the writes since then are kept. If the mark is outdated, Fenced returns an
// error.
func (e *Engine) Mark(ctx context.Context) string { return e.fence.mark(ctx) }

// Fenced waits until the replicas of all masters have everything that this process has written so
// far. It returns social.ErrUncertain if some of the writes may be lost. It returns immediately if
// there are no replicas, or while the replicas do not answer.
func (e *Engine) Fenced(ctx context.Context, mark string) error {
	if !e.fence.replicated() {
		return nil
	}
	return e.submit(ctx, &ended{mark: mark, result: make(chan error, 1)})
}

// Begin adds tasks that this process runs now. From then on the tasks will be finished, whatever
// interrupts them. The caller must call End or Later for the tasks. One round trip per thousand.
func (e *Engine) Begin(ctx context.Context, members ...string) ([]*Held, error) {
	tokens, history, err := e.add(ctx, Lease, members)
	if err != nil {
		return nil, err
	}
	mark, held := e.fence.since(ctx, history), make([]*Held, len(members))
	for i, member := range members {
		held[i] = e.hold(member, tokens[i], mark)
	}
	return held, nil
}

// begin is Begin for one task.
func (e *Engine) begin(ctx context.Context, member string) (*Held, error) {
	held, err := e.Begin(ctx, member)
	if err != nil {
		return nil, err
	}
	return held[0], nil
}

// Hold is like Begin, for a task that a script has leased under the given replication history; see
// Library.
func (e *Engine) Hold(ctx context.Context, member, token, history string) *Held {
	return e.hold(member, token, e.fence.since(ctx, history))
}

// hold records that this process holds a task.
func (e *Engine) hold(member, token, mark string) *Held {
	h := &Held{Member: member, class: e.classOf(member), mark: mark, token: token, renewed: time.Now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[h] = struct{}{}
	return h
}

// End removes tasks that are done. If writes of a task may be lost, it returns social.ErrUncertain
// and leaves the task to any process. It may also return an error of the server; otherwise the
// writes of the tasks are kept.
func (e *Engine) End(ctx context.Context, held ...*Held) error {
	all := make([]*ended, len(held))
	for i, h := range held {
		all[i] = &ended{Held: h, mark: h.mark, result: make(chan error, 1)}
	}
	return e.submit(ctx, all...)
}

// Later leaves tasks that were interrupted by an error, or by ErrAgain, to any process.
func (e *Engine) Later(ctx context.Context, err error, held ...*Held) {
	for _, h := range held {
		if !errors.Is(err, ErrAgain) {
			e.log.WarnContext(ctx, "a task was interrupted; it will be finished later", "task", h.Member, "error", err)
		}
		e.leave(h, 0, false)
	}
}

// Do runs a task: first does the part whose result the caller needs, and rest does the remaining
// part. Do returns the error of first. If rest fails, or a crash interrupts the task, the function
// of the task's kind runs the task in the background. After an error of first, which may hide a
// success, or if rest is nil, that function runs immediately. Work that Do has acknowledged is
// kept; see Fenced.
func (e *Engine) Do(ctx context.Context, member string, first, rest func(ctx context.Context) error) error {
	h, err := e.begin(ctx, member)
	if err != nil {
		return err
	}
	failed := first(ctx)
	if failed == nil && rest != nil {
		err = rest(ctx)
	} else {
		err = e.call(ctx, member)
	}
	if err != nil {
		e.Later(ctx, err, h)
		err = e.Fenced(ctx, h.mark)
	} else {
		err = e.End(ctx, h)
	}
	return cmp.Or(failed, err)
}

// Run runs a task immediately. If the task fails, it continues in the background, and its error is
// only logged.
func (e *Engine) Run(ctx context.Context, member string) {
	_ = e.Do(ctx, member, func(context.Context) error { return nil }, nil)
}

// Finish runs a task to completion, and repeats it as often as necessary.
func (e *Engine) Finish(ctx context.Context, member string) error {
	h, err := e.begin(ctx, member)
	if err != nil {
		return err
	}
	for {
		switch err := e.call(ctx, member); {
		case err == nil:
			return e.End(ctx, h)
		case !errors.Is(err, ErrAgain):
			e.Later(ctx, err, h)
			return err
		}
		if !sleep.For(ctx, againPause) {
			e.leave(h, 0, false)
			return fmt.Errorf("social: task %.40q: %w", member, ctx.Err())
		}
	}
}

// Take runs a task that no process holds or, with force, any existing task. It reports whether this
// process got the task and could run it: a task of a kind that only a newer version can run is left
// to that version.
func (e *Engine) Take(ctx context.Context, member string, force bool) (bool, error) {
	if name, _, _ := strings.Cut(member, ":"); e.kinds[name].run == nil {
		return false, nil
	}
	forced := "0"
	if force {
		forced = "1"
	}
	mark := e.Mark(ctx)
	token, err := takeScript.Run(ctx, e.client, []string{storage.Tasks},
		[]string{member, strconv.Itoa(int(e.classOf(member))), micros(Lease), forced}).ToString()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("social: key %s: %w", storage.Tasks, err)
	}
	return true, e.retry(ctx, e.hold(member, token, mark))
}

// retry runs an interrupted task.
func (e *Engine) retry(ctx context.Context, h *Held) error {
	err := e.call(ctx, h.Member)
	if err == nil {
		if err = e.End(ctx, h); err == nil {
			e.log.InfoContext(ctx, "finished an interrupted task", "task", h.Member)
		}
		return err
	}
	e.fail(h, err)
	if errors.Is(err, ErrAgain) || errors.Is(err, ErrElsewhere) {
		return nil
	}
	return err
}

// RunAll runs all due tasks that no process holds, in this process. A task that cannot be finished
// does not delay the others. It is logged, left for later, and counted in the returned error.
func (e *Engine) RunAll(ctx context.Context) error {
	var failed int
	var firstErr error
	for {
		tasks, _, err := e.claim(ctx, [classes]int{8, 8, 8})
		if err != nil {
			return err
		}
		for i, h := range tasks {
			err := e.retry(ctx, h)
			if ctx.Err() != nil {
				for _, h := range tasks[i:] {
					e.leave(h, 0, true)
				}
				return fmt.Errorf("social: key %s: %w", storage.Tasks, ctx.Err())
			}
			if err != nil {
				e.log.WarnContext(ctx, "cannot finish an interrupted task, retrying later", "key", storage.Tasks, "member", h.Member, "error", err)
				failed++
				firstErr = cmp.Or(firstErr, err)
			}
		}
		if len(tasks) > 0 {
			continue
		}
		if e.running[Short].Load()+e.running[Long].Load()+e.running[Mail].Load()+e.unsettled.Load() == 0 {
			break
		}
		if !sleep.For(ctx, time.Millisecond) { // while this process has background work
			return ctx.Err()
		}
	}
	if failed > 0 {
		return fmt.Errorf("social: cannot finish %d members of %s, the first: %w", failed, storage.Tasks, firstErr)
	}
	return nil
}

// Forget removes a task that is not needed any more. One round trip.
func (e *Engine) Forget(ctx context.Context, member string) error {
	e.mu.Lock()
	maps.DeleteFunc(e.held, func(h *Held, _ struct{}) bool { return h.Member == member })
	e.mu.Unlock()
	for _, res := range e.client.DoMulti(ctx,
		e.client.B().Zrem().Key(storage.Tasks).Member(member).Build().ToRetryable(),
		e.client.B().Hdel().Key(storage.Tries).Field(member).Build().ToRetryable()) {
		if err := res.Error(); err != nil {
			return fmt.Errorf("social: key %s: %w", storage.Tasks, err)
		}
	}
	return nil
}
