// Package httpserver holds what a site needs around its pages, whatever they show: a server with
// timeouts, connection limits, client addresses behind proxies, an access log, compression, and a
// circuit breaker for the database ([Breaker]).
package httpserver
