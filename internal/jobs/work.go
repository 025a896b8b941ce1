package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

const (
	// maxHeld bounds the jobs that a process holds: those that run, those that wait
	// for another try, and those that wait for replicas.
	maxHeld = 10_000
	// maxParked bounds those of them that wait for another try, or for replicas.
	maxParked = 5000
	// maxPause is the longest pause before another try.
	maxPause = 5 * time.Minute
	// maxOutage is the longest pause while a server is not available.
	maxOutage = 15 * time.Second
	// commandTimeout bounds a command that others wait for.
	commandTimeout = 3 * time.Second
)

// ErrAgain: a job has done all it can for now. It is run again after a pause, without
// end, and this is no failure.
var ErrAgain = errors.New("jobs: to be repeated")

// errLost: another process has the job.
var errLost = errors.New("jobs: the lease was lost")

// Do runs a job to its end. The job is removed from the queue when done is closed; a nil
// channel is as good as a closed one. Its context ends when the lease is lost.
type Do func(ctx context.Context, job string) (done <-chan struct{}, err error)

// counters count what a process has done.
type counters struct {
	done, failed, dead, lost, reclaimed atomic.Int64
	running, held, parked               atomic.Int64
	workers                             atomic.Int64
}

// Stats is what a process has done since its start.
type Stats struct {
	Done      int64 // jobs that were finished
	Failed    int64 // tries that failed
	Dead      int64 // jobs that became dead letters
	Lost      int64 // jobs whose lease has ended before they did
	Reclaimed int64 // jobs that were taken from processes that have died
	Running   int64 // at present
	Held      int64 // at present, with those that wait for another try or for replicas
}

// Stats returns what this process has done.
func (q *Queue) Stats() Stats {
	c := &q.counts
	return Stats{
		Done: c.done.Load(), Failed: c.failed.Load(), Dead: c.dead.Load(), Lost: c.lost.Load(), Reclaimed: c.reclaimed.Load(),
		Running: c.running.Load(), Held: c.held.Load(),
	}
}

// Drain waits until all jobs that this process can begin and end now are done: those that
// wait for another try, or for replicas, are left. It returns at once in a process that
// does not work.
func (q *Queue) Drain(ctx context.Context) error {
	for q.counts.workers.Load() > 0 {
		for i := range q.keys {
			select {
			case q.added <- i:
			default:
			}
		}
		n, err := q.LenNow(ctx)
		if err != nil {
			return err
		}
		if c := &q.counts; n <= c.parked.Load() && c.running.Load() == 0 {
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// held is a job that this process holds.
type held struct {
	stream int
	id     string
	job    string
	tries  int64 // deliveries, this one included
	waits  int   // how many pauses in a row were not counted as tries
	ends   bool  // it is about to be removed; guarded by worker.lock
	ctx    context.Context
	end    context.CancelCauseFunc
}

type entryKey struct {
	stream int
	id     string
}

// worker is one call of Work.
type worker struct {
	queue *Queue
	ctx   context.Context // of Work
	do    Do
	slots chan struct{} // has an element for each job that runs
	freed chan struct{} // a job has ended
	tasks sync.WaitGroup

	// For loop alone:
	filled  []bool // streams that may have jobs to deliver
	from    int    // the stream to begin with
	reclaim []scanState

	lock sync.Mutex
	mine map[entryKey]*held
}

// scanState is the state of the search for expired leases on one stream.
type scanState struct {
	due   time.Time
	from  string
	waits bool // for a free slot
}

// Work runs jobs, so many at a time, until ctx ends. Then it waits for those that run,
// and leaves the others to other processes.
func (q *Queue) Work(ctx context.Context, workers int, do Do) {
	w := &worker{
		queue: q, ctx: ctx, do: do, slots: make(chan struct{}, workers), freed: make(chan struct{}, 1),
		filled: make([]bool, len(q.keys)), reclaim: make([]scanState, len(q.keys)), mine: map[entryKey]*held{},
	}
	q.counts.workers.Add(1)
	defer q.counts.workers.Add(-1)
	var renewal sync.WaitGroup
	stop := make(chan struct{})
	renewal.Go(func() { w.renewUntil(stop) })
	w.loop(ctx)
	w.tasks.Wait()
	close(stop)
	renewal.Wait()
	w.release()
}

// loop takes jobs until ctx ends.
func (w *worker) loop(ctx context.Context) {
	// Processes that start together ask at different times.
	timer := time.NewTimer(rand.N(w.queue.opt.Poll))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case i := <-w.queue.added:
			w.filled[i] = true
		case <-w.freed:
		case <-timer.C:
			w.look(ctx)
			timer.Reset(w.queue.opt.Poll*3/4 + rand.N(w.queue.opt.Poll/2))
		}
		w.fill(ctx)
	}
}

// look asks which streams have jobs, and takes those whose lease has ended.
func (w *worker) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	lengths, err := w.queue.lengths(ctx)
	if err != nil && ctx.Err() == nil {
		w.queue.opt.Log.Debug("cannot look for jobs", "error", err)
	}
	now := time.Now()
	for i, n := range lengths {
		w.filled[i] = n > 0
		if n > 0 && !now.Before(w.reclaim[i].due) {
			w.takeExpired(ctx, i)
		}
	}
}

// free returns how many more jobs this process can begin.
func (w *worker) free() int {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.queue.counts.parked.Load() >= maxParked || len(w.mine) >= maxHeld {
		return 0
	}
	return cap(w.slots) - len(w.slots)
}

