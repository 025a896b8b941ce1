// Package metrics has the metrics of a process, for Prometheus: of its requests ([Metrics]) and
// of the application ([OfApp]).
package metrics
