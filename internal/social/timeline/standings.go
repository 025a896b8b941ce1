package timeline

import (
	"context"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/watched"
)

// Standings keeps the limited and suspended users in memory, so that deciding how a viewer sees a
// post takes no round trip. The sorted set `standings` scores users by the order of their changes,
// so later reads fetch only the latest changes.
//
// The server reports each change to all processes, which read the change immediately in the
// background.
type Standings struct {
	db   storage.Database
	kept *storage.Kept[*knownStandings]
	lost atomic.Bool // invalidation messages may be lost, so everything must be read

	wake   chan struct{}
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// knownStandings is an immutable copy of the standings.
type knownStandings struct {
	byUser map[int64]social.Standing // without users in good standing
	last   float64                   // the largest score
}

// scoreStandings is the number of standings that a score distinguishes. A score is a number that
// grows with each change, times scoreStandings, plus the standing.
const scoreStandings = 4

// NewStandings returns the Standings of a database. Close stops it.
func NewStandings(db storage.Database) *Standings {
	s := &Standings{db: db, wake: make(chan struct{}, 1)}
	s.kept = storage.NewKept(db, storage.Standings, s.read)
	wake := func(int64) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	db.Link.On(storage.Standings, wake)
	db.Link.On("", func(int64) {
		s.lost.Store(true)
		wake(0)
	})
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if db.Link.Watched() {
		s.worker.Go(func() { s.follow(ctx) })
	}
	return s
}

// Close stops the background work.
func (s *Standings) Close() {
	s.stop()
	s.worker.Wait()
}

// Of returns the standing of a user, according to the last read of this process.
func (s *Standings) Of(uid int64) social.Standing {
	if known := s.kept.Latest(); known != nil && len(known.byUser) > 0 {
		return known.byUser[uid]
	}
	return social.Good
}

// Count returns the number of users who are limited or suspended.
func (s *Standings) Count() int {
	if known := s.kept.Latest(); known != nil {
		return len(known.byUser)
	}
	return 0
}

// Version implements social.Standings.
func (s *Standings) Version() any { return s.kept.Latest() }

// StandingOfScore returns the standing encoded in a score in `standings`.
func StandingOfScore(score float64) social.Standing {
	return social.Standing(math.Mod(max(score, 0), scoreStandings))
}

// follow reads changes as they are reported, and everything once a minute, because a message can be
// lost with a cut cable.
func (s *Standings) follow(ctx context.Context) {
	tick := time.NewTicker(watched.MaxAge)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.kept.Latest() == nil {
				continue // the standings have not been used yet
			}
			s.lost.Store(true)
		case <-s.wake:
		}
		read := s.kept.Get
		if s.lost.Load() {
			read = s.kept.Renew
		}
		// If the read fails, the next load reads the standings.
		bounded, cancel := context.WithTimeout(ctx, readStandingsTimeout)
		_, _ = read(bounded)
		cancel()
	}
}

// readStandingsTimeout limits a read in the background.
const readStandingsTimeout = 5 * time.Second

// load brings the standings up to date. No round trip while nothing has changed.
func (s *Standings) load(ctx context.Context) error {
	_, err := s.kept.Get(ctx)
	return err
}

// Reload reads the changes, bypassing all caches. One round trip.
func (s *Standings) Reload(ctx context.Context) error {
	_, err := s.kept.Reload(ctx)
	return err
}

// read reads the changes, or everything if messages may be lost.
func (s *Standings) read(ctx context.Context) (*knownStandings, error) {
	known, lost := s.kept.Latest(), false
	if !social.IsFresh(ctx) {
		if lost = s.lost.Swap(false); lost { // before the read, so that no loss is missed
			known = nil
		}
	}
	changes, err := s.db.Read(ctx, s.command(known)).AsZScores()
	if err != nil {
		if lost {
			s.lost.Store(true)
		}
		return nil, fmt.Errorf("social: read standings: %w", err)
	}
	return s.apply(known, changes), nil
}

// command returns the command that reads the changes since known, or everything if known is nil.
func (s *Standings) command(known *knownStandings) rueidis.Cacheable {
	from := "-inf"
	if known != nil {
		from = fmt.Sprintf("(%.0f", known.last)
	}
	return s.db.Client.B().Zrangebyscore().Key(storage.Standings).Min(from).Max("+inf").Withscores().Cache()
}

// apply returns known with the changes applied.
func (s *Standings) apply(known *knownStandings, changes []rueidis.ZScore) *knownStandings {
	next := &knownStandings{byUser: map[int64]social.Standing{}}
	if known != nil {
		if len(changes) == 0 {
			return known
		}
		next.byUser, next.last = maps.Clone(known.byUser), known.last
	}
	for _, change := range changes {
		uid, ok := storage.ParseID(change.Member)
		if !ok {
			continue
		}
		next.last = max(next.last, change.Score)
		if standing := StandingOfScore(change.Score); standing == social.Good {
			delete(next.byUser, uid)
		} else {
			next.byUser[uid] = standing
		}
	}
	if old := s.kept.Latest(); old != nil && old.last == next.last && maps.Equal(old.byUser, next.byUser) {
		return old // nothing has changed, so Version stays the same
	}
	return next
}
