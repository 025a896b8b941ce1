package ratelimit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Errors of arguments. Nothing is counted.
var (
	ErrLimit = errors.New("invalid limit") // or no limits, or too many
	ErrKey   = errors.New("invalid key")
	ErrCost  = errors.New("invalid cost")
)

// Limit limits how often an event may happen.
type Limit struct {
	// Rate is the average number of events allowed per Per: at most 10,000 per second.
	Rate int
	Per  time.Duration
	// Burst is the number of events that may happen at once. Default: Rate.
	Burst int
}

// Bounds of a limit. Times are whole microseconds, which Lua computes exactly up to 2^53.
const (
	minInterval = 100 * time.Microsecond // between two events: 10,000 per second

	maxRate  = 1_000_000_000
	maxPer   = 366 * 24 * time.Hour
	maxSpan  = 10 * 366 * 24 * time.Hour // time to empty a full bucket
	maxKey   = 1024                      // bytes
	maxTaken = 16                        // limits per TakeAll
)

// ParseLimit parses a limit: "10/1m" is ten a minute, "10/1m:3" is ten a minute with at most three
// at once. A bare unit means one: "5/s", "100/h", "1000/d".
func ParseLimit(text string) (Limit, error) {
	rate, rest, ok := strings.Cut(text, "/")
	per, burst, hasBurst := strings.Cut(rest, ":")
	var l Limit
	var err error
	if l.Rate, err = strconv.Atoi(rate); !ok || err != nil {
		return Limit{}, fmt.Errorf(`ratelimit: %w: %q: write it like "10/1m", or "10/1m:3" with at most 3 at once`, ErrLimit, text)
	}
	if l.Per, err = parsePer(per); err != nil {
		return Limit{}, fmt.Errorf(`ratelimit: %w: %q: %q is not a time: write it like "30s", "1m", "1h" or "1d"`, ErrLimit, text, per)
	}
	if hasBurst {
		if l.Burst, err = strconv.Atoi(burst); err != nil || l.Burst < 1 {
			return Limit{}, fmt.Errorf("ratelimit: %w: %q: %q is not a burst: it must be from 1 to %d", ErrLimit, text, burst, maxRate)
		}
	}
	return l, l.check()
}

func parsePer(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if days == "" {
			days = "1"
		}
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > int(maxPer/(24*time.Hour)) {
			return 0, ErrLimit
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	if text != "" && (text[0] < '0' || text[0] > '9') {
		text = "1" + text
	}
	return time.ParseDuration(text)
}

// String returns the limit in the format of ParseLimit.
func (l Limit) String() string {
	text := strconv.Itoa(l.Rate) + "/" + l.Per.String()
	if l.Burst != 0 && l.Burst != l.Rate {
		text += ":" + strconv.Itoa(l.Burst)
	}
	return text
}

func (l Limit) burst() int {
	if l.Burst == 0 {
		return l.Rate
	}
	return l.Burst
}

// interval returns the time that an event takes, in microseconds. The time is rounded up; otherwise
// more events than Rate would be allowed.
func (l Limit) interval() int64 {
	divisor := int64(l.Rate) * int64(time.Microsecond)
	return (int64(l.Per) + divisor - 1) / divisor
}

// span returns how far the theoretical arrival time (TAT) may be in the future, in microseconds.
func (l Limit) span() int64 { return l.interval() * int64(l.burst()) }

func (l Limit) check() error {
	switch {
	case l.Rate < 1 || l.Rate > maxRate:
		return fmt.Errorf("ratelimit: %w: Rate is %d: it must be from 1 to %d", ErrLimit, l.Rate, maxRate)
	case l.Per < time.Millisecond || l.Per > maxPer:
		return fmt.Errorf("ratelimit: %w: Per is %v: it must be from 1ms to %v", ErrLimit, l.Per, maxPer)
	case l.Burst < 0 || l.Burst > maxRate:
		return fmt.Errorf("ratelimit: %w: Burst is %d: it must be from 0 to %d, where 0 stands for Rate", ErrLimit, l.Burst, maxRate)
	case l.Per/time.Duration(l.Rate) < minInterval:
		return fmt.Errorf("ratelimit: %w: %v: more than %d a second; use Cost to count several events at once", ErrLimit, l, time.Second/minInterval)
	case time.Duration(l.burst()) > maxSpan/(l.Per/time.Duration(l.Rate)):
		return fmt.Errorf("ratelimit: %w: %v: a full bucket would take more than %v to empty", ErrLimit, l, maxSpan)
	}
	return nil
}
