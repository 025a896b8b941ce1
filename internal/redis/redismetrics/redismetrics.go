// Package redismetrics provides Prometheus metrics of a Redis client and its servers: the durations
// of commands, failures, hits of the client-side cache, and what the servers report about memory and
// persistence.
//
// A measured command costs about 0.2 µs more. The servers are queried only when the metrics are
// read.
package redismetrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// Metrics are the metrics of one client. It is a [prometheus.Collector].
type Metrics struct {
	seconds     prometheus.Histogram
	failures    *prometheus.CounterVec
	byClass     map[string]prometheus.Counter
	hits        prometheus.Counter
	misses      prometheus.Counter
	connections prometheus.Counter
	servers     servers

	client atomic.Pointer[rueidis.Client]
}

// Kinds of failures.
const (
	unavailable = "unavailable" // no connection, no answer, loading, no master
	refused     = "refused"     // the server accepts no writes
	denied      = "denied"      // the user lacks permission for the command
	other       = "other"
)

// New returns metrics for a client that does not exist yet; see Wrap.
func New() *Metrics {
	m := &Metrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "retwis_redis_seconds", Help: "Time until Redis has answered a command, or a pipeline of commands.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "retwis_redis_errors_total", Help: "Commands that failed, by kind: unavailable, refused, denied, other.",
		}, []string{"kind"}),
		hits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "retwis_redis_cache_hits_total", Help: "Reads that the client-side cache answered.",
		}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "retwis_redis_cache_misses_total", Help: "Cached reads that Redis had to answer.",
		}),
		connections: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "retwis_redis_connections_total", Help: "Connections to Redis that were opened; an increase after the start means that a connection was lost.",
		}),
		byClass: map[string]prometheus.Counter{},
		servers: newServers(),
	}
	for _, kind := range []string{unavailable, refused, denied, other} {
		m.byClass[kind] = m.failures.WithLabelValues(kind)
	}
	return m
}

// Connected counts a connection.
func (m *Metrics) Connected() { m.connections.Inc() }

// Wrap returns a client whose commands are measured.
func (m *Metrics) Wrap(client rueidis.Client) rueidis.Client {
	m.client.Store(&client)
	return &measured{Client: client, m: m}
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{m.seconds, m.failures, m.hits, m.misses, m.connections} {
		c.Describe(to)
	}
	m.servers.describe(to)
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.seconds, m.failures, m.hits, m.misses, m.connections} {
		c.Collect(to)
	}
	if client := m.client.Load(); client != nil {
		m.servers.collect(*client, to)
	}
}

// measured is a client whose commands are measured.
type measured struct {
	rueidis.Client
	m *Metrics
}

// Do implements [rueidis.Client].
func (c *measured) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if cmd.IsBlock() {
		return c.Client.Do(ctx, cmd) // its duration is mostly waiting
	}
	began := time.Now()
	result := c.Client.Do(ctx, cmd)
	c.m.observe(time.Since(began), result)
	return result
}

// DoMulti implements [rueidis.Client].
func (c *measured) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	for i := range multi {
		if multi[i].IsBlock() {
			return c.Client.DoMulti(ctx, multi...)
		}
	}
	began := time.Now()
	results := c.Client.DoMulti(ctx, multi...)
	c.m.observe(time.Since(began), results...)
	return results
}

// DoCache implements [rueidis.Client].
func (c *measured) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	began := time.Now()
	result := c.Client.DoCache(ctx, cmd, ttl)
	if result.IsCacheHit() {
		c.m.hits.Inc()
		return result
	}
	c.m.misses.Inc()
	c.m.observe(time.Since(began), result)
	return result
}

// DoMultiCache implements [rueidis.Client].
func (c *measured) DoMultiCache(ctx context.Context, multi ...rueidis.CacheableTTL) []rueidis.RedisResult {
	began := time.Now()
	results := c.Client.DoMultiCache(ctx, multi...)
	hits := 0
	for i := range results {
		if results[i].IsCacheHit() {
			hits++
		}
	}
	c.m.hits.Add(float64(hits))
	if misses := len(results) - hits; misses > 0 {
		c.m.misses.Add(float64(misses))
		c.m.observe(time.Since(began), results...)
	}
	return results
}

func (m *Metrics) observe(duration time.Duration, results ...rueidis.RedisResult) {
	m.seconds.Observe(duration.Seconds())
	for i := range results {
		if err := results[i].Error(); err != nil {
			if kind := kindOf(err); kind != "" {
				m.byClass[kind].Inc()
			}
		}
	}
}

// kindOf returns the kind of a failure, or "" for a missing key, an abandoned request, and a script
// that must be loaded first.
func kindOf(err error) string {
	switch {
	case rueidis.IsRedisNil(err), errors.Is(err, context.Canceled), errors.Is(err, rueidis.ErrClosing):
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable
	}
	if reply, ok := rueidis.IsRedisErr(err); ok && reply.IsNoScript() {
		return ""
	}
	switch rediserr.Of(err) {
	case rediserr.Unavailable:
		return unavailable
	case rediserr.WritesRefused:
		return refused
	case rediserr.Denied:
		return denied
	}
	return other
}
