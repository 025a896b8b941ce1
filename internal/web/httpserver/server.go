package httpserver

import (
	"log/slog"
	"net/http"
	"time"
)

// New returns an http.Server with all timeouts set. If logger is nil, it uses slog.Default().
func New(handler http.Handler, logger *slog.Logger) *http.Server {
	if logger == nil {
		logger = slog.Default()
	}
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// NewAdmin is like New, but without a write timeout: on the operators' pages, a profile takes as
// long as requested.
func NewAdmin(handler http.Handler, logger *slog.Logger) *http.Server {
	server := New(handler, logger)
	server.WriteTimeout = 0
	return server
}
