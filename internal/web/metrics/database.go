package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/app"
)

// databaseMetrics probes the database whenever the metrics are collected.
type databaseMetrics struct {
	read, write func(context.Context) error
	readable    *prometheus.Desc
	writable    *prometheus.Desc
}

func newDatabaseMetrics(read, write func(context.Context) error) *databaseMetrics {
	return &databaseMetrics{
		read: read, write: write,
		readable: prometheus.NewDesc("retwis_database_readable", "Whether the database can be read: 1 or 0.", nil, nil),
		writable: prometheus.NewDesc("retwis_database_writable", "Whether the database accepts writes: 1 or 0.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *databaseMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.readable
	descs <- m.writable
}

// Collect implements [prometheus.Collector].
func (m *databaseMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	readable, writable := 0.0, 0.0
	if m.read(ctx) == nil {
		readable = 1
		if m.write(ctx) == nil {
			writable = 1
		}
	}
	all <- prometheus.MustNewConstMetric(m.readable, prometheus.GaugeValue, readable)
	all <- prometheus.MustNewConstMetric(m.writable, prometheus.GaugeValue, writable)
}

// backupMetric reports the time of the last backup whenever the metrics are collected.
type backupMetric struct {
	service *app.App
	at      *prometheus.Desc
}

func newBackupMetric(service *app.App) *backupMetric {
	return &backupMetric{service, prometheus.NewDesc("retwis_last_backup_seconds", "Time of the last backup, in seconds since 1970; 0 if there is none.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (m *backupMetric) Describe(descs chan<- *prometheus.Desc) { descs <- m.at }

// Collect implements [prometheus.Collector]. It reports nothing if the database cannot be read.
func (m *backupMetric) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	at, err := m.service.LastBackup(ctx)
	if err != nil {
		return
	}
	seconds := 0.0
	if !at.IsZero() {
		seconds = float64(at.Unix())
	}
	all <- prometheus.MustNewConstMetric(m.at, prometheus.GaugeValue, seconds)
}
