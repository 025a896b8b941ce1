package web

import (
	"net/http"
	"time"

	"retwis/internal/web/httpserver"
)

// Secrets returns the prefixes of paths that end with a secret.
func (s *Server) Secrets() []string { return s.access.Secret }

// Patterns returns the routes of the site.
func (s *Server) Patterns() []string {
	patterns := []string{"GET /static/{file}", "GET /drawn/{file}"}
	for _, r := range s.routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// Pattern returns the pattern of the route that serves a request.
func (s *Server) Pattern(r *http.Request) string {
	_, pattern := s.mux.Handler(r)
	return pattern
}

// SetEventTime sets how long a client may take to accept an event.
func (s *Server) SetEventTime(limit time.Duration) { s.handlers.eventTime = limit }

// LoggedPath returns a path as a site with these routes logs it.
func LoggedPath(path string, patterns ...string) string {
	var a httpserver.AccessLog
	for _, pattern := range patterns {
		a.Secret = append(a.Secret, httpserver.SecretPrefix(pattern)...)
	}
	return a.Path(path)
}
