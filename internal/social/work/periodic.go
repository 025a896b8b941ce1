package work

import (
	"context"
	_ "embed"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"retwis/internal/redis/script"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
)

var (
	//go:embed periodic.lua
	periodicSource string
	periodicScript = script.New(Library, periodicSource)
)

// lookEvery is the maximum interval between checks for periodic work.
const lookEvery = 15 * time.Second

// Periodic is work that is repeated at an interval.
type Periodic struct {
	Name  string
	Every time.Duration
	Do    func(ctx context.Context) error
}

// Repeat does periodic work until ctx ends. One of the processes that call Repeat starts the work,
// one interval after the last start, or later if the work takes longer. If a process dies, its work
// is started again one interval later. Work must tolerate running twice at once, for example after
// a process was suspended. Errors are logged. One round trip whenever any work is due.
func (e *Engine) Repeat(ctx context.Context, all ...Periodic) {
	var running sync.WaitGroup
	defer running.Wait()
	var mu sync.Mutex
	busy := map[string]bool{}
	for {
		mu.Lock()
		args := make([]string, 0, 3*len(all))
		pause := lookEvery
		for _, p := range all {
			isRunning := "0"
			if busy[p.Name] {
				isRunning, pause = "1", min(pause, p.Every/3)
			}
			args = append(args, p.Name, micros(p.Every), isRunning)
		}
		mu.Unlock()
		next, due, err := e.chooseRepeated(ctx, args)
		switch {
		case err == nil:
			pause = min(pause, next)
		case ctx.Err() == nil:
			e.log.DebugContext(ctx, "cannot check which periodic work is due", "key", storage.Periodic, "error", err)
		}
		for _, p := range all {
			if !due[p.Name] {
				continue
			}
			mu.Lock()
			busy[p.Name] = true
			mu.Unlock()
			running.Go(func() {
				if err := p.Do(ctx); err != nil && ctx.Err() == nil {
					e.log.WarnContext(ctx, "periodic work failed, retrying", "work", p.Name, "error", err, "in", p.Every.String())
				}
				mu.Lock()
				defer mu.Unlock()
				delete(busy, p.Name)
			})
		}
		if !sleep.For(ctx, pause+rand.N(50*time.Millisecond)) {
			return
		}
	}
}

// chooseRepeated returns the names of the work that this process must start now, and the time until
// the next work is due.
func (e *Engine) chooseRepeated(ctx context.Context, args []string) (next time.Duration, due map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	reply, err := periodicScript.Run(ctx, e.client, []string{storage.Periodic}, args).AsStrSlice()
	if err != nil {
		return 0, nil, err
	}
	due = map[string]bool{}
	for _, name := range reply[1:] {
		due[name] = true
	}
	n, err := strconv.ParseInt(reply[0], 10, 64)
	return time.Duration(n) * time.Microsecond, due, err
}
