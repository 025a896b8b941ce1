package serve

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/certificates"
	"retwis/internal/cli/shell"
	"retwis/internal/redis/redismetrics"
	"retwis/internal/web/metrics"
)

// newMetrics returns the metrics of a process that serves the site and of its Redis clients.
func newMetrics(c *shell.Command, logs *logs, source certificates.Source) (*prometheus.Registry, *redismetrics.Metrics, error) {
	registry, err := metrics.NewRegistry()
	if err != nil {
		return nil, nil, err
	}
	redis := redismetrics.New()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "retwis_build_info", Help: "The running version; the value is always 1.",
	}, []string{"version", "commit", "go"})
	build.WithLabelValues(c.Root().Version, c.Commit, runtime.Version()).Set(1)
	all := []prometheus.Collector{redis, build, droppedLines{logs, prometheus.NewDesc(
		"retwis_log_lines_dropped_total", "Log lines dropped because the log could not be written fast enough.", []string{"log"}, nil)}}
	if source != nil {
		all = append(all, expiries{source, prometheus.NewDesc(
			"retwis_tls_certificate_expires_seconds", "When the certificate of a domain expires, in seconds since 1970.", []string{"domain"}, nil)})
	}
	for _, collector := range all {
		if err := registry.Register(collector); err != nil {
			return nil, nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return registry, redis, nil
}

// droppedLines reports the number of lines dropped from the logs.
type droppedLines struct {
	logs *logs
	desc *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (d droppedLines) Describe(to chan<- *prometheus.Desc) { to <- d.desc }

// Collect implements [prometheus.Collector].
func (d droppedLines) Collect(to chan<- prometheus.Metric) {
	for name, n := range d.logs.dropped() {
		to <- prometheus.MustNewConstMetric(d.desc, prometheus.CounterValue, float64(n), name)
	}
}

// expiries reports when certificates expire.
type expiries struct {
	source certificates.Source
	desc   *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (e expiries) Describe(to chan<- *prometheus.Desc) { to <- e.desc }

// Collect implements [prometheus.Collector].
func (e expiries) Collect(to chan<- prometheus.Metric) {
	for domain, at := range e.source.Expires() {
		to <- prometheus.MustNewConstMetric(e.desc, prometheus.GaugeValue, float64(at.Unix()), domain)
	}
}
