package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/app"
	"retwis/internal/social/storage"
)

// backlogMetrics reads the background backlog whenever the metrics are collected.
type backlogMetrics struct {
	service *app.App
	waiting *prometheus.Desc
	stalled *prometheus.Desc
}

func newBacklogMetrics(service *app.App) *backlogMetrics {
	labels := []string{"queue"}
	return &backlogMetrics{
		service: service,
		waiting: prometheus.NewDesc("retwis_background_waiting", "Unfinished background tasks, such as adding posts to timelines.", labels, nil),
		stalled: prometheus.NewDesc("retwis_background_stalled_seconds", "How long the most overdue background task has been overdue.", labels, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *backlogMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.waiting
	descs <- m.stalled
}

// Collect implements [prometheus.Collector]. It reports nothing if the database cannot be read.
func (m *backlogMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	backlog, err := m.service.Backlog(ctx)
	if err != nil {
		return
	}
	all <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(backlog.Waiting), storage.Tasks)
	all <- prometheus.MustNewConstMetric(m.stalled, prometheus.GaugeValue, backlog.Stalled.Seconds(), storage.Tasks)
}

// jobMetrics reports the job queues and the jobs done by this process.
type jobMetrics struct {
	service                               *app.App
	waiting, oldest, dead                 *prometheus.Desc
	done, failed, givenUp, lost, reclaims *prometheus.Desc
	running                               *prometheus.Desc
}

func newJobMetrics(service *app.App) *jobMetrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("retwis_jobs_"+name, help, labels, nil)
	}
	return &jobMetrics{
		service:  service,
		waiting:  desc("waiting", "Jobs in a queue that are not finished.", "queue"),
		oldest:   desc("oldest_seconds", "How long ago the oldest unfinished job of a queue was added.", "queue"),
		dead:     desc("dead", "Jobs that were given up and can be retried with retwis jobs retry."),
		running:  desc("running", "Jobs that this process runs.", "queue"),
		done:     desc("done_total", "Jobs that this process has finished.", "queue"),
		failed:   desc("failed_total", "Jobs that failed in this process and were or will be retried.", "queue"),
		givenUp:  desc("given_up_total", "Jobs that this process has given up.", "queue"),
		lost:     desc("lost_total", "Jobs that another process took over because this process renewed its lease too late.", "queue"),
		reclaims: desc("reclaimed_total", "Jobs that this process took over from processes that died.", "queue"),
	}
}

// Describe implements [prometheus.Collector].
func (m *jobMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.waiting, m.oldest, m.dead, m.running, m.done, m.failed, m.givenUp, m.lost, m.reclaims} {
		descs <- desc
	}
}

// Collect implements [prometheus.Collector]. It reports nothing if the database cannot be read.
func (m *jobMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	queues, err := m.service.Jobs(ctx)
	if err != nil {
		return
	}
	for _, q := range queues {
		gauge := func(desc *prometheus.Desc, value float64) {
			all <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, q.Queue)
		}
		count := func(desc *prometheus.Desc, value int64) {
			all <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), q.Queue)
		}
		gauge(m.waiting, float64(q.Unfinished))
		gauge(m.oldest, q.Oldest.Seconds())
		gauge(m.running, float64(q.Stats.Running))
		count(m.done, q.Stats.Done)
		count(m.failed, q.Stats.Failed)
		count(m.givenUp, q.Stats.Dead)
		count(m.lost, q.Stats.Lost)
		count(m.reclaims, q.Stats.Reclaimed)
	}
	if dead, err := m.service.DeadJobs(ctx); err == nil {
		all <- prometheus.MustNewConstMetric(m.dead, prometheus.GaugeValue, float64(dead))
	}
}

// hashMetrics reports the queue for password hashing.
type hashMetrics struct {
	service          *app.App
	waiting, refused *prometheus.Desc
	seconds          *prometheus.Desc
}

func newHashMetrics(service *app.App) *hashMetrics {
	return &hashMetrics{
		service: service,
		waiting: prometheus.NewDesc("retwis_password_queue_waiting", "Passwords waiting to be checked or hashed.", nil, nil),
		seconds: prometheus.NewDesc("retwis_password_queue_seconds", "How long passwords waited to be checked or hashed.", nil, nil),
		refused: prometheus.NewDesc("retwis_password_queue_refused_total", "Passwords not checked because too many were waiting or the client had disconnected.", nil, nil),
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
	stats := m.service.Auth.HashStats()
	all <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(m.service.Auth.HashQueue()))
	all <- prometheus.MustNewConstSummary(m.seconds, stats.Served, stats.Waited.Seconds(), nil)
	all <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(stats.Refused))
}
