package partition

import (
	"context"
	"time"
)

// Pace keeps work at a rate.
type Pace struct {
	rate  int
	begin time.Time
	done  int64
}

// NewPace returns a pace of so many a second; 0: as fast as it goes.
func NewPace(rate int) *Pace { return &Pace{rate: rate, begin: time.Now()} }

// Done counts n, and waits until it is time for more.
func (p *Pace) Done(ctx context.Context, n int) error {
	p.done += int64(n)
	if p.rate <= 0 {
		return ctx.Err()
	}
	due := p.begin.Add(time.Duration(float64(p.done) / float64(p.rate) * float64(time.Second)))
	wait := time.NewTimer(time.Until(due))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}
