package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/app"
	"retwis/internal/social/limits"
	"retwis/internal/social/live"
	"retwis/internal/social/media"
)

// collectTimeout is the timeout of the database requests for the metrics.
const collectTimeout = 2 * time.Second

// OfApp returns the metrics of the application.
func OfApp(service *app.App, hub *live.Hub) []prometheus.Collector {
	all := append(viewMetrics(service), limitMetrics(service)...)
	all = append(all, pictureMetrics(service)...)
	all = append(all, mailMetrics(service)...)
	return append(all, newBacklogMetrics(service), newJobMetrics(service), newHashMetrics(service),
		newDatabaseMetrics(service.Ping, service.PingWrite), newBackupMetric(service), liveMetrics(hub))
}

// viewMetrics returns the metrics of posts read for pages.
func viewMetrics(service *app.App) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_posts_rendered_total", Help: "Posts that had to be fetched and rendered for a page.",
		}, func() float64 { read, _ := service.Views.Stats(); return float64(read) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_posts_reused_total", Help: "Posts that a page found in the cache.",
		}, func() float64 { _, reused := service.Views.Stats(); return float64(reused) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_outdated_values_total", Help: "Cached values, up to a minute old, used because part of the database could not be reached.",
		}, func() float64 { _, uses := service.Outdated(); return float64(uses) }),
	}
}

// limitMetrics returns the metrics of rate limits.
func limitMetrics(service *app.App) []prometheus.Collector {
	var all []prometheus.Collector
	for _, event := range limits.Events() {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_limits_hit_total", Help: "Events refused by a limit.",
			ConstLabels: prometheus.Labels{"event": string(event)},
		}, func() float64 { return float64(service.Limits.Refused(event)) }))
	}
	return append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "retwis_limits_unchecked_total", Help: "Events allowed because the database could not decide.",
	}, func() float64 { return float64(service.Limits.Unchecked()) }))
}

// pictureMetrics returns the metrics of picture uploads.
func pictureMetrics(service *app.App) []prometheus.Collector {
	counts := &service.Media.Counts
	all := []prometheus.Collector{
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_picture_files_total", Help: "Stored picture files.",
		}, func() float64 { return float64(counts.Files.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_picture_bytes_total", Help: "Bytes of stored picture files.",
		}, func() float64 { return float64(counts.Bytes.Load()) }),
	}
	for reason := range media.Reasons {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_pictures_refused_total", Help: "Refused picture uploads.",
			ConstLabels: prometheus.Labels{"reason": reason.String()},
		}, func() float64 { return float64(counts.Refused[reason].Load()) }))
	}
	return all
}

// mailMetrics returns the metrics of emails. Queued emails are jobs in the queue "mail".
func mailMetrics(service *app.App) []prometheus.Collector {
	counts := &service.Email.Counts
	var all []prometheus.Collector
	for result, n := range map[string]*atomic.Int64{"sent": &counts.Sent, "refused": &counts.Refused, "failed": &counts.Failed, "limited": &counts.Limited} {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "retwis_mails_total", Help: "Mails that were sent, permanently rejected, failed and will be retried, or exceeded a limit.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) }))
	}
	return all
}

// liveMetrics returns the metric of pages that follow events.
func liveMetrics(hub *live.Hub) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "retwis_live_connections", Help: "Open pages that follow events.",
	}, func() float64 { return float64(hub.Connections()) })
}
