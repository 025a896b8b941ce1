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
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
	"retwis/internal/watched"
)

// Standings keeps in memory who is limited or suspended, so that deciding how a viewer
// sees a post asks no server. `standings` scores users by the order in which they were
// changed; what was read once is brought up to date with the latest of them.
//
// The server reports each change to this process, which reads it at once in the
// background: other processes follow within a round trip.
type Standings struct {
	db   storage.Database
	cell watched.Cell[*knownStandings]
	lost atomic.Bool // reports may be lost: read everything
	busy chan struct{}

	wake   chan struct{}
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// knownStandings never changes.
type knownStandings struct {
	of   map[int64]social.Standing // without those in good standing
	last float64                   // the greatest score
}

// scoreStandings is how many standings a score tells apart: it is a number that grows
// with each change, times this, plus the standing.
const scoreStandings = 4

// NewStandings returns the standings of a database. Close ends it.
func NewStandings(db storage.Database) *Standings {
	s := &Standings{db: db, busy: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if db.Link.Watched() {
		s.worker.Go(func() { s.follow(ctx) })
	}
	return s
}

// Close ends what runs in the background.
func (s *Standings) Close() {
	s.stop()
	s.worker.Wait()
}

// Of returns the standing of a user, as this process knows it.
func (s *Standings) Of(uid int64) social.Standing {
	if known := s.cell.Latest(); known != nil && len(known.of) > 0 {
		return known.of[uid]
	}
	return social.Good
}

// Count returns how many users are limited or suspended.
func (s *Standings) Count() int {
	if known := s.cell.Latest(); known != nil {
		return len(known.of)
	}
	return 0
}

// Version implements social.Standings.
func (s *Standings) Version() any { return s.cell.Latest() }

// StandingOfScore returns the standing that a score in `standings` stands for.
func StandingOfScore(score float64) social.Standing {
	return social.Standing(math.Mod(max(score, 0), scoreStandings))
}

// Changed notes that `standings` has changed, or may have because reports are lost. It does
// not wait.
func (s *Standings) Changed(lost bool) {
	if lost {
		s.lost.Store(true)
	} else {
		s.cell.Changed()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// follow reads changes as they are reported, and everything once a minute: a report can
// get lost with a cut cable.
func (s *Standings) follow(ctx context.Context) {
	tick := time.NewTicker(watched.MaxAge)
	defer tick.Stop()
	for {
		read := s.load
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.cell.Latest() == nil {
				continue // nobody has asked yet
			}
			s.lost.Store(true)
			read = func(ctx context.Context) error { return s.Reload(ctx, false) }
		case <-s.wake:
		}
		// A failed read leaves it to the next viewer.
		bounded, cancel := context.WithTimeout(ctx, readStandingsTimeout)
		_ = read(bounded)
		cancel()
	}
}

const readStandingsTimeout = 5 * time.Second

// load brings what is known up to date. No round trip while nothing has changed.
func (s *Standings) load(ctx context.Context) error {
	if s.isCurrent() {
		return nil
	}
	_, hasOld := s.cell.Old(s.db.Link)
	_, err := s.db.Link.Read(ctx, hasOld, func(ctx context.Context) error { return s.Reload(ctx, false) })
	return err
}

func (s *Standings) isCurrent() bool {
	_, ok := s.cell.Get(s.db.Link, 0)
	return ok && !s.lost.Load()
}

// Reload reads what has changed. With fresh it bypasses all caches. One round trip.
func (s *Standings) Reload(ctx context.Context, fresh bool) error {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !fresh && s.isCurrent() {
		return nil // another request has read it meanwhile
	}
	known, stamp := s.cell.Latest(), s.cell.Begin(s.db.Link, !fresh)
	if fresh {
		return s.apply(known, stamp, s.db.Client.Do(ctx, rueidis.Completed(s.command(known))))
	}
	lost := s.lost.Swap(false) // before the read, so that no loss is missed
	if lost {
		known = nil
	}
	err := s.apply(known, stamp, s.db.Client.DoCache(ctx, s.command(known).ToStaticTTL(), storage.CacheTTL))
	if err != nil && lost {
		s.lost.Store(true)
	}
	return err
}

// command reads the changes after those that are known, or everything for nil.
func (s *Standings) command(known *knownStandings) rueidis.Cacheable {
	from := "-inf"
	if known != nil {
		from = fmt.Sprintf("(%.0f", known.last)
	}
	return s.db.Client.B().Zrangebyscore().Key(layout.Standings).Min(from).Max("+inf").Withscores().Cache()
}

// apply adds changes to what is known.
func (s *Standings) apply(known *knownStandings, stamp watched.Stamp, res rueidis.RedisResult) error {
	changes, err := res.AsZScores()
	if err != nil {
		return fmt.Errorf("social: read who is limited or suspended: %w", err)
	}
	next := &knownStandings{of: map[int64]social.Standing{}}
	if known != nil {
		if len(changes) == 0 {
			s.cell.Put(known, stamp)
			return nil
		}
		next.of, next.last = maps.Clone(known.of), known.last
	}
	for _, change := range changes {
		uid, ok := layout.ParseID(change.Member)
		if !ok {
			continue
		}
		next.last = max(next.last, change.Score)
		if standing := StandingOfScore(change.Score); standing == social.Good {
			delete(next.of, uid)
		} else {
			next.of[uid] = standing
		}
	}
	if old := s.cell.Latest(); old != nil && old.last == next.last && maps.Equal(old.of, next.of) {
		next = old // all was read again, and the Version stays
	}
	s.cell.Put(next, stamp)
	return nil
}
