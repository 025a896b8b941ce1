// Package metrics shows what a redlock.Manager does to Prometheus.
//
// It is a package of its own so that programs without Prometheus do not carry it.
// The figures are read when they are collected; locking pays nothing for them.
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
//	redlock_handed_total             locks that were handed on within the process
//	redlock_extended_total
//	redlock_refused_total{reason}    attempts given up: held, no_quorum
//	redlock_lost_total               locks that were lost while they were held
//	redlock_servers_away_total       how often a server went away
//	redlock_servers_voting           how many servers answer now, and vote
//	redlock_servers_needed           how many have to
//	redlock_wait_seconds_total       how long those waited who got a lock of the servers
func Collector(m *redlock.Manager) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("redlock_"+name, help, labels, nil)
	}
	return &collector{
		m:        m,
		acquired: describe("acquired_total", "Locks that the servers gave."),
		handed:   describe("handed_total", "Locks that were handed on within the process."),
		extended: describe("extended_total", "Extensions of locks."),
		refused:  describe("refused_total", "Attempts that were given up.", "reason"),
		lost:     describe("lost_total", "Locks that were lost while they were held."),
		away:     describe("servers_away_total", "How often a server went away."),
		voting:   describe("servers_voting", "Servers that answer now, and vote."),
		needed:   describe("servers_needed", "Servers that have to agree."),
		wait:     describe("wait_seconds_total", "How long those waited who got a lock of the servers."),
	}
}

type collector struct {
	m                                                     *redlock.Manager
	acquired, handed, extended, refused, lost, away, wait *prometheus.Desc
	voting, needed                                        *prometheus.Desc
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
	count(c.away, float64(s.Away))
	count(c.wait, s.Waited.Seconds())
	quorum, _ := c.m.Quorum()
	to <- prometheus.MustNewConstMetric(c.voting, prometheus.GaugeValue, float64(s.Voting))
	to <- prometheus.MustNewConstMetric(c.needed, prometheus.GaugeValue, float64(quorum))
}
