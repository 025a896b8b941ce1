package httpserver

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// AccessLog writes a line for each answered request.
type AccessLog struct {
	Log     *slog.Logger
	Limit   Sampler
	Secret  []string // path prefixes before a secret, such as /reset/
	Proxies []netip.Prefix
}

const (
	// maxLoggedPath and maxLoggedAgent limit what a client can put into a line, in bytes.
	maxLoggedPath  = 200
	maxLoggedAgent = 200
)

// tracked is a response that records what the access log needs.
type tracked struct {
	http.ResponseWriter
	status int
	bytes  int64
	id     string // of the request
	user   int64  // 0 for nobody
}

// WriteHeader implements [http.ResponseWriter].
func (t *tracked) WriteHeader(status int) {
	// The server sends 1xx statuses before the final status.
	if t.status < http.StatusOK {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (t *tracked) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(p)
	t.bytes += int64(n)
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Hijack implements [http.Hijacker]. It fails if the underlying writer cannot be hijacked.
func (t *tracked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	return http.NewResponseController(t.ResponseWriter).Hijack()
}

// Note records the ID of a request and the ID of its user, 0 for nobody, for the access log.
func Note(w http.ResponseWriter, id string, user int64) {
	if t, ok := w.(*tracked); ok {
		t.id, t.user = id, user
	}
}

// Wrap returns a handler that logs each request that next answers, or next if there is no log.
func (a *AccessLog) Wrap(next http.Handler) http.Handler {
	if a.Log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		t := &tracked{ResponseWriter: w}
		defer func() { a.write(t, r, began) }()
		next.ServeHTTP(t, r)
	})
}

func (a *AccessLog) write(t *tracked, r *http.Request, began time.Time) {
	now := time.Now()
	ok, omitted := a.Limit.Allow(now)
	if !ok {
		return
	}
	if t.status == 0 {
		t.status = http.StatusOK // what the server sends when a handler wrote nothing
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("method", truncate(r.Method, 20)),
		slog.String("path", a.Path(r.URL.Path)),
		slog.Int("status", t.status),
		slog.Int64("bytes", t.bytes),
		slog.Float64("seconds", now.Sub(began).Seconds()),
		slog.String("address", AddressText(ClientAddress(r, a.Proxies))),
		slog.String("agent", truncate(r.UserAgent(), maxLoggedAgent)),
	)
	if t.id != "" {
		attrs = append(attrs, slog.String("request", t.id))
	}
	if t.user != 0 {
		attrs = append(attrs, slog.Int64("user_id", t.user))
	}
	if omitted > 0 {
		attrs = append(attrs, slog.Int("omitted", omitted))
	}
	a.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// Path returns a path without secrets, truncated for the log.
func (a *AccessLog) Path(path string) string {
	for _, prefix := range a.Secret {
		if at := strings.Index(path, prefix); at >= 0 {
			path = path[:at+len(prefix)] + "…"
		}
	}
	return truncate(path, maxLoggedPath)
}

// SecretPrefix returns the part of a route's path before its secret, the wildcard {token}, or nil
// if the route has no secret.
func SecretPrefix(pattern string) []string {
	_, path, _ := strings.Cut(pattern, " ")
	if prefix, _, ok := strings.Cut(path, "{token}"); ok {
		return []string{prefix}
	}
	return nil
}

// truncate limits a text sent by a client to maxBytes, plus an ellipsis if the text was longer.
func truncate(text string, maxBytes int) string {
	if len(text) > maxBytes {
		return strings.ToValidUTF8(text[:maxBytes], "") + "…"
	}
	return text
}
