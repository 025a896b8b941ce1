package removal

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"retwis/internal/social/work"
)

// accounts maps the IDs of users that are being deleted to their names.
type accounts map[int64]string

// sweepBatch limits the users that one scan of the database handles.
const sweepBatch = 100

// sweeper scans the database for all waiting users together, one scan after the other. Deleting a
// thousand accounts takes eleven scans, not a thousand.
type sweeper struct {
	scan func(ctx context.Context, all accounts) error
	mark func(ctx context.Context) string // see work.Engine.Mark
	log  *slog.Logger

	ctx     context.Context
	stop    context.CancelFunc
	worker  sync.WaitGroup
	mu      sync.Mutex
	waiting map[account]swept
	running bool
}

// swept is the state of a user: waiting for a scan, or done by a scan that began at a mark.
type swept struct {
	done bool
	mark string
}

func newSweeper(scan func(context.Context, accounts) error, mark func(context.Context) string, log *slog.Logger) *sweeper {
	s := &sweeper{scan: scan, mark: mark, log: log, waiting: map[account]swept{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// close stops the scan. Another process repeats the tasks that wait for the scan.
func (s *sweeper) close() {
	s.stop()
	s.worker.Wait()
}

// sweep returns work.ErrAgain until a scan that began after the first call for the user has ended,
// without a failover that could have undone the scan.
func (s *sweeper) sweep(ctx context.Context, a account) error {
	mark := s.mark(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.waiting[a]
	if state.done {
		delete(s.waiting, a)
	}
	if state.done && state.mark == mark {
		return nil
	}
	s.waiting[a] = swept{}
	if !s.running && s.ctx.Err() == nil {
		s.running = true
		s.worker.Go(s.run)
	}
	return work.ErrAgain
}

// known reports whether a user waits for a scan, or for the first call of sweep after a scan.
func (s *sweeper) known(a account) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.waiting[a]
	return ok
}

// run scans until nobody is waiting.
func (s *sweeper) run() {
	for {
		batch := s.next()
		if len(batch) == 0 {
			return
		}
		all := accounts{}
		for _, a := range batch {
			all[a.id] = a.name
		}
		mark := s.mark(s.ctx)
		err := s.scan(s.ctx, all)
		if err != nil && s.ctx.Err() == nil && !errors.Is(err, work.ErrAgain) {
			s.log.Warn("cannot scan for the remains of deleted accounts, retrying later", "error", err)
		}
		s.mu.Lock()
		for _, a := range batch {
			if err == nil {
				s.waiting[a] = swept{true, mark}
			} else {
				delete(s.waiting, a) // the task is retried
			}
		}
		s.mu.Unlock()
	}
}

// next returns waiting users, or records that no users are waiting.
func (s *sweeper) next() (batch []account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, state := range s.waiting {
		if !state.done && len(batch) < sweepBatch {
			batch = append(batch, a)
		}
	}
	s.running = len(batch) > 0
	return batch
}
