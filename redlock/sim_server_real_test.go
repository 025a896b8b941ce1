package redlock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/redlock/internal/server"
)

// realServer returns the client of a voting server, and a function that sends it ops.
func realServer(t *testing.T) (rueidis.Client, func(server.Op) server.Reply) {
	t.Helper()
	client := redistest.Own(t).Client(t)
	node := server.NewRedis(client, "real")
	server.Prepare([]*server.Redis{node}, simManager, server.NewRecords(1, time.Millisecond))
	ask := func(o server.Op) server.Reply {
		replies := make([]server.Reply, 1)
		node.Run(t.Context(), []*server.Op{&o}, replies)
		return replies[0]
	}
	if answered := ask(server.Op{Kind: server.Boot, TTL: time.Millisecond, SkipQuarantine: true}); answered.Answer != server.Yes {
		t.Fatal(answered.Err)
	}
	return client, ask
}

// simManager is the id of the manager that sends the ops.
const simManager = "manager"

// A wrong clock does not change the place of a waiter in the queue.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	client, ask := realServer(t)
	acquire := server.Op{Kind: server.Acquire, Name: "name", Value: "holder", TTL: time.Minute, Grant: time.Minute, Line: time.Minute}
	if answered := ask(acquire); answered.Answer != server.Yes {
		t.Fatal(answered.Err)
	}
	for value, since := range map[string]time.Time{
		"right":  time.Now().Add(-5 * time.Second),
		"behind": time.Now().Add(-time.Hour),
		"ahead":  time.Now().Add(time.Hour),
	} {
		o := acquire
		o.Value, o.Queue, o.Since, o.Waited = value, true, since.UnixMicro(), 5*time.Second
		if answered := ask(o); answered.Answer != server.No {
			t.Fatalf("%s: %+v; want No", value, answered)
		}
		score, err := client.Do(t.Context(), client.B().Zscore().Key("redlock:waiters:{name}").Member(simManager+":"+value).Build()).AsFloat64()
		require.OK(t)(err)
		if waited := time.Since(time.UnixMicro(int64(score))); waited < 4*time.Second || waited > time.Hour/2 {
			t.Errorf("%s: queued with a waiting time of %v, want about 5s", value, waited)
		}
	}
}

// TestSimServer compares a simulated server with a real server. The simulation is only valid if the
// two agree.
func TestSimServer(t *testing.T) {
	t.Parallel()
	client, ask := realServer(t)
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		cases++
		names := []string{fmt.Sprint("a", cases), fmt.Sprint("{b}", cases)}
		values := []string{server.NewValue(), server.NewValue(), server.NewValue(), server.NewValue()}
		sim := newSimServer("sim", 1)
		sim.second = func() int64 { return time.Now().Unix() }
		for range rapid.IntRange(1, 40).Draw(t, "ops") {
			o := server.Op{
				Kind:  server.Kind(rapid.IntRange(int(server.Acquire), int(server.Show)).Draw(t, "kind")),
				Name:  rapid.SampledFrom(names).Draw(t, "name"),
				Value: rapid.SampledFrom(values).Draw(t, "value"),
				TTL:   time.Minute, Grant: time.Minute, Line: time.Minute,
			}
			switch o.Kind {
			case server.Acquire:
				o.Queue = rapid.Bool().Draw(t, "queue")
				o.Tokens = rapid.IntRange(0, 3).Draw(t, "tokens")
				o.Quick = !o.Queue && o.Tokens == 0 && rapid.Bool().Draw(t, "quick")
				o.Within = time.Minute
				o.Since = time.Now().UnixMicro()/1e6*1e6 + rapid.SampledFrom([]int64{-1e6, 1, 2, 3, 4, 5}).Draw(t, "since")
			case server.Release:
				o.Queue = rapid.Bool().Draw(t, "queue")
			case server.Raise:
				known := sim.data.tokens[o.Name]
				if known == 0 {
					continue
				}
				o.Token = known + uint64(rapid.IntRange(0, 3).Draw(t, "token"))
			}
			got := ask(o)
			if o.Queue {
				o.Since = place(t, client, o)
			}
			want := sim.do(&o, simManager, false, simEvidence{longest: time.Millisecond})
			if got.Token != want.Token && (got.Token%1e6 < 10 || want.Token%1e6 < 10) {
				// A new second began between the two calls.
				sim.data.tokens[o.Name], want.Token = got.Token, got.Token
			}
			if got.Answer != want.Answer || got.Token != want.Token || got.Value != want.Value || got.Waiters != want.Waiters || got.Fresh != want.Fresh {
				t.Fatalf("%+v: the real server replied %+v, the simulated one %+v", o, got, want)
			}
		}
		keepMarker(t, client)
	})
}

// place returns the place of a waiter on a real server. The place is not the time of arrival if the
// waiter's clock is wrong (see TestWrongClock).
func place(t *rapid.T, client rueidis.Client, o server.Op) int64 {
	for _, name := range []string{"{" + o.Name + "}", "=" + o.Name} {
		score := client.Do(context.Background(), client.B().Zscore().Key("redlock:waiters:"+name).Member(simManager+":"+o.Value).Build())
		if place, err := score.AsFloat64(); err == nil {
			return int64(place)
		} else if !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
	}
	return o.Since
}

// keepMarker deletes everything on a server except its boot marker.
func keepMarker(t *rapid.T, client rueidis.Client) {
	ctx := context.Background()
	boot := client.Do(ctx, client.B().Hgetall().Key("redlock:boot").Build())
	marker, err := boot.AsStrMap()
	require.OK(t)(err)
	client.Do(ctx, client.B().Flushall().Build())
	for field, value := range marker {
		client.Do(ctx, client.B().Hset().Key("redlock:boot").FieldValue().FieldValue(field, value).Build())
	}
}
