package httpserver

import (
	"testing"
	"time"
)

// A flood of lines is sampled, and the next line reports how many were omitted.
func TestSampler(t *testing.T) {
	t.Parallel()
	s, began := Sampler{Most: 3}, time.Unix(1_000_000, 0)
	for i := range 10 {
		if ok, omitted := s.Allow(began.Add(time.Duration(i) * SampleTime / 10)); ok != (i < 3) || omitted != 0 {
			t.Errorf("line %d: allowed %t, omitted %d", i, ok, omitted)
		}
	}
	if ok, omitted := s.Allow(began.Add(SampleTime)); !ok || omitted != 7 {
		t.Errorf("a later line: allowed %t, omitted %d; want true, 7", ok, omitted)
	}
}
