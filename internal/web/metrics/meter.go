package metrics

import (
	"sync/atomic"
	"time"
)

// meterTime is the period over which a meter counts, in seconds.
const meterTime = 60

// Meter counts requests in each second of the last minute. It can lose a few at the turn of a
// second.
type Meter struct {
	since   int64 // Unix time of creation
	seconds [meterTime + 4]struct{ at, n atomic.Int64 }
}

func NewMeter(now time.Time) *Meter { return &Meter{since: now.Unix()} }

func (m *Meter) add(now time.Time) {
	second := now.Unix()
	slot := &m.seconds[second%int64(len(m.seconds))]
	if before := slot.at.Load(); before != second && slot.at.CompareAndSwap(before, second) {
		slot.n.Store(0)
	}
	slot.n.Add(1)
}

// PerSecond returns the mean rate over the latest minute, or since the meter was created, without
// the current second.
func (m *Meter) PerSecond(now time.Time) float64 {
	end := now.Unix()
	from := max(end-meterTime, m.since)
	var sum int64
	for i := range m.seconds {
		if at := m.seconds[i].at.Load(); at >= from && at < end {
			sum += m.seconds[i].n.Load()
		}
	}
	return float64(sum) / float64(max(end-from, 1))
}
