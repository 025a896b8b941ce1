package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/redis/store"

	"retwis/internal/app"
)

// healthTime bounds a health check.
const healthTime = 2 * time.Second

// healthz reports that the process is alive.
func healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") }

// readyz reports whether pages can be served: whether the database can be read.
// Where it takes no writes, because it is full for example, the site can still be
// read, so the status is 200 and the text reports it.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	if s.stopping.Load() {
		plain(w, http.StatusServiceUnavailable, "this process is stopping")
		return
	}
	if err := s.app.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "error", err)
		text := "the database does not answer"
		if errors.Is(err, store.ErrPartly) {
			text = "a part of the database does not answer: pages may be up to a minute old"
		}
		plain(w, http.StatusServiceUnavailable, text)
		return
	}
	if err := s.app.PingWrite(ctx); err != nil {
		s.log.WarnContext(ctx, "ready to read only", "error", err)
		plain(w, http.StatusOK, "ok, but read-only: the database takes no writes")
		return
	}
	plain(w, http.StatusOK, "ok")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// databaseMetrics probes the database each time the metrics are read.
type databaseMetrics struct {
	read, write func(context.Context) error
	readable    *prometheus.Desc
	writable    *prometheus.Desc
}

func newDatabaseMetrics(read, write func(context.Context) error) *databaseMetrics {
	return &databaseMetrics{
		read: read, write: write,
		readable: prometheus.NewDesc("retwis_database_readable", "Whether the database can be read: 1 or 0.", nil, nil),
		writable: prometheus.NewDesc("retwis_database_writable", "Whether the database takes writes: 1 or 0.", nil, nil),
	}
}

// Describe implements [prometheus.Collector].
func (m *databaseMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.readable
	descs <- m.writable
}

// Collect implements [prometheus.Collector].
func (m *databaseMetrics) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTime)
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

// backupMetric reports the last backup each time the metrics are read.
type backupMetric struct {
	service *app.App
	at      *prometheus.Desc
}

func newBackupMetric(service *app.App) *backupMetric {
	return &backupMetric{service, prometheus.NewDesc("retwis_last_backup_seconds", "When the last backup was made, in seconds since 1970; 0 for never.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (m *backupMetric) Describe(descs chan<- *prometheus.Desc) { descs <- m.at }

// Collect implements [prometheus.Collector]. Without a database there is nothing to report.
func (m *backupMetric) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTime)
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
