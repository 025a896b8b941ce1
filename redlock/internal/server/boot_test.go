package server

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// fakeServer precedes boot.lua and fakes what the server reports about itself: ARGV[8] is its run,
// ARGV[9] its uptime in seconds, ARGV[10] the CPU time of its main thread, and ARGV[11] its clock
// in seconds.
const fakeServer = `
local server = redis
local redis = {call = function(command, ...)
	if command == 'TIME' then
		return {ARGV[11], '0'}
	elseif command == 'INFO' and ({...})[1] == 'cpu' then
		return 'used_cpu_sys_main_thread:0.000000\r\nused_cpu_user_main_thread:' .. ARGV[10] .. '\r\n'
	elseif command == 'INFO' then
		return 'run_id:' .. ARGV[8] .. '\r\nuptime_in_seconds:' .. ARGV[9] .. '\r\n'
	end
	return server.call(command, ...)
end}
`

// bootCall is a call of boot.lua on a server with the given report. Times are in seconds.
type bootCall struct {
	run               string
	up, time          int
	cpu               string
	declare           string
	longest           int // longest TTL that the manager reports; 0: 10
	known, clock      string
	since, now        int // readings of the clock
	trust             bool
	wantLeft, wantTTL int
}

func (c bootCall) do(t *testing.T, client rueidis.Client) (left, ttl int) {
	t.Helper()
	millis := func(seconds int) string { return strconv.Itoa(seconds * 1000) }
	if c.longest == 0 {
		c.longest = 10
	}
	if c.cpu == "" {
		c.cpu = "0.1"
	}
	parts, err := client.Do(t.Context(), client.B().Eval().Script(fakeServer+bootLua).Numkeys(1).Key(bootKey()).Arg(
		c.declare, millis(c.longest), c.known, c.clock, millis(c.since), millis(c.now), flag(c.trust),
		c.run, strconv.Itoa(c.up), c.cpu, strconv.Itoa(c.time),
	).Build()).ToArray()
	if err != nil {
		t.Fatal(err)
	}
	number := func(i int) int {
		n, err := parts[i].AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return int(n+999) / 1000
	}
	if run, err := parts[1].ToString(); err != nil || run != c.run {
		t.Fatalf("run %q (%v), want %q", run, err, c.run)
	}
	return number(0), number(2)
}

