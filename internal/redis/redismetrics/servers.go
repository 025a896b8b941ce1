package redismetrics

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"
)

// infoTimeout limits the wait for the servers.
const infoTimeout = time.Second

// servers are the metrics that the servers report in INFO. A server that does not answer only has
// the metric that it is down. A server that denies INFO has no metrics.
type servers struct {
	up     *prometheus.Desc
	fields []field
}

// field maps a field of INFO to a metric.
type field struct {
	name string
	kind prometheus.ValueType
	desc *prometheus.Desc
	read func(text string) (float64, bool)
}

func newServers() servers {
	s := servers{up: prometheus.NewDesc("retwis_redis_up", "Whether a server answers INFO: 1 or 0.", []string{"node"}, nil)}
	add := func(name, metric, help string, kind prometheus.ValueType, read func(string) (float64, bool)) {
		s.fields = append(s.fields, field{name, kind, prometheus.NewDesc(metric, help, []string{"node"}, nil), read})
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	add("used_memory", "retwis_redis_memory_used_bytes", "Memory that a server uses.", gauge, number)
	add("maxmemory", "retwis_redis_memory_max_bytes", "Memory that a server may use; 0 for no limit.", gauge, number)
	add("evicted_keys", "retwis_redis_evicted_keys_total", "Keys that a server deleted because it was full.", counter, number)
	add("connected_clients", "retwis_redis_clients", "Clients of a server.", gauge, number)
	add("aof_enabled", "retwis_redis_aof_enabled", "Whether a server writes an append-only file: 1 or 0.", gauge, number)
	add("aof_last_write_status", "retwis_redis_aof_write_ok", "Whether the last write to the append-only file succeeded: 1 or 0.", gauge, success)
	add("rdb_last_bgsave_status", "retwis_redis_snapshot_ok", "Whether the last snapshot succeeded: 1 or 0.", gauge, success)
	add("rdb_last_save_time", "retwis_redis_snapshot_seconds", "When the last snapshot was made, in seconds since 1970.", gauge, number)
	add("master_link_status", "retwis_redis_replica_connected", "Whether a replica is connected to its master: 1 or 0.", gauge, func(text string) (float64, bool) {
		return truth(text == "up"), true
	})
	add("connected_slaves", "retwis_redis_replicas", "Replicas that are connected to a server.", gauge, number)
	return s
}

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func success(text string) (float64, bool) { return truth(text == "ok"), true }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s servers) describe(to chan<- *prometheus.Desc) {
	to <- s.up
	for _, f := range s.fields {
		to <- f.desc
	}
}

// collect queries all servers concurrently.
func (s servers) collect(client rueidis.Client, to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), infoTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for name, node := range client.Nodes() {
		wg.Go(func() {
			text, err := node.Do(ctx, node.B().Info().Build()).ToString()
			if reply, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
				return // a lack of permission is not a failure
			}
			to <- prometheus.MustNewConstMetric(s.up, prometheus.GaugeValue, truth(err == nil), name)
			if err == nil {
				s.parse(name, text, to)
			}
		})
	}
	wg.Wait()
}

func (s servers) parse(node, text string, to chan<- prometheus.Metric) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			values[name] = value
		}
	}
	for _, f := range s.fields {
		text, ok := values[f.name]
		if !ok {
			continue
		}
		if value, ok := f.read(text); ok {
			to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, node)
		}
	}
}
