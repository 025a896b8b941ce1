package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/redistest"
	"retwis/redlock"
	"retwis/redlock/metrics"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestCollector(t *testing.T) {
	t.Parallel()
	m, err := redlock.Dial([]string{redistest.Own(t).URL()}, redlock.Options{TTL: time.Hour, NodeTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.SkipQuarantine(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(metrics.Collector(m)); err != nil {
		t.Fatal(err)
	}
	l, err := m.Lock(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Extend(t.Context()); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += "/" + label.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"redlock_acquired_total":             1,
		"redlock_extended_total":             1,
		"redlock_refused_total/held":         0,
		"redlock_refused_total/no_quorum":    0,
		"redlock_handed_total":               0,
		"redlock_lost_total":                 0,
		"redlock_servers_disconnected_total": 0,
		"redlock_wait_seconds_total":         0,
		"redlock_servers_voting":             1,
		"redlock_servers_needed":             1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (present: %v), want %v", name, value, ok, want)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d metrics: %v", len(got), got)
	}
}
