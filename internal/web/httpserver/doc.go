// Package httpserver is what a site needs around its pages, whatever they show: a server with
// timeouts, bounds on connections, the addresses of clients behind proxies, an access log,
// compression, and a circuit breaker for the database ([Breaker]).
package httpserver
