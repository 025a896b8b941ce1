package web

import (
	"context"
	"net/http"
	"time"
)

// healthz says that the process answers.
func healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") }

// readyz says that the database answers too.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.social.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "error", err)
		plain(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	plain(w, http.StatusOK, "ok")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
