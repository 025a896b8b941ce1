package metrics

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the metrics of the site.
type Metrics struct {
	Registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	InFlight prometheus.Gauge
	Events   *prometheus.CounterVec
	Meter    *Meter
}

// NewRegistry returns a registry with the metrics of Go and of the process.
func NewRegistry() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	return registry, Register(registry,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

func Register(registry *prometheus.Registry, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("web: metrics: %w", err)
		}
	}
	return nil
}

func New(registry *prometheus.Registry) (*Metrics, error) {
	m := &Metrics{
		Registry: registry,
		Meter:    NewMeter(time.Now()),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retwis_http_requests_total", Help: "Requests answered, by route and class of status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "retwis_http_request_seconds", Help: "Time to answer a request, not counting the transfer of files, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		InFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "retwis_http_requests_in_flight", Help: "Requests being answered now.",
		}),
		Events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retwis_security_events_total", Help: "Events of the security log, by event, including those omitted by sampling.",
		}, []string{"event"}),
	}
	// Prometheus detects an increase from zero only if it has collected the zero.
	for _, event := range []string{"login", "login failed", "sign-up"} {
		m.Events.WithLabelValues(event)
	}
	return m, Register(registry, m.requests, m.seconds, m.InFlight, m.Events)
}

// Route holds the metrics of one route, so that they are looked up only once.
type Route struct {
	requests [6]prometheus.Counter // by status class
	seconds  prometheus.Observer
	meter    *Meter
}

func (m *Metrics) Route(pattern string) *Route {
	r := &Route{seconds: m.seconds.WithLabelValues(pattern), meter: m.Meter}
	for class := 1; class < len(r.requests); class++ {
		r.requests[class] = m.requests.WithLabelValues(pattern, strconv.Itoa(class)+"xx")
	}
	return r
}

func (r *Route) Observe(status int, took time.Duration) {
	if status < http.StatusContinue || status > 599 {
		status = http.StatusInternalServerError
	}
	r.requests[status/100].Inc()
	r.seconds.Observe(took.Seconds())
	r.meter.add(time.Now())
}
