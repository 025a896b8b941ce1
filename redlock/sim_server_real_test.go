package redlock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"retwis/redlock/internal/clock"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

// realServer returns a server that votes, its client, and what asks it.
func realServer(t *testing.T) (rueidis.Client, func(op) reply) {
	t.Helper()
	client := redistest.Own(t).Client(t)
	server := &redisServer{
		label: "real", scripts: newScripts(), id: simManager, client: client,
		records: newRecords(1, time.Millisecond), clock: clock.Machine(),
	}
	ask := func(o op) reply {
		replies := make([]reply, 1)
		server.run(t.Context(), []*op{&o}, replies)
		return replies[0]
	}
	if answered := ask(op{kind: opBoot, ttl: time.Millisecond, skipQuarantine: true}); answered.answer != yes {
		t.Fatal(answered.err)
	}
	return client, ask
}

const simManager = "manager"

// A wrong clock does not change the place of a waiter.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	client, ask := realServer(t)
	minute := op{kind: opAcquire, name: "name", value: "holder", ttl: time.Minute, grant: time.Minute, line: time.Minute}
	if answered := ask(minute); answered.answer != yes {
		t.Fatal(answered.err)
	}
	for value, since := range map[string]time.Time{
		"right":  time.Now().Add(-5 * time.Second),
		"behind": time.Now().Add(-time.Hour),
		"ahead":  time.Now().Add(time.Hour),
	} {
		o := minute
		o.value, o.queue, o.since, o.waited = value, true, since.UnixMicro(), 5*time.Second
		if answered := ask(o); answered.answer != no {
			t.Fatalf("%+v", answered)
		}
		score, err := client.Do(t.Context(), client.B().Zscore().Key(waitersKey("name")).Member(simManager+":"+value).Build()).AsFloat64()
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(time.UnixMicro(int64(score))); waited < 4*time.Second || waited > 30*time.Second {
			t.Errorf("%s: it stands as if it had waited for %v", value, waited)
		}
	}
}

// TestSimServer does the same on a simulated and on a real server: what the
// simulation proves is worth as much as the two agree.
func TestSimServer(t *testing.T) {
	t.Parallel()
	client, ask := realServer(t)
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		cases++
		names := []string{fmt.Sprint("a", cases), fmt.Sprint("{b}", cases)}
		values := []string{"v1", "v2", "v3", "v4"}
		sim := newSimServer("sim", 1)
		sim.second = func() int64 { return time.Now().Unix() }
		for range rapid.IntRange(1, 40).Draw(t, "ops") {
			o := op{
				kind:  kind(rapid.IntRange(int(opAcquire), int(opShow)).Draw(t, "kind")),
				name:  rapid.SampledFrom(names).Draw(t, "name"),
				value: rapid.SampledFrom(values).Draw(t, "value"),
				ttl:   time.Minute, grant: time.Minute, line: time.Minute,
			}
			switch o.kind {
			case opAcquire:
				o.queue = rapid.Bool().Draw(t, "queue")
				o.fence = rapid.Bool().Draw(t, "fence")
				o.quick = !o.queue && !o.fence && rapid.Bool().Draw(t, "quick")
				o.attempt, o.within = 1, time.Minute
				o.since = time.Now().UnixMicro()/1e6*1e6 + rapid.Int64Range(1, 5).Draw(t, "since")
			case opRelease:
				o.queue = rapid.Bool().Draw(t, "queue")
				o.chain, o.position = drawChain(t, values, o.value)
			case opExtend:
				o.chain, o.position = drawChain(t, values, o.value)
				o.fence = rapid.Bool().Draw(t, "fence")
			case opRaise:
				known := sim.data.tokens[o.name]
				if known == 0 {
					continue
				}
				o.token = known + uint64(rapid.IntRange(0, 3).Draw(t, "token"))
			}
			got, want := ask(o), sim.do(&o, simManager, false, simEvidence{longest: time.Millisecond})
			if got.token != want.token && (got.token%1e6 == 0 || want.token%1e6 == 0) {
				// A second began between the two.
				sim.data.tokens[o.name], want.token = got.token, got.token
			}
			if got.answer != want.answer || got.token != want.token || got.value != want.value || got.waiters != want.waiters || got.fresh != want.fresh {
				t.Fatalf("%+v: a real server says %+v, the simulated one %+v", o, got, want)
			}
		}
		keepMarker(t, client)
	})
}

// drawChain returns a random chain that ends with a value, and its position, or no chain.
func drawChain(t *rapid.T, values []string, last string) (*chain, int) {
	before := rapid.SliceOfNDistinct(rapid.SampledFrom(values), 0, 3, rapid.ID).Draw(t, "before")
	if len(before) == 0 {
		return nil, 0
	}
	confirmed := rapid.IntRange(0, len(before)).Draw(t, "confirmed")
	return &chain{values: append(before, last), confirmed: []int{confirmed}}, len(before)
}

// keepMarker empties a server but for its boot marker.
func keepMarker(t *rapid.T, client rueidis.Client) {
	ctx := context.Background()
	boot := client.Do(ctx, client.B().Hgetall().Key(bootKey()).Build())
	marker, err := boot.AsStrMap()
	if err != nil {
		t.Fatal(err)
	}
	client.Do(ctx, client.B().Flushall().Build())
	for field, value := range marker {
		client.Do(ctx, client.B().Hset().Key(bootKey()).FieldValue().FieldValue(field, value).Build())
	}
}
