// Package httpserver provides the parts of an HTTP server that do not depend on the pages of a
// site: a server with timeouts, connection limits, client addresses behind proxies, an access log,
// compression, and a circuit breaker for the database ([Breaker]).
package httpserver
