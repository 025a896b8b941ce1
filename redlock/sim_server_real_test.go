package redlock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
)

// TestSimServer does the same on a simulated and on a real server: what the
// simulation proves is worth as much as the two agree.
func TestSimServer(t *testing.T) {
	t.Parallel()
	shared := redistest.Own(t)
	client := shared.Client(t)
	const manager = "manager"
	real := &redisServer{
		label: "real", scripts: newScripts(), id: manager, client: client,
		longest: func() time.Duration { return time.Millisecond },
	}
	ctx := context.Background()
	ask := func(o op) reply {
		replies := make([]reply, 1)
		real.run(ctx, []*op{&o}, replies)
		return replies[0]
	}
	if answered := ask(op{kind: opLearn, ttl: time.Millisecond, trust: true}); answered.answer != yes {
		t.Fatal(answered.err)
	}
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		cases++
		names := []string{fmt.Sprint("a", cases), fmt.Sprint("{b}", cases)}
		values := []string{"v1", "v2", "v3", "v4"}
		sim := newSimServer("sim", 1)
		offset := map[string]uint64{} // of the tokens, by name: the clocks differ
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
				o.since = rapid.Int64Range(1, 5).Draw(t, "since")
			case opRelease:
				o.queue = rapid.Bool().Draw(t, "queue")
				o.other = rapid.SampledFrom(append(values, "")).Draw(t, "other")
			case opExtend:
				o.other = rapid.SampledFrom(values).Draw(t, "other")
				o.fence = rapid.Bool().Draw(t, "fence")
			case opRaise:
				known := sim.data.tokens[o.name]
				if known == 0 {
					continue
				}
				o.token = known + uint64(rapid.IntRange(0, 3).Draw(t, "token"))
			}
			toReal := o
			toReal.token += offset[o.name]
			got, want := ask(toReal), sim.do(&o, manager, time.Millisecond)
			if want.token != 0 {
				if offset[o.name] == 0 {
					offset[o.name] = got.token - want.token
				}
				want.token += offset[o.name]
			}
			if got.answer != want.answer || got.token != want.token || got.value != want.value || got.waiters != want.waiters {
				t.Fatalf("%+v: a real server says %+v, the simulated one %+v", o, got, want)
			}
		}
		keepMarker(t, client)
	})
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
