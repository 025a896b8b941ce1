// Package metrics provides the Prometheus metrics of a process: of its requests ([Metrics]) and of
// the application ([OfApp]).
package metrics
