package web

import (
	"cmp"
	"sync"
	"time"
)

const (
	// sampled is how many refused requests are logged in each sampleTime.
	sampled    = 20
	sampleTime = 10 * time.Second
)

// sampler limits how many similar lines go to the log.
type sampler struct {
	most    int // lines in each sampleTime; 0 for sampled, negative for no limit
	mu      sync.Mutex
	began   time.Time
	logged  int
	omitted int
}

// allow reports whether a line may be written now, and how many were not since
// the last one.
func (s *sampler) allow(now time.Time) (ok bool, omitted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= sampleTime {
		s.began, s.logged = now, 0
	}
	if most := cmp.Or(s.most, sampled); most > 0 && s.logged >= most {
		s.omitted++
		return false, 0
	}
	s.logged++
	omitted, s.omitted = s.omitted, 0
	return true, omitted
}

// samplers has a sampler for each kind of line; there are few kinds.
type samplers struct {
	mu    sync.Mutex
	kinds map[string]*sampler
}

func (s *samplers) allow(kind string, now time.Time) (ok bool, omitted int) {
	s.mu.Lock()
	one := s.kinds[kind]
	if one == nil {
		if s.kinds == nil {
			s.kinds = map[string]*sampler{}
		}
		one = new(sampler)
		s.kinds[kind] = one
	}
	s.mu.Unlock()
	return one.allow(now)
}
