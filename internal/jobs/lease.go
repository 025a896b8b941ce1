package jobs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/script"
)

// leaseBatch is how many leases one script renews.
const leaseBatch = 100

// finish removes a job that has ended, as soon as done is closed.
func (w *worker) finish(h *held, done <-chan struct{}) {
	if done != nil {
		w.queue.counts.parked.Add(1)
		select {
		case <-done:
		case <-h.ctx.Done():
		}
		w.queue.counts.parked.Add(-1)
		select {
		case <-done:
		default:
			return
		}
	}
	if w.remove(h) {
		w.queue.counts.done.Add(1)
	}
}

// remove removes a job from its stream. It reports whether this process still had it.
func (w *worker) remove(h *held) bool {
	w.lock.Lock()
	h.ends = true
	w.lock.Unlock()
	defer w.forget(h)
	for try := 0; ; try++ {
		// Also after Work has been stopped: what is done is not begun again.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), commandTimeout)
		removed, err := finishScript.Run(ctx, w.queue.client, w.queue.keys[h.stream:h.stream+1], []string{group, w.queue.consumer, h.id}).AsBool()
		cancel()
		if err == nil {
			return removed
		}
		if !w.wait(h, w.pause(try)) {
			return false // it is begun once more
		}
	}
}

// wait pauses, and reports whether this process still has the job then.
func (w *worker) wait(h *held, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// pause is the pause after so many failures in a row.
func (w *worker) pause(failures int) time.Duration {
	d := w.queue.opt.Pause
	for range failures {
		if d *= 3; d > maxPause {
			return maxPause
		}
	}
	return d
}

// forget ends what this process knows of a job.
func (w *worker) forget(h *held) {
	h.end(errLost)
	w.lock.Lock()
	defer w.lock.Unlock()
	key := entryKey{h.stream, h.id}
	if w.mine[key] == h {
		delete(w.mine, key)
		w.queue.counts.held.Add(-1)
	}
}

// failed leaves a job that failed for another try, without a slot meanwhile.
func (w *worker) failed(h *held, err error) {
	pause := w.pause(int(h.tries) - 1)
	switch {
	case errors.Is(err, ErrAgain):
		h.waits++
		pause = min(w.pause(0)*time.Duration(h.waits), maxOutage)
	case isOutage(err): // not the fault of the job
		h.waits++
		pause = min(w.pause(h.waits-1), maxOutage)
	default:
		h.waits = 0
		w.queue.counts.failed.Add(1)
		if h.tries >= int64(w.queue.opt.Tries) {
			w.toDead(h, err)
			return
		}
		w.queue.opt.Log.Warn("a job was interrupted, trying again", "job", h.job, "try", h.tries, "error", err, "in", pause.String())
		h.tries++
		w.noteTries(h)
	}
	w.queue.counts.parked.Add(1)
	waited := w.wait(h, pause)
	w.queue.counts.parked.Add(-1)
	if !waited {
		return
	}
	w.runNext(h)
}

// isOutage reports whether a job failed because a server is away, or takes no writes.
func isOutage(err error) bool {
	class := rediserr.Of(err)
	return class == rediserr.Unavailable || class == rediserr.WritesRefused
}

// toDead makes a job a dead letter.
func (w *worker) toDead(h *held, cause error) {
	letter := Dead{Job: h.job, Error: cause.Error(), At: w.queue.opt.Now(), Tries: min(h.tries, int64(w.queue.opt.Tries))}
	added := false
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(w.ctx, commandTimeout)
		err := error(nil)
		if !added { // a copy for each try of OnDead would push out other letters
			err = w.addLetter(ctx, letter)
			added = err == nil
		}
		if err == nil && w.queue.opt.OnDead != nil && h.job != "" {
			err = w.queue.opt.OnDead(ctx, h.job)
		}
		cancel()
		if err == nil {
			break
		}
		if !w.wait(h, w.pause(try)) {
			return
		}
	}
	w.queue.counts.dead.Add(1)
	w.queue.opt.Log.Error("a job was given up", "job", h.job, "tries", letter.Tries, "error", cause)
	w.remove(h)
}

