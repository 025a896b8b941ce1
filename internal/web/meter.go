package web

import (
	"sync/atomic"
	"time"
)

// meterTime is the time over which a meter counts, in seconds.
const meterTime = 60

// meter counts requests in each of the latest seconds. Around the turn of a second it can
// lose a few.
type meter struct {
	since   int64 // when it was made
	seconds [meterTime + 4]struct{ at, n atomic.Int64 }
}

func newMeter(now time.Time) *meter { return &meter{since: now.Unix()} }

func (m *meter) add(now time.Time) {
	second := now.Unix()
	slot := &m.seconds[second%int64(len(m.seconds))]
	if before := slot.at.Load(); before != second && slot.at.CompareAndSwap(before, second) {
		slot.n.Store(0)
	}
	slot.n.Add(1)
}

// perSecond returns the mean of the latest minute, without the second that has begun, or
// of the time since the meter was made.
func (m *meter) perSecond(now time.Time) float64 {
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