// fill begins jobs as long as there are any, and this process is free.
func (w *worker) fill(ctx context.Context) {
	for tried := 0; tried < len(w.queue.keys); tried++ {
		i := w.from % len(w.queue.keys)
		w.from = i + 1
		for w.filled[i] && ctx.Err() == nil {
			n := w.free()
			if n == 0 {
				return
			}
			if w.reclaim[i].waits { // what was begun comes before what is new
				w.takeExpired(ctx, i)
			} else {
				w.take(ctx, i, n)
			}
			if len(w.queue.keys) > 1 && w.filled[i] {
				tried = -1 // its turn comes again after the others
				break
			}
		}
	}
}

// take begins at most n new jobs of a stream.
func (w *worker) take(ctx context.Context, stream, n int) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	entries, err := takeScript.Run(ctx, w.queue.client, w.queue.keys[stream:stream+1], []string{group, w.queue.consumer, strconv.Itoa(n)}).ToArray()
	if err != nil {
		w.filled[stream] = false // the next look tries again
		w.cannot(ctx, "take jobs", stream, err)
		return
	}
	w.filled[stream] = len(entries) == n
	for _, entry := range entries {
		if h, ok := parse(stream, entry); ok {
			w.begin(h)
		}
	}
}

// takeExpired begins jobs of a stream whose lease has ended, or has fill do so as soon as
// there is a free slot. The more consumers there are, the less often each looks for them.
func (w *worker) takeExpired(ctx context.Context, stream int) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	n, scan := w.free(), &w.reclaim[stream]
	if scan.waits = n == 0; scan.waits {
		return
	}
	if scan.from == "" {
		scan.from = "0-0"
	}
	scan.due = time.Now().Add(w.queue.opt.Poll / 2)
	reply, err := reclaimScript.Run(ctx, w.queue.client, w.queue.keys[stream:stream+1], []string{
		group, w.queue.consumer, strconv.FormatInt(w.queue.opt.Lease.Milliseconds(), 10), strconv.Itoa(n), scan.from,
		strconv.FormatInt(consumerIdle.Milliseconds(), 10),
	}).ToArray()
	if err == nil && len(reply) < 2 {
		err = errors.New("the reply is too short")
	}
	if err != nil {
		w.cannot(ctx, "look for jobs of processes that have died", stream, err)
		return
	}
	if scan.from, err = reply[0].ToString(); err != nil {
		scan.from = ""
	}
	consumers, _ := reply[1].AsInt64()
	scan.due = time.Now().Add(time.Duration(max(2, consumers)-1) * w.queue.opt.Poll / 2 * time.Duration(50+rand.IntN(100)) / 100)
	scan.waits = len(reply)-2 == n // there may be more
	for _, entry := range reply[2:] {
		h, ok := parse(stream, entry)
		if !ok {
			continue
		}
		w.queue.counts.reclaimed.Add(1)
		w.begin(h)
	}
}

// cannot logs that a stream cannot be used. The other streams go on.
func (w *worker) cannot(ctx context.Context, what string, stream int, err error) {
	switch {
	case ctx.Err() != nil:
	case rediserr.Of(err) == rediserr.Unavailable:
		w.queue.opt.Log.Debug("cannot "+what, "key", w.queue.keys[stream], "error", err)
	default:
		w.queue.opt.Log.Warn("cannot "+what, "key", w.queue.keys[stream], "error", err)
	}
}

// parse reads an entry: its id, its fields, and how often it was delivered.
func parse(stream int, entry rueidis.RedisMessage) (*held, bool) {
	parts, err := entry.ToArray()
	if err != nil || len(parts) < 2 {
		return nil, false
	}
	h := &held{stream: stream, tries: 1}
	if h.id, err = parts[0].ToString(); err != nil {
		return nil, false
	}
	if len(parts) > 2 {
		h.tries, _ = parts[2].AsInt64()
	}
	fields, _ := parts[1].AsStrSlice()
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == field {
			h.job = fields[i+1]
		}
	}
	return h, true
}

// begin runs a job that was delivered; there is a free slot.
func (w *worker) begin(h *held) {
	key := entryKey{h.stream, h.id}
	w.lock.Lock()
	if w.mine[key] != nil { // this process was too slow to renew its own lease
		w.lock.Unlock()
		return
	}
	h.ctx, h.end = context.WithCancelCause(w.ctx)
	w.mine[key] = h
	w.lock.Unlock()
	w.queue.counts.held.Add(1)
	select {
	case w.slots <- struct{}{}:
		w.tasks.Go(func() { w.run(h) })
	default: // another try has just taken the slot
		w.tasks.Go(func() { w.runNext(h) })
	}
}

// runNext runs a job as soon as there is a slot for it.
func (w *worker) runNext(h *held) {
	select {
	case w.slots <- struct{}{}:
		w.run(h)
	case <-h.ctx.Done():
	}
}

// run runs a job once; the caller has a slot for it.
func (w *worker) run(h *held) {
	w.queue.counts.running.Add(1)
	var done <-chan struct{}
	err := error(nil)
	switch {
	case h.job == "":
		w.leaveSlot()
		w.toDead(h, fmt.Errorf("the entry %s has no field %q", h.id, field))
		return
	case h.tries > int64(w.queue.opt.Tries):
		w.leaveSlot()
		w.toDead(h, fmt.Errorf("%d processes have begun it, and none has ended it", h.tries-1))
		return
	default:
		done, err = w.do(h.ctx, h.job)
	}
	w.leaveSlot()
	switch {
	case err == nil:
		w.finish(h, done)
	case h.ctx.Err() != nil: // another process has it, or will
	default:
		w.failed(h, err)
	}
}

// leaveSlot lets another job begin.
func (w *worker) leaveSlot() {
	<-w.slots
	w.queue.counts.running.Add(-1)
	select {
	case w.freed <- struct{}{}:
	default:
	}
}