// TestBoot checks when a server votes, given correct and wrong reports about itself.
func TestBoot(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	for name, calls := range map[string][]bootCall{
		"a clock that is set forward": {
			{run: "b", up: 1, time: 1000, wantLeft: 10},
			{run: "b", up: 3600, time: 4600, known: "b", clock: "m", since: 50, now: 51, wantLeft: 9},
			// The same holds for another machine, and for a client that was paused before it sent
			// its request.
			{run: "b", up: 3600, time: 4600, wantLeft: 10},
			{run: "b", up: 3600, time: 4600, known: "b", clock: "m2", since: 700, now: 705, wantLeft: 5},
			{run: "b", up: 3600, time: 4600, known: "b", clock: "m", since: 50, now: 61},
		},
		"a clock that is set to before the start": {
			{run: "b", up: -3600, time: 1000, wantLeft: 10},
			{run: "b", up: -3590, time: 1000, known: "b", clock: "m", since: 50, now: 59, wantLeft: 1},
			{run: "b", up: -3589, time: 1000, known: "b", clock: "m", since: 50, now: 60},
			{run: "b", up: -3589, time: 1000}, // now votes for all managers
		},
		"CPU time that was used": {
			{run: "b", up: 100000, cpu: "9.2", time: 1000, wantLeft: 1},
			{run: "b", up: 100000, cpu: "10.000001", time: 1000},
			// The process continued as another run.
			{run: "c", up: 3, cpu: "11.5", time: 1000, wantLeft: 8},
		},
		"a system that does not report the CPU time of the thread": {
			{run: "b", up: 100000, cpu: "x", time: 1000, wantLeft: 10},
		},
		"the next process of a machine": {
			{run: "b", time: 1000, known: "b", clock: "m", since: 100, now: 100, wantLeft: 10},
			{run: "b", time: 1000, known: "b", clock: "m", since: 107, now: 107, wantLeft: 3},
			{run: "b", time: 1000, known: "b", clock: "other", since: 507, now: 507, wantLeft: 10},
			{run: "b", time: 1000, known: "b", clock: "m", since: 110, now: 110},
		},
		"another run": {
			{run: "b", time: 1000, known: "b", clock: "m", since: 100, now: 109, wantLeft: 1},
			{run: "c", time: 1000, known: "b", clock: "m", since: 100, now: 120, wantLeft: 10},
			{run: "c", time: 1000, known: "c", clock: "m", since: 121, now: 122, wantLeft: 9},
			// The clock reading of the previous run no longer counts.
			{run: "c", time: 1000, known: "c", clock: "m", since: 121, now: 130, wantLeft: 1},
			{run: "c", time: 1000, known: "c", clock: "m", since: 121, now: 131},
			{run: "b", time: 1000, wantLeft: 10},
		},
		"trust": {
			{run: "b", time: 1000, wantLeft: 10},
			{run: "b", time: 1000, trust: true},
			{run: "b", time: 1000},
			{run: "c", time: 1000, wantLeft: 10},
		},
		"the longest ttl on record, until it is no longer used": {
			{run: "b", time: 1000, trust: true, declare: "10000", wantTTL: 10},
			{run: "b", time: 1000, declare: "3600000 10000", wantTTL: 3600},
			{run: "b", time: 1050, declare: "10000", wantTTL: 3600},
			{run: "c", time: 2000, wantLeft: 3600, wantTTL: 3600},
			{run: "c", time: 1000 + 2*3600 + 60, wantLeft: 3600, wantTTL: 3600},
			{run: "c", time: 1000 + 2*3600 + 61, wantLeft: 10},
			// Setting the clock back must not matter.
			{run: "c", time: 9000, declare: "60000", wantLeft: 60, wantTTL: 60},
			{run: "c", time: 1000, wantLeft: 60, wantTTL: 60},
			{run: "c", time: 1000, declare: "60000", wantLeft: 60, wantTTL: 60},
			{run: "c", time: 1180, wantLeft: 60, wantTTL: 60},
			{run: "c", time: 1181, wantLeft: 10},
		},
		"a ttl that other managers use": {
			{run: "b", time: 1000, longest: 60, wantLeft: 60}, // longest is not recorded
			{run: "b", time: 1000, wantLeft: 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := server.Client(t)
			client.Do(t.Context(), client.B().Flushall().Build())
			for i, call := range calls {
				if left, ttl := call.do(t, client); left != call.wantLeft || ttl != call.wantTTL {
					t.Fatalf("call %d: quarantine %d s, longest ttl %d s; want %d and %d", i, left, ttl, call.wantLeft, call.wantTTL)
				}
			}
		})
	}
}

// The TTL in a record of an earlier version counts as declared now.
func TestBootOfEarlierVersion(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t)
	client.Do(t.Context(), client.B().Hset().Key(bootKey()).FieldValue().FieldValue("run", "b").FieldValue("ttl", "60000").Build())
	for i, call := range []bootCall{
		{run: "b", time: 1000, wantTTL: 60},
		{run: "c", time: 1180, wantLeft: 60, wantTTL: 60},
		{run: "c", time: 1181, wantLeft: 10},
	} {
		if left, ttl := call.do(t, client); left != call.wantLeft || ttl != call.wantTTL {
			t.Fatalf("call %d: quarantine %d s, longest ttl %d s; want %d and %d", i, left, ttl, call.wantLeft, call.wantTTL)
		}
	}
}

// The marker does not grow with the number of machines that ask.
func TestBootMarkerIsBounded(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t)
	for i := range 300 {
		bootCall{run: "b", time: 1000, known: "b", clock: fmt.Sprint(i), since: 1, now: 2}.do(t, client)
	}
	if n, err := client.Do(t.Context(), client.B().Hlen().Key(bootKey()).Build()).AsInt64(); err != nil || n > 256 {
		t.Errorf("%d fields (%v), want at most 256", n, err)
	}
	bootCall{run: "b", time: 1000, known: "b", clock: "last", since: 1, now: 11}.do(t, client)
	if n, err := client.Do(t.Context(), client.B().Hlen().Key(bootKey()).Build()).AsInt64(); err != nil || n != 2 {
		t.Errorf("%d fields on a voting server (%v), want 2", n, err)
	}
}

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]int64{
		10 * time.Millisecond: 10, 99 * time.Millisecond: 99, 100 * time.Millisecond: 100, 101 * time.Millisecond: 110,
		10 * time.Second: 10000, 12345 * time.Millisecond: 13000, time.Hour: 3600000, 24 * time.Hour: 87000000, 0: 0,
	} {
		if got := roundUp(ttl); got != want {
			t.Errorf("%v: %d ms, want %d", ttl, got, want)
		}
	}
}
