package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"retwis/internal/redis/store"
)

// healthTime bounds a health check.
const healthTime = 2 * time.Second

// healthz reports that the process is alive.
func healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") }

// readyz reports whether pages can be served: whether the database can be read.
// Where it takes no writes, because it is full for example, the site can still be
// read, so the status is 200 and the text reports it.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTime)
	defer cancel()
	if s.stopping.Load() {
		plain(w, http.StatusServiceUnavailable, "this process is stopping")
		return
	}
	if err := s.app.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "not ready", "error", err)
		text := "the database does not answer"
		if errors.Is(err, store.ErrPartly) {
			text = "a part of the database does not answer: pages may be up to a minute old"
		}
		plain(w, http.StatusServiceUnavailable, text)
		return
	}
	if err := s.app.PingWrite(ctx); err != nil {
		s.log.WarnContext(ctx, "ready to read only", "error", err)
		plain(w, http.StatusOK, "ok, but read-only: the database takes no writes")
		return
	}
	plain(w, http.StatusOK, "ok")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
