package certificates

import (
	"net"
	"net/http"
	"strings"
)

// Redirect returns a handler that redirects plain HTTP to the same address over HTTPS, at the given
// port. The handler rejects all methods but GET and HEAD: a redirect would send the data of such a
// request a second time, and hide that the data was sent in clear text.
func Redirect(port string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.Trim(host, "[]")
		if !validHost(host) || r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("Use HTTPS.\n"))
			return
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if port != "443" {
			host += ":" + port
		}
		h.Set("Location", "https://"+host+r.URL.RequestURI())
		h.Set("Cache-Control", "max-age=3600")
		w.WriteHeader(http.StatusMovedPermanently)
	})
}

// validHost reports whether host has only characters of host names and IP addresses.
func validHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for _, c := range host {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._:", c):
		default:
			return false
		}
	}
	return true
}
