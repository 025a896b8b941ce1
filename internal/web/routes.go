package web

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// routes is every page of the site.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, page := range map[string]func(*visit) error{
		"GET /{$}":                s.landing,
		"GET /register":           s.registerForm,
		"POST /register":          s.register,
		"GET /login":              s.loginForm,
		"POST /login":             s.login,
		"POST /logout":            s.logout,
		"GET /home":               s.home,
		"POST /post":              s.post,
		"GET /timeline":           s.timeline,
		"GET /u/{name}":           s.profile,
		"GET /u/{name}/followers": s.followers,
		"GET /u/{name}/following": s.following,
		"POST /u/{name}/follow":   s.follow,
		"POST /u/{name}/unfollow": s.unfollow,
		"/":                       s.nowhere,
	} {
		mux.Handle(pattern, s.handler(pattern, page))
	}
	mux.HandleFunc("GET /static/{file}", s.static.serve)
	mux.HandleFunc("GET /robots.txt", s.static.robots)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

// AdminHandler is what operators see and visitors do not.
func (s *Server) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}
