package work

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

// Held is a task that this process has started. Its lease is renewed until the task is ended or
// left.
type Held struct {
	Member string
	class  Class
	tries  int64                   // the number of starts from the queue; 0 if this process has added the task
	mark   string                  // the replication histories before the first write; see Engine.Mark
	end    context.CancelCauseFunc // cancels the context of the task; may be nil

	// Guarded by Engine.mu.
	token   string
	renewed time.Time
	ends    bool // a command that ends the lease is in flight
}

// Mark identifies the replication histories before the first write of the task; see Engine.Fenced.
func (h *Held) Mark() string { return h.mark }

// maxTries returns the maximum number of tries of the task.
func (h *Held) maxTries() int64 {
	if h.class == Mail {
		return maxMailTries
	}
	return maxTries
}

// drop forgets a task, and reports whether this process still held it.
func (e *Engine) drop(h *Held) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.held[h]
	delete(e.held, h)
	return ok
}

// ending returns the token of a task whose lease is about to be ended, and stops renewing it. It
// reports whether this process still holds the task.
func (e *Engine) ending(h *Held) (token string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok = e.held[h]
	h.ends = true
	return h.token, ok
}

// keep resumes renewing a lease after the command that should have ended the lease has failed.
func (e *Engine) keep(h *Held) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h.ends = false
}

// maxRenewed limits the number of leases that one script renews.
const maxRenewed = 200

// renewUntilClosed renews the leases of this process until the engine is closed.
func (e *Engine) renewUntilClosed() {
	tick := time.NewTicker(Lease / 5)
	defer tick.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			e.renew()
		}
	}
}

// renew renews the leases that are older than a fifth of their length. It cancels tasks that
// another process has taken.
func (e *Engine) renew() {
	e.mu.Lock() // a task cannot be ended until its new token is known
	defer e.mu.Unlock()
	var due []*Held
	for h := range e.held {
		if !h.ends && time.Since(h.renewed) >= Lease/5 {
			due = append(due, h)
		}
	}
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), commandTimeout)
	defer cancel()
	var calls []script.Call
	for chunk := range slices.Chunk(due, maxRenewed) {
		args := []string{micros(Lease)}
		for _, h := range chunk {
			args = append(args, h.Member, h.token, strconv.Itoa(int(h.class)))
		}
		calls = append(calls, script.Call{Keys: []string{storage.Tasks}, Args: args})
	}
	began := time.Now()
	for _, res := range renewScript.RunMany(ctx, e.client, calls) {
		chunk := due[:min(maxRenewed, len(due))]
		due = due[len(chunk):]
		tokens, err := res.AsStrSlice()
		if err != nil {
			e.log.Debug("cannot renew the leases on tasks", "key", storage.Tasks, "error", err)
			continue
		}
		for i, h := range chunk {
			if tokens[i] != "" {
				h.token, h.renewed = tokens[i], began
				continue
			}
			delete(e.held, h)
			e.counts[h.class].lost.Add(1)
			if h.end != nil {
				h.end(errLost)
				e.log.Warn("the lease on a task was lost", "task", h.Member)
			}
		}
	}
}

// leave leaves a task to any process after a pause. If uncounted is set, this try does not count as
// a failure. If the command fails, the lease expires.
func (e *Engine) leave(h *Held, pause time.Duration, uncounted bool) {
	e.leaveAs(h, micros(pause), uncounted, "0")
}

// leaveAs runs leave.lua.
func (e *Engine) leaveAs(h *Held, pause string, uncounted bool, letter ...string) {
	if h == nil {
		return
	}
	token, ok := e.ending(h)
	if !ok {
		return
	}
	defer e.drop(h)
	skipCount := "0"
	if uncounted && h.tries > 0 {
		skipCount = "1"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), commandTimeout)
	defer cancel()
	class := strconv.Itoa(int(h.class))
	err := leaveScript.Run(ctx, e.client, []string{storage.Tasks, storage.Tries, storage.DeadTasks, storage.WakeKey(int(h.class))},
		append([]string{h.Member, token, class, pause, skipCount}, letter...)).Error()
	if err != nil {
		e.log.Debug("cannot hand over a task; other processes will start it a few seconds later", "task", h.Member, "error", err)
	}
}

// fail leaves an unfinished task for another try, or makes it a dead letter.
func (e *Engine) fail(h *Held, err error) {
	class := rediserr.Of(err)
	switch {
	case errors.Is(err, ErrLater), errors.Is(err, ErrElsewhere):
		e.leave(h, laterPause, true)
	case errors.Is(err, ErrAgain):
		e.leave(h, againPause, true)
	case class == rediserr.Unavailable, class == rediserr.WritesRefused, errors.Is(err, social.ErrUncertain): // not the fault of the task
		e.leave(h, outagePause, true)
	case h.tries >= h.maxTries():
		e.giveUp(h, err)
	default:
		e.counts[h.class].failed.Add(1)
		pause := firstPause
		for n := int64(1); n < h.tries && pause < maxPause; n++ {
			pause *= 3
		}
		pause = min(pause, maxPause)
		e.log.Warn("a task was interrupted, retrying", "task", h.Member, "try", h.tries, "error", err, "in", pause.String())
		e.leave(h, pause, false)
	}
}

// giveUp makes a task a dead letter.
func (e *Engine) giveUp(h *Held, cause error) {
	e.counts[h.class].dead.Add(1)
	e.log.Error("a task was given up", "task", h.Member, "tries", h.tries, "error", cause)
	text := cause.Error()
	e.leaveAs(h, "0", false, strconv.Itoa(maxLetters), text[:min(len(text), maxError)], storage.Seconds(time.Now()), strconv.FormatInt(h.tries, 10))
}
