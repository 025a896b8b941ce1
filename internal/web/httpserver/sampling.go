package httpserver

import (
	"cmp"
	"sync"
	"time"
)

const (
	// sampled is the number of refused requests logged per sampleTime.
	sampled    = 20
	SampleTime = 10 * time.Second
)

// Sampler limits the number of similar log lines.
type Sampler struct {
	Most    int // lines per sampleTime; 0 for sampled, negative for no limit
	mu      sync.Mutex
	began   time.Time
	logged  int
	omitted int
}

// Allow reports whether a line may be written now, and how many have been omitted since the last
// one.
func (s *Sampler) Allow(now time.Time) (ok bool, omitted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= SampleTime {
		s.began, s.logged = now, 0
	}
	if most := cmp.Or(s.Most, sampled); most > 0 && s.logged >= most {
		s.omitted++
		return false, 0
	}
	s.logged++
	omitted, s.omitted = s.omitted, 0
	return true, omitted
}

// Samplers has a sampler for each kind of line; there are few kinds.
type Samplers struct {
	mu    sync.Mutex
	kinds map[string]*Sampler
}

func (s *Samplers) Allow(kind string, now time.Time) (ok bool, omitted int) {
	s.mu.Lock()
	sampler := s.kinds[kind]
	if sampler == nil {
		if s.kinds == nil {
			s.kinds = map[string]*Sampler{}
		}
		sampler = new(Sampler)
		s.kinds[kind] = sampler
	}
	s.mu.Unlock()
	return sampler.Allow(now)
}
