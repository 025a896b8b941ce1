// Package metrics exports the figures of a redlock.Manager to Prometheus.
//
// It is a separate package so that programs without Prometheus do not depend on it.
// The figures are read when they are collected; locking does not pay for them.
//
//	prometheus.MustRegister(metrics.Collector(manager))
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"retwis/redlock"
)

// Collector returns a collector of the counts of a Manager:
//
//	redlock_acquired_total           locks that the servers gave
//	redlock_handed_total             locks that were handed over within the process
//	redlock_extended_total
//	redlock_refused_total{reason}    failed attempts: held, no_quorum
//	redlock_lost_total               locks that were lost while they were held
//	redlock_servers_disconnected_total  how often a server disconnected
//	redlock_servers_voting           servers that answer and vote now
//	redlock_servers_needed           servers that have to agree
//	redlock_wait_seconds_total       time that callers waited for locks of the servers
func Collector(m *redlock.Manager) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("redlock_"+name, help, labels, nil)
	}
	return &collector{
		m:            m,
		acquired:     describe("acquired_total", "Locks that the servers gave."),
		handed:       describe("handed_total", "Locks that were handed over within the process."),
		extended:     describe("extended_total", "Extensions of locks."),
		refused:      describe("refused_total", "Attempts that failed.", "reason"),
		lost:         describe("lost_total", "Locks that were lost while they were held."),
		disconnected: describe("servers_disconnected_total", "How often a server disconnected."),
		voting:       describe("servers_voting", "Servers that answer and vote now."),
		needed:       describe("servers_needed", "Servers that have to agree."),
		wait:         describe("wait_seconds_total", "Time that callers waited for locks of the servers."),
	}
}

type collector struct {
	m                                                             *redlock.Manager
	acquired, handed, extended, refused, lost, disconnected, wait *prometheus.Desc
	voting, needed                                                *prometheus.Desc
}

func (c *collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.m.Stats()
	count := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
	}
	count(c.acquired, float64(s.Acquired))
	count(c.handed, float64(s.Handed))
	count(c.extended, float64(s.Extended))
	count(c.refused, float64(s.Held), "held")
	count(c.refused, float64(s.NoQuorum), "no_quorum")
	count(c.lost, float64(s.Lost))
	count(c.disconnected, float64(s.Disconnected))
	count(c.wait, s.Waited.Seconds())
	quorum, _ := c.m.Quorum()
	to <- prometheus.MustNewConstMetric(c.voting, prometheus.GaugeValue, float64(s.Voting))
	to <- prometheus.MustNewConstMetric(c.needed, prometheus.GaugeValue, float64(quorum))
}
