package httpserver

import (
	"cmp"
	"sync"
	"time"
)

const (
	// defaultLines is the default number of similar lines logged per SampleTime.
	defaultLines = 20
	SampleTime   = 10 * time.Second
)

// Sampler limits the number of similar log lines.
type Sampler struct {
	Most    int // maximum number of lines per SampleTime; 0 for defaultLines, negative for no limit
	mu      sync.Mutex
	began   time.Time
	logged  int
	omitted int
}

// Allow reports whether a line may be written now, and how many lines have been omitted since the
// last written line.
func (s *Sampler) Allow(now time.Time) (ok bool, omitted int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= SampleTime {
		s.began, s.logged = now, 0
	}
	if limit := cmp.Or(s.Most, defaultLines); limit > 0 && s.logged >= limit {
		s.omitted++
		return false, 0
	}
	s.logged++
	omitted, s.omitted = s.omitted, 0
	return true, omitted
}

// Samplers holds a Sampler for each kind of line. Kinds are never removed, so there must be few.
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