// addLetter adds a dead letter. One that the key cannot take is only logged.
func (w *worker) addLetter(ctx context.Context, letter Dead) error {
	err := NewLetters(w.queue.client, w.queue.opt.Dead).add(ctx, letter)
	if rediserr.IsWrongType(err) {
		w.queue.opt.Log.Error("a dead letter could not be kept", "key", w.queue.opt.Dead, "error", err)
		return nil
	}
	return err
}

// noteTries stores how often a job was tried.
func (w *worker) noteTries(h *held) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), commandTimeout)
	defer cancel()
	err := claimScript.Run(ctx, w.queue.client, w.queue.keys[h.stream:h.stream+1],
		[]string{group, w.queue.consumer, "0", strconv.FormatInt(h.tries, 10), h.id}).Error()
	if err != nil {
		w.queue.opt.Log.Debug("cannot renew the lease on a job", "key", w.queue.keys[h.stream], "error", err)
	}
}

// renewUntil renews the leases on all jobs of this process.
func (w *worker) renewUntil(stop <-chan struct{}) {
	tick := time.NewTicker(w.queue.opt.Lease / 5)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			w.renew()
		}
	}
}

// renew renews the leases on all jobs of this process. What another process has taken is
// ended.
func (w *worker) renew() {
	byStream := make([][]*held, len(w.queue.keys))
	w.lock.Lock()
	for _, h := range w.mine {
		byStream[h.stream] = append(byStream[h.stream], h)
	}
	w.lock.Unlock()
	var calls []script.Call
	var asked [][]*held
	for stream, all := range byStream {
		for len(all) > 0 {
			some := all[:min(leaseBatch, len(all))]
			all = all[len(some):]
			args := []string{group, w.queue.consumer, "0", ""}
			for _, h := range some {
				args = append(args, h.id)
			}
			calls, asked = append(calls, script.Call{Keys: w.queue.keys[stream : stream+1], Args: args}), append(asked, some)
		}
	}
	if len(calls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	for i, res := range claimScript.RunMany(ctx, w.queue.client, calls) {
		kept, err := res.AsStrSlice()
		if err != nil {
			w.queue.opt.Log.Debug("cannot renew the leases on jobs", "key", calls[i].Keys[0], "error", err)
			continue
		}
		still := make(map[string]bool, len(kept))
		for _, id := range kept {
			still[id] = true
		}
		for _, h := range asked[i] {
			if !still[h.id] {
				w.lost(h)
			}
		}
	}
}

// lost ends a job that another process has, or that is gone.
func (w *worker) lost(h *held) {
	w.lock.Lock()
	known := w.mine[entryKey{h.stream, h.id}] == h && !h.ends
	w.lock.Unlock()
	if known && h.ctx.Err() == nil {
		w.queue.counts.lost.Add(1)
		w.queue.opt.Log.Warn("the lease on a job was lost", "job", h.job)
	}
	w.forget(h)
}

// release leaves the jobs that this process still holds to others, at once: their leases
// ended long ago.
func (w *worker) release() {
	w.lock.Lock()
	left := make([]*held, 0, len(w.mine))
	for _, h := range w.mine {
		left = append(left, h)
	}
	w.lock.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), commandTimeout)
	defer cancel()
	for some := range slices.Chunk(left, leaseBatch) {
		calls := make([]script.Call, len(some))
		for i, h := range some {
			calls[i] = script.Call{Keys: w.queue.keys[h.stream : h.stream+1], Args: []string{
				group, w.queue.consumer, strconv.FormatInt(time.Hour.Milliseconds(), 10), strconv.FormatInt(h.tries-1, 10), h.id,
			}}
		}
		claimScript.RunMany(ctx, w.queue.client, calls) // what fails here is reclaimed later
		for _, h := range some {
			w.forget(h)
		}
	}
}
