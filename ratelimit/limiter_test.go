package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/ratelimit"
)

// open returns a limiter.
func open(t testing.TB, client rueidis.Client, opt ratelimit.Options) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(client, opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// slow has a timeout that machines that stall do not reach.
var slow = ratelimit.Options{Timeout: time.Hour}

// TestTake checks that a burst is allowed at once, and then an event per interval.
func TestTake(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.DB(t).Client(t), slow)
	limit := ratelimit.Limit{Rate: 3, Per: time.Hour}
	for i, want := range []ratelimit.Result{
		{Allowed: true, Remaining: 2, ResetAfter: 20 * time.Minute},
		{Allowed: true, Remaining: 1, ResetAfter: 40 * time.Minute},
		{Allowed: true, Remaining: 0, ResetAfter: time.Hour},
		{Remaining: 0, ResetAfter: time.Hour, RetryAfter: 20 * time.Minute},
	} {
		got, err := l.Take(t.Context(), "ada", limit)
		if err != nil {
			t.Fatal(err)
		}
		if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.Key != "ada" ||
			!near(got.ResetAfter, want.ResetAfter) || !near(got.RetryAfter, want.RetryAfter) {
			t.Errorf("event %d: %+v, want %+v", i, got, want)
		}
	}
	if r, err := l.Take(t.Context(), "ben", limit); err != nil || !r.Allowed {
		t.Errorf("Take of another key = %+v, %v; want allowed", r, err)
	}
	if err := l.Reset(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Peek(t.Context(), "ada", limit); err != nil || !r.Allowed || r.Remaining != 3 {
		t.Errorf("Peek after a reset = %+v, %v; want 3 remaining", r, err)
	}
	if r, err := l.TakeAll(t.Context(), ratelimit.Check{Key: "ada", Limit: limit, Cost: 4}); err != nil || r.Allowed || r.RetryAfter >= 0 {
		t.Errorf("TakeAll of an event that is never allowed = %+v, %v; want a negative RetryAfter", r, err)
	}
}

// near reports whether got is want, except for the duration of the test.
func near(got, want time.Duration) bool {
	return got <= want+time.Millisecond && got > want-5*time.Minute
}

// TestCostAboveBurst checks that an event that costs more than the burst is neither allowed nor
// counted, and that Give of the event changes nothing.
func TestCostAboveBurst(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := open(t, client, slow)
	other := ratelimit.Check{Key: "other", Limit: ratelimit.Limit{Rate: 5, Per: time.Hour}}
	for i, limit := range []ratelimit.Limit{
		{Rate: 1, Per: 24 * time.Hour, Burst: 1},
		{Rate: 3, Per: 366 * 24 * time.Hour, Burst: 3},
		{Rate: 1000, Per: 24 * time.Hour, Burst: 10},
	} {
		for _, cost := range []int{limit.Burst + 1, 106_751_992, 213_503_983, 640_511_946, 1_000_000_000} {
			c := ratelimit.Check{Key: fmt.Sprint(i, ":", cost), Limit: limit, Cost: cost}
			if _, err := l.TakeAll(t.Context(), ratelimit.Check{Key: c.Key, Limit: limit}, other); err != nil {
				t.Fatal(err)
			}
			before := values(t, client, c.Key, other.Key)
			for _, checks := range [][]ratelimit.Check{{c}, {other, c}} {
				r, err := l.TakeAll(t.Context(), checks...)
				if err != nil || r.Allowed || r.Key != c.Key || r.RetryAfter >= 0 {
					t.Errorf("%v, cost %d: %+v, %v; want refused forever", limit, cost, r, err)
				}
				if err := l.Give(t.Context(), checks...); err != nil {
					t.Error(err)
				}
				if after := values(t, client, c.Key, other.Key); !slices.Equal(after, before) {
					t.Errorf("%v, cost %d: the values changed from %q to %q", limit, cost, before, after)
				}
			}
			if err := l.Reset(t.Context(), other.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// values returns the values that Redis stores for limits.
func values(t *testing.T, client rueidis.Client, limits ...string) []string {
	t.Helper()
	keys := make([]string, len(limits))
	for i, limit := range limits {
		keys[i] = "ratelimit:" + limit
	}
	values, err := client.Do(t.Context(), client.B().Mget().Key(keys...).Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// TestExactUnderConcurrency checks that concurrent callers of several clients get exactly the
// burst, and afterwards an event per interval.
func TestExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	for name, clients := range map[string]func(t *testing.T) rueidis.Client{
		"server": func() func(t *testing.T) rueidis.Client {
			db := redistest.DB(t)
			return func(t *testing.T) rueidis.Client { return db.Client(t) }
		}(),
		"cluster": func() func(t *testing.T) rueidis.Client {
			cluster := redistest.Cluster(t, 3)
			return func(t *testing.T) rueidis.Client { return cluster.Client(t) }
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := ratelimit.Limit{Rate: 1000, Per: time.Hour, Burst: 100} // 3.6 s each
			var allowed atomic.Int64
			var wg sync.WaitGroup
			start := time.Now()
			for range 4 {
				l := open(t, clients(t), slow)
				for range 16 {
					wg.Go(func() {
						for range 20 {
							r, err := l.Take(t.Context(), "all", limit)
							if err != nil {
								t.Error(err)
								return
							}
							if r.Allowed {
								allowed.Add(1)
							}
						}
					})
				}
			}
			wg.Wait()
			maxAllowed := 100 + int64(time.Since(start)/(3600*time.Millisecond)) + 1
			if n := allowed.Load(); n < 100 || n > maxAllowed {
				t.Errorf("allowed %d of 1,280 events, want 100 to %d", n, maxAllowed)
			}
		})
	}
}

// TestTakeAll checks that either all limits count an event or none does, in one slot and in
// several.
func TestTakeAll(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]rueidis.Client{
		"server":  redistest.DB(t).Client(t),
		"cluster": redistest.Cluster(t, 3).Client(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, client, slow)
			day, hour := ratelimit.Limit{Rate: 10, Per: 24 * time.Hour}, ratelimit.Limit{Rate: 3, Per: time.Hour}
			for _, keys := range [][2]string{{"{a}:day", "{a}:hour"}, {"b:day", "c:hour"}} {
				take := func(inOrder bool) ratelimit.Result {
					t.Helper()
					checks := []ratelimit.Check{{Key: keys[0], Limit: day}, {Key: keys[1], Limit: hour}}
					if !inOrder {
						checks[0], checks[1] = checks[1], checks[0]
					}
					r, err := l.TakeAll(t.Context(), checks...)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				for i := range 3 {
					if r := take(i%2 == 0); !r.Allowed || r.Key != keys[1] || r.Remaining != 2-i {
						t.Fatalf("event %d: %+v, want allowed with %d remaining", i, r, 2-i)
					}
				}
				for i := range 4 {
					if r := take(i%2 == 0); r.Allowed || r.Key != keys[1] || r.RetryAfter <= 0 {
						t.Fatalf("an event past the limit: %+v, want refused by %s", r, keys[1])
					}
				}
				if r, err := l.Peek(t.Context(), keys[0], day); err != nil || r.Remaining != 7 {
					t.Errorf("%s: a refused event was counted: %+v, %v", keys[0], r, err)
				}
			}
		})
	}
}

// TestForeignValues checks that values of other clocks and of larger limits delay events only as
// long as a full limit.
func TestForeignValues(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := open(t, client, slow)
	limit := ratelimit.Limit{Rate: 10, Per: time.Minute}
	future := fmt.Sprint(time.Now().Add(1000 * time.Hour).UnixMicro())
	for value, allowed := range map[string]bool{
		"1.1": true, future + ".0": false, future + "." + future: false, "9000000000000000000.9000000000000000000": false,
	} {
		if err := client.Do(t.Context(), client.B().Set().Key("ratelimit:x").Value(value).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		r, err := l.Take(t.Context(), "x", limit)
		if err != nil || r.Allowed != allowed || r.RetryAfter > 6*time.Second || r.ResetAfter > time.Minute {
			t.Errorf("%q: %+v, %v; want allowed = %v and short delays", value, r, err, allowed)
		}
		// The limit must drain, and not stay full until the time of the other clock.
		if n, err := client.Do(t.Context(), client.B().Pttl().Key("ratelimit:x").Build()).AsInt64(); err != nil || n < 1 || n > 60_000 {
			t.Errorf("%q: the key expires in %d ms, %v; want 1 to 60000", value, n, err)
		}
	}
}

// TestForeignKeys checks that a key that is not a limit is an error, and that neither the key nor
// limits checked along with the key change.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	limit := ratelimit.Limit{Rate: 10, Per: time.Minute}
	future := fmt.Sprint(time.Now().Add(1000*time.Hour).UnixMicro(), ".60000000")
	for _, command := range [][]string{
		{"SET", "ratelimit:x", ""},
		{"SET", "ratelimit:x", "not a number"},
		{"SET", "ratelimit:x", "42"},
		{"SET", "ratelimit:x", "-5.1"},
		{"SET", "ratelimit:x", "nan"},
		{"HSET", "ratelimit:x", "a", "b"},
		{"RPUSH", "ratelimit:x", "a"},
		{"SETBIT", "ratelimit:x", "7", "1"},
	} {
		client := redistest.DB(t).Client(t)
		do := func(words ...string) string {
			text, _ := client.Do(ctx, client.B().Arbitrary(words...).Build()).ToString()
			return text
		}
		do(command...)
		do("SET", "ratelimit:other", future) // a write would reduce the value
		before := do("DUMP", "ratelimit:x")
		l := open(t, client, slow)
		x, other := ratelimit.Check{Key: "x", Limit: limit}, ratelimit.Check{Key: "other", Limit: limit}
		_, takeErr := l.Take(ctx, "x", limit)
		_, takeAllErr := l.TakeAll(ctx, other, x)
		_, peekErr := l.Peek(ctx, "x", limit)
		for name, err := range map[string]error{
			"Take": takeErr, "TakeAll": takeAllErr, "Peek": peekErr, "Give": l.Give(ctx, x), "Reset": l.Reset(ctx, "x"),
		} {
			if err == nil || command[0] == "SET" && !strings.Contains(err.Error(), `the key "ratelimit:x" holds something that is not a limit`) {
				t.Errorf("%v: %s: %v, want an error about the key", command, name, err)
			}
		}
		if after := do("DUMP", "ratelimit:x"); after != before || do("GET", "ratelimit:other") != future {
			t.Errorf("%v: the key is %q, want %q; the other limit is %q", command, after, before, do("GET", "ratelimit:other"))
		}
	}
}

// TestFaults checks that a limiter whose server hangs or is down decides in time, as configured.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	client := server.Client(t)
	limit := ratelimit.Limit{Rate: 10, Per: time.Minute}
	failClosed := open(t, client, ratelimit.Options{Timeout: 50 * time.Millisecond})
	failOpen := open(t, client, ratelimit.Options{Timeout: 50 * time.Millisecond, FailOpen: true})
	server.Freeze(t)
	if r, err := failClosed.Take(t.Context(), "x", limit); err == nil || r.Allowed {
		t.Errorf("a frozen server: %+v, %v; want an error", r, err)
	}
	if r, err := failOpen.Take(t.Context(), "x", limit); err != nil || !r.Allowed || r.Unchecked == nil {
		t.Errorf("a frozen server, fail open: %+v, %v; want allowed and unchecked", r, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := failOpen.Take(canceled, "x", limit); !errors.Is(err, context.Canceled) || r.Allowed {
		t.Errorf("a canceled context: %+v, %v; want context.Canceled", r, err)
	}
	server.Thaw(t)
	server.Kill(t)
	if r, err := failOpen.Take(t.Context(), "x", limit); err != nil || !r.Allowed || r.Unchecked == nil {
		t.Errorf("a killed server, fail open: %+v, %v; want allowed and unchecked", r, err)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.DB(t).Client(t), slow)
	valid := ratelimit.Limit{Rate: 1, Per: time.Second}
	for name, test := range map[string]struct {
		checks []ratelimit.Check
		want   error
	}{
		"no limits":        {nil, ratelimit.ErrLimit},
		"no rate":          {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Per: time.Second}}}, ratelimit.ErrLimit},
		"no period":        {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Rate: 1}}}, ratelimit.ErrLimit},
		"a long period":    {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Rate: 1, Per: 1000 * 24 * time.Hour}}}, ratelimit.ErrLimit},
		"a high rate":      {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Rate: 20_000, Per: time.Second}}}, ratelimit.ErrLimit},
		"a long bucket":    {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Rate: 1, Per: time.Hour, Burst: 1_000_000_000}}}, ratelimit.ErrLimit},
		"a negative burst": {[]ratelimit.Check{{Key: "x", Limit: ratelimit.Limit{Rate: 1, Per: time.Hour, Burst: -1}}}, ratelimit.ErrLimit},
		"no key":           {[]ratelimit.Check{{Limit: valid}}, ratelimit.ErrKey},
		"a long key":       {[]ratelimit.Check{{Key: string(make([]byte, 2000)), Limit: valid}}, ratelimit.ErrKey},
		"a key twice":      {[]ratelimit.Check{{Key: "x", Limit: valid}, {Key: "x", Limit: valid}}, ratelimit.ErrKey},
		"a wrong cost":     {[]ratelimit.Check{{Key: "x", Limit: valid, Cost: -1}}, ratelimit.ErrCost},
	} {
		if _, err := l.TakeAll(t.Context(), test.checks...); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if _, err := ratelimit.New(nil, ratelimit.Options{}); err == nil {
		t.Error("New accepted a nil client")
	}
	if _, err := ratelimit.New(redistest.DB(t).Client(t), ratelimit.Options{Timeout: -1}); err == nil {
		t.Error("New accepted a negative timeout")
	}
}

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ratelimit.Limit{
		"10/1m":   {Rate: 10, Per: time.Minute},
		"10/m":    {Rate: 10, Per: time.Minute},
		"5/s:1":   {Rate: 5, Per: time.Second, Burst: 1},
		"100/d":   {Rate: 100, Per: 24 * time.Hour},
		"7/7d:50": {Rate: 7, Per: 7 * 24 * time.Hour, Burst: 50},
	} {
		got, err := ratelimit.ParseLimit(text)
		if err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ratelimit.ParseLimit(got.String()); err != nil || again != want {
			t.Errorf("ParseLimit(%q).String() = %q, which parses as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "10", "/m", "10/", "x/m", "10/x", "10/1m:", "10/1m:0", "10/1m:x", "0/m", "-1/m", "1/-1m", "1/99999d"} {
		if l, err := ratelimit.ParseLimit(text); !errors.Is(err, ratelimit.ErrLimit) {
			t.Errorf("ParseLimit(%q) = %+v, %v; want ErrLimit", text, l, err)
		}
	}
}
