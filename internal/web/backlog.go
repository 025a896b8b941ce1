package web

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/social"
)

// backlogMetrics read what waits in the background each time the metrics are read.
type backlogMetrics struct {
	service *social.Service
	waiting *prometheus.Desc
	stalled *prometheus.Desc
}

func newBacklogMetrics(service *social.Service) *backlogMetrics {
	labels := []string{"queue"}
	return &backlogMetrics{
		service: service,
		waiting: prometheus.NewDesc("retwis_background_waiting", "Background work that is not finished: posts on their way to timelines (fanouts), and other tasks.", labels, nil),
		stalled: prometheus.NewDesc("retwis_background_stalled_seconds", "How long ago a process last worked on the background work that waits longest.", labels, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *backlogMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.waiting
	descs <- m.stalled
}

// Collect implements [prometheus.Collector]. Without a database there is nothing to report.
func (m *backlogMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTime)
	defer cancel()
	queues, err := m.service.Backlog(ctx)
	if err != nil {
		return
	}
	for _, q := range queues {
		all <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(q.Waiting), q.Queue)
		all <- prometheus.MustNewConstMetric(m.stalled, prometheus.GaugeValue, q.Stalled.Seconds(), q.Queue)
	}
}

// hashMetrics report the queue for passwords.
type hashMetrics struct {
	service          *social.Service
	waiting, refused *prometheus.Desc
	seconds          *prometheus.Desc
}

func newHashMetrics(service *social.Service) *hashMetrics {
	return &hashMetrics{
		service: service,
		waiting: prometheus.NewDesc("retwis_password_queue_waiting", "Passwords that wait to be checked or hashed.", nil, nil),
		seconds: prometheus.NewDesc("retwis_password_queue_seconds", "How long passwords waited to be checked or hashed.", nil, nil),
		refused: prometheus.NewDesc("retwis_password_queue_refused_total", "Passwords that were not checked, because too many waited or the client has gone.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *hashMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.waiting
	descs <- m.seconds
	descs <- m.refused
}

// Collect implements [prometheus.Collector].
func (m *hashMetrics) Collect(all chan<- prometheus.Metric) {
	stats := m.service.HashStats()
	all <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(m.service.HashQueue()))
	all <- prometheus.MustNewConstSummary(m.seconds, stats.Served, stats.Waited.Seconds(), nil)
	all <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(stats.Refused))
}
