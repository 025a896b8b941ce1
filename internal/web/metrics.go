package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"retwis/internal/app"
)

// metrics are the metrics of the site.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	events   *prometheus.CounterVec
	meter    *meter
}

// NewRegistry returns a registry with the metrics of Go and of the process.
func NewRegistry() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	return registry, register(registry,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

func register(registry *prometheus.Registry, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("web: metrics: %w", err)
		}
	}
	return nil
}

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	m := &metrics{
		registry: registry,
		meter:    newMeter(time.Now()),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retwis_http_requests_total", Help: "Requests answered, by route and class of status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "retwis_http_request_seconds", Help: "Time to answer a request, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "retwis_http_requests_in_flight", Help: "Requests being answered now.",
		}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retwis_security_events_total", Help: "Events of the security log, by event, those that a flood left out included.",
		}, []string{"event"}),
	}
	// An increase from nothing is seen only where there was a zero.
	for _, event := range []string{"login", "login failed", "sign-up"} {
		m.events.WithLabelValues(event)
	}
	return m, register(registry, m.requests, m.seconds, m.inFlight, m.events)
}

// viewMetrics count the posts of pages.
func viewMetrics(service *app.App) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_posts_rendered_total", Help: "Posts that had to be fetched and rendered for a page.",
		}, func() float64 { read, _ := service.Views.Stats(); return float64(read) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_posts_reused_total", Help: "Posts that a page found rendered.",
		}, func() float64 { _, reused := service.Views.Stats(); return float64(reused) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_outdated_values_total", Help: "Values used from memory, up to a minute old, because a part of the database could not be reached.",
		}, func() float64 { _, uses := service.Outdated(); return float64(uses) }),
	}
}

// routeMetrics are the metrics of one route, looked up once.
type routeMetrics struct {
	requests [6]prometheus.Counter // by class of status
	seconds  prometheus.Observer
	meter    *meter
}

func (m *metrics) route(pattern string) *routeMetrics {
	r := &routeMetrics{seconds: m.seconds.WithLabelValues(pattern), meter: m.meter}
	for class := 1; class < len(r.requests); class++ {
		r.requests[class] = m.requests.WithLabelValues(pattern, strconv.Itoa(class)+"xx")
	}
	return r
}

func (r *routeMetrics) observe(status int, took time.Duration) {
	if status < http.StatusContinue || status > 599 {
		status = http.StatusInternalServerError
	}
	r.requests[status/100].Inc()
	r.seconds.Observe(took.Seconds())
	r.meter.add(time.Now())
}
