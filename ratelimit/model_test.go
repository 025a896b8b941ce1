package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/ratelimit"
)

// hours is a limit with an interval of whole hours, so that the duration of the test does not
// matter.
type hours struct{ interval, burst int }

func (h hours) limit() ratelimit.Limit {
	return ratelimit.Limit{Rate: 1, Per: time.Duration(h.interval) * time.Hour, Burst: h.burst}
}

// TestChangingLimits uses different limits with a key and compares each with a model: all limits
// count the allowed events only; refused events and Peek change nothing.
func TestChangingLimits(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := open(t, client, slow)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		key := fmt.Sprint("k", run)
		ahead := 0 // hours until the key resets
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			h := hours{rapid.IntRange(1, 4).Draw(r, "interval"), rapid.IntRange(1, 8).Draw(r, "burst")}
			cost := rapid.IntRange(1, 3).Draw(r, "cost")
			span := h.interval * h.burst
			var got ratelimit.Result
			var err error
			before, _ := client.Do(t.Context(), client.B().Get().Key("ratelimit:"+key).Build()).ToString()
			switch action := rapid.SampledFrom([]string{"take", "take", "peek", "give"}).Draw(r, "action"); action {
			case "take":
				got, err = l.TakeAll(t.Context(), ratelimit.Check{Key: key, Limit: h.limit(), Cost: cost})
			case "peek":
				cost = 1
				got, err = l.Peek(t.Context(), key, h.limit())
			case "give":
				err = l.Give(t.Context(), ratelimit.Check{Key: key, Limit: h.limit(), Cost: cost})
				if err != nil {
					r.Fatal(err)
				}
				if cost <= h.burst { // Give of a larger cost changes nothing
					ahead = max(0, ahead-h.interval*cost)
				}
				continue
			}
			allowed := ahead+h.interval*cost <= span
			if err != nil || got.Allowed != allowed {
				r.Fatalf("%v, %d h ahead, cost %d: %+v, %v; want allowed = %v", h, ahead, cost, got, err, allowed)
			}
			after, _ := client.Do(t.Context(), client.B().Get().Key("ratelimit:"+key).Build()).ToString()
			if before != after {
				if ahead += h.interval * cost; !allowed {
					r.Fatalf("%v: a refused event changed the value from %q to %q", h, before, after)
				}
			}
			if want := max(0, (span-ahead)/h.interval); got.Remaining != want || !near(got.ResetAfter, time.Duration(ahead)*time.Hour) {
				r.Fatalf("%v, %d h ahead: %+v, want %d remaining and a reset in %d h", h, ahead, got, want, ahead)
			}
			if wait := time.Duration(ahead+h.interval*cost-span) * time.Hour; !allowed && h.interval*cost <= span && !near(got.RetryAfter, wait) {
				r.Fatalf("%v, %d h ahead: %+v, want to wait for %v", h, ahead, got, wait)
			}
		}
	})
}

// TestClockBehind checks that a limit is at most full on a server whose clock is behind, and that
// the limit drains there.
func TestClockBehind(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := open(t, client, slow)
	large, small := ratelimit.Limit{Rate: 5, Per: time.Hour}, ratelimit.Limit{Rate: 5, Per: time.Minute}
	for range 2 {
		if _, err := l.Take(t.Context(), "x", large); err != nil {
			t.Fatal(err)
		}
	}
	script := "local tat, rest = string.match(redis.call('GET', KEYS[1]), '^(%d+)(.*)$')\n" +
		"return redis.call('SET', KEYS[1], string.format('%.0f', tat + 3.6e12) .. rest, 'KEEPTTL')" // 1000 hours
	if err := client.Do(t.Context(), client.B().Eval().Script(script).Numkeys(1).Key("ratelimit:x").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err := l.Peek(t.Context(), "x", large); err != nil || r.Allowed || !near(r.ResetAfter, time.Hour) {
			t.Errorf("%+v, %v; want a full limit", r, err)
		}
	}
	for range 2 { // the size of the larger limit is stored
		if r, err := l.Take(t.Context(), "x", small); err != nil || r.Allowed || !near(r.ResetAfter, time.Hour) {
			t.Errorf("%+v, %v; want a full limit", r, err)
		}
	}
	// Take stores the time by the clock of this server.
	if n, err := client.Do(t.Context(), client.B().Pttl().Key("ratelimit:x").Build()).AsInt64(); err != nil || n < 1 || n > time.Hour.Milliseconds() {
		t.Errorf("the key expires in %d ms, %v; want at most an hour", n, err)
	}
	tat, err := client.Do(t.Context(), client.B().Get().Key("ratelimit:x").Build()).AsFloat64()
	if err != nil || tat > float64(time.Now().Add(time.Hour+time.Minute).UnixMicro()) {
		t.Errorf("the stored time is %.0f, %v; want at most an hour from now", tat, err)
	}
}

// TestRoundedInterval checks that no more events than the rate are allowed if the interval is not a
// whole number of microseconds.
func TestRoundedInterval(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.DB(t).Client(t), slow)
	for _, limit := range []ratelimit.Limit{
		{Rate: 9902, Per: time.Second},
		{Rate: 7, Per: 10 * time.Millisecond},
		{Rate: 9, Per: time.Millisecond + time.Nanosecond, Burst: 1000},
		{Rate: 3, Per: time.Hour},
	} {
		r, err := l.TakeAll(t.Context(), ratelimit.Check{Key: limit.String(), Limit: limit, Cost: max(limit.Burst, limit.Rate)})
		if err != nil || !r.Allowed || r.Remaining != 0 {
			t.Fatalf("%v: %+v, %v; want allowed with none remaining", limit, r, err)
		}
		minReset := time.Duration(max(limit.Burst, limit.Rate)) * limit.Per / time.Duration(limit.Rate)
		if r.ResetAfter < minReset || r.ResetAfter > minReset+time.Duration(max(limit.Burst, limit.Rate))*time.Microsecond {
			t.Errorf("%v: resets after %v, want at least %v", limit, r.ResetAfter, minReset)
		}
	}
}
