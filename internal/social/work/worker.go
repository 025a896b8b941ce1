package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	crand "crypto/rand"

	"retwis/internal/redis/rediserr"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
)

const (
	// poll is the maximum interval between polls of an idle process.
	poll = 5 * time.Second
	// retryPoll is the pause after a failed poll.
	retryPoll = 500 * time.Millisecond
	// listenFor is the length of a blocking wait for added tasks, and busyListen the length while
	// the process can run only some classes.
	listenFor  = 30 * time.Second
	busyListen = time.Second
	// maxHeld is the number of held tasks at which a process takes no more tasks. Most held tasks
	// wait for replicas then.
	maxHeld = maxUnconfirmed / 2
	// mailLate is the time for which an email must have been due before a process without a mail
	// server examines it.
	mailLate = 10 * time.Minute
)

// slots is the number of tasks of each class that a process runs concurrently. Long tasks pause
// between writes to let other requests through; two long tasks would fill each other's pauses.
var slots = [classes]int{Short: 4, Long: 1, Mail: 4}

// processName returns a unique name for this process.
func processName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), crand.Text()[:8])
}

// claim leases up to want due tasks of each class to this process. next is the time until the next
// task is due; it is negative if there is none.
func (e *Engine) claim(ctx context.Context, want [classes]int) (tasks []*Held, next time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	keys, args := []string{storage.Tasks, storage.Tries}, []string{micros(Lease)}
	for class, n := range want {
		late := time.Duration(0)
		if Class(class) == Mail && !e.mails {
			late = mailLate
		}
		keys, args = append(keys, storage.WakeKey(class)), append(args, strconv.Itoa(class), strconv.Itoa(n), micros(late))
	}
	args = slices.AppendSeq(args, maps.Keys(e.kinds))
	reply, err := claimScript.Run(ctx, e.client, keys, args).ToArray()
	if err == nil && (len(reply) < 4 || len(reply)%4 != 0) {
		err = errors.New("unexpected reply from a script")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("social: key %s: %w", storage.Tasks, err)
	}
	e.fence.note(reply[0], reply[1])
	history, _ := reply[0].ToString()
	waiting, _ := reply[2].AsInt64()
	e.backlog.Store(waiting)
	e.counted.Store(time.Now().UnixNano())
	micro, _ := reply[3].AsInt64()
	mark := ""
	if len(reply) > 4 {
		mark = e.fence.since(ctx, history)
	}
	for fields := reply[4:]; len(fields) > 0; fields = fields[4:] {
		member, _ := fields[0].ToString()
		token, _ := fields[1].ToString()
		h := e.hold(member, token, mark)
		h.tries, _ = fields[2].AsInt64()
		if abandoned, _ := fields[3].AsBool(); abandoned {
			e.counts[h.class].reclaimed.Add(1)
			e.log.DebugContext(ctx, "resuming a task abandoned by another process", "task", member)
		}
		tasks = append(tasks, h)
	}
	return tasks, time.Duration(micro) * time.Microsecond, nil
}

// free returns the number of tasks of each class that this process can start.
func (e *Engine) free() [classes]int {
	var free [classes]int
	for class := range free {
		free[class] = slots[class] - int(e.running[class].Load())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.held) >= maxHeld { // replicas are behind
		return [classes]int{}
	}
	return free
}

// work starts tasks until the engine is closed.
func (e *Engine) work() {
	woken := make(chan struct{}, 1)
	e.worker.Go(func() { e.listen(woken) })
	timer := time.NewTimer(rand.N(50 * time.Millisecond)) // spreads out processes that start together
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-timer.C:
		case <-woken:
		case <-e.added:
		case <-e.freed:
		}
		e.unsettled.Add(1) // RunAll waits until the claimed tasks are counted
		tasks, next, err := e.claim(e.ctx, e.free())
		for _, h := range tasks {
			e.start(h)
		}
		e.unsettled.Add(-1)
		pause := e.poll*3/4 + rand.N(e.poll/2)
		switch {
		case err != nil:
			if e.ctx.Err() == nil && !failing && rediserr.Of(err) != rediserr.Unavailable {
				e.log.Warn("cannot poll for tasks, retrying", "error", err)
			}
			pause = retryPoll/2 + rand.N(retryPoll)
		case next >= 0:
			pause = min(pause, next+time.Millisecond+rand.N(20*time.Millisecond))
		}
		failing = err != nil
		timer.Reset(pause)
	}
}

// start runs a claimed task in the background.
func (e *Engine) start(h *Held) {
	ctx, end := context.WithCancelCause(e.ctx)
	e.mu.Lock()
	h.end = end
	e.mu.Unlock()
	e.running[h.class].Add(1)
	e.worker.Go(func() {
		e.run(ctx, h)
		end(nil)
		e.running[h.class].Add(-1)
		select {
		case e.freed <- struct{}{}:
		default:
		}
	})
}

// run runs a claimed task.
func (e *Engine) run(ctx context.Context, h *Held) {
	if h.tries > h.maxTries() {
		e.giveUp(h, fmt.Errorf("%d processes have started the task and none has finished it", h.tries-1))
		return
	}
	err := e.call(ctx, h.Member)
	switch {
	case errors.Is(context.Cause(ctx), errLost):
	case err == nil: // a replica that is behind must not occupy a slot
		if !e.offer(e.ctx, &ended{Held: h, mark: h.mark}) {
			e.leave(h, 0, true)
		}
	case e.ctx.Err() != nil:
		e.leave(h, 0, true)
	default:
		e.fail(h, err)
	}
}

// listen waits for added tasks. An addition wakes one process that waits for the class of the task.
func (e *Engine) listen(woken chan<- struct{}) {
	for e.ctx.Err() == nil {
		var keys []string
		timeout := listenFor
		for class, n := range e.free() {
			switch {
			case Class(class) == Mail && !e.mails:
			case n > 0:
				keys = append(keys, storage.WakeKey(class))
			default:
				timeout = busyListen
			}
		}
		if len(keys) == 0 { // leave the wake-up to a process with a free slot
			sleep.For(e.ctx, 20*time.Millisecond)
			continue
		}
		err := e.client.Do(e.ctx, e.client.B().Blpop().Key(keys...).Timeout(timeout.Seconds()).Build()).Error()
		switch {
		case err == nil:
			select {
			case woken <- struct{}{}:
			default:
			}
		case !rueidis.IsRedisNil(err):
			sleep.For(e.ctx, retryPoll)
		}
	}
}
