package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what operators watch.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	rendered prometheus.Counter
	reused   prometheus.Counter
}

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	m := &metrics{
		registry: registry,
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
		rendered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "retwis_posts_rendered_total", Help: "Posts that had to be fetched and rendered for a page.",
		}),
		reused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "retwis_posts_reused_total", Help: "Posts that a page found rendered.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.inFlight, m.rendered, m.reused} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("web: metrics: %w", err)
		}
	}
	return m, nil
}

// routeMetrics are those of one route, found once and not with each request.
type routeMetrics struct {
	requests [6]prometheus.Counter // by class of status
	seconds  prometheus.Observer
}

func (m *metrics) route(pattern string) *routeMetrics {
	r := &routeMetrics{seconds: m.seconds.WithLabelValues(pattern)}
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
}
