package metrics

import (
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_700_000_000, 0)
	m := NewMeter(start)
	if got := m.PerSecond(start); got != 0 {
		t.Errorf("at the start: %v, want 0", got)
	}
	for second := range 200 {
		for range 1 + second/100 {
			m.add(start.Add(time.Duration(second) * time.Second))
		}
		want := 1.0 // requests in each of the preceding seconds
		if second >= 100+meterTime {
			want = 2
		}
		if got := m.PerSecond(start.Add(time.Duration(second) * time.Second)); second > 0 && second <= 100 && got != want || second >= 160 && got != want {
			t.Fatalf("second %d: %v a second, want %v", second, got, want)
		}
	}
	if got := m.PerSecond(start.Add(230 * time.Second)); got != 1 {
		t.Errorf("half a minute later: %v, want 1", got)
	}
	if got := m.PerSecond(start.Add(time.Hour)); got != 0 {
		t.Errorf("an hour later: %v, want 0", got)
	}
}
