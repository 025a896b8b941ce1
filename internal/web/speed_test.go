package web_test

import (
	"fmt"
	"net/http"
	"testing"
)

// sink is a response writer that discards the body.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkPage measures rendering a page, without the network, for a viewer who gets suggestions.
func BenchmarkPage(b *testing.B) {
	s := setup(b)
	v := s.signedUp("ada")
	for i := range 8 {
		name := fmt.Sprint("author", i)
		s.signedUp(name).send("/post", "status", "something to read").want(303)
		if i < 4 {
			v.send("/u/" + name + "/follow").want(303)
		}
	}
	for i := range 60 {
		v.send("/post", "status", fmt.Sprint("something short to say, number ", i)).want(303)
	}
	session, err := s.social.Auth.Login(b.Context(), "ada", password)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/home", "/timeline", "/u/ada"} {
		b.Run(path[1:], func(b *testing.B) {
			request, err := http.NewRequest(http.MethodGet, path, http.NoBody)
			if err != nil {
				b.Fatal(err)
			}
			request.AddCookie(&http.Cookie{Name: "auth", Value: session.Secret})
			b.ReportAllocs()
			for b.Loop() {
				w := &sink{header: http.Header{}, status: 200}
				s.server.Handler().ServeHTTP(w, request)
				if w.status != 200 {
					b.Fatal(w.status)
				}
			}
		})
	}
}
