package redismetrics_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/redis/redismetrics"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// values returns the metrics by name and kind, summed over all other labels. The value of a
// histogram is the number of its observations.
func values(t *testing.T, m *redismetrics.Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "retwis_redis_")
			for _, label := range metric.GetLabel() {
				if label.GetName() == "kind" {
					name += ":" + label.GetValue()
				}
			}
			all[name] += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := redismetrics.New()
	server := redistest.Own(t)
	db, err := store.Open(t.Context(), server.URL(), store.Options{Wrap: m.Wrap, Connected: m.Connected})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := db.Client()
	before := values(t, m)
	if before["connections_total"] < 1 || before["up"] != 1 || before["memory_used_bytes"] < 100_000 || before["clients"] < 1 {
		t.Errorf("unexpected metrics after Open: %v", before)
	}
	if err := c.Do(t.Context(), c.B().Set().Key("k").Value("v").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.DoCache(t.Context(), c.B().Get().Key("k").Cache(), time.Minute).Error(); err != nil {
			t.Fatal(err)
		}
	}
	c.DoMulti(t.Context(), c.B().Get().Key("none").Build(), c.B().Lpush().Key("k").Element("x").Build(), c.B().Evalsha().Sha1("0").Numkeys(0).Build())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	c.Do(canceled, c.B().Get().Key("k").Build())
	got := values(t, m)
	for name, want := range map[string]float64{
		"cache_hits_total": 2, "cache_misses_total": 1, "errors_total:other": 1, "errors_total:unavailable": 0, "seconds": 4,
	} {
		if got[name]-before[name] != want {
			t.Errorf("%s grew by %v, want %v", name, got[name]-before[name], want)
		}
	}

	// Without permission for INFO, the metrics of the server are absent.
	for _, words := range [][]string{{"ACL", "SETUSER", "default", "-info"}, {"CONFIG", "SET", "maxmemory", "1"}} {
		if err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	denied := values(t, m)
	if _, ok := denied["memory_used_bytes"]; ok {
		t.Error("memory metrics without permission for INFO")
	}
	c.Do(t.Context(), c.B().Set().Key("k").Value("v").Build())
	if got := values(t, m); got["errors_total:refused"] != 1 {
		t.Errorf("errors_total:refused of a full server is %v, want 1", got["errors_total:refused"])
	}

	// A stopped server is reported as down.
	if err := c.Do(t.Context(), c.B().Arbitrary("ACL", "SETUSER", "default", "+info").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	got = values(t, m)
	if up, ok := got["up"]; !ok || up != 0 {
		t.Errorf("up of a stopped server is %v (%t), want 0", up, ok)
	}
}

func BenchmarkMeasured(b *testing.B) {
	for _, wrapped := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "measured"}[wrapped], func(b *testing.B) {
			client := redistest.DB(b).Client(b)
			if wrapped {
				client = redismetrics.New().Wrap(client)
			}
			client.Do(b.Context(), client.B().Set().Key("k").Value("v").Build())
			for b.Loop() { // the client-side cache answers
				client.DoCache(b.Context(), client.B().Get().Key("k").Cache(), time.Minute)
			}
		})
	}
}
