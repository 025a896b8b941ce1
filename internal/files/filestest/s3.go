// Package filestest runs local S3 servers for tests.
package filestest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// S3 is a local S3 server with a bucket.
type S3 struct{ http.Handler }

// NewS3 starts a server for a test.
func NewS3(t *testing.T) *S3 {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("pictures"); err != nil {
		t.Fatal(err)
	}
	return &S3{gofakes3.New(backend).Server()}
}

// Address is an address of a server that can be made unreachable.
type Address struct {
	Place string                        // as a value of --media
	away  atomic.Pointer[chan struct{}] // nil while the server is reachable
	slow  atomic.Bool
}

// Listen opens another address of the server.
func (s *S3) Listen(t *testing.T) *Address {
	t.Helper()
	a := &Address{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if back := a.away.Load(); back != nil {
			if a.slow.Load() {
				select {
				case <-*back:
				case <-r.Context().Done():
				}
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		a.Return()
		server.Close()
	})
	a.Place = "s3://key:secret@" + strings.TrimPrefix(server.URL, "http://") + "/pictures/site?tls=off"
	return a
}

// Leave makes the server unavailable at this address. The server responds to requests with an
// error; if hangs is set, it does so only after Return.
func (a *Address) Leave(hangs bool) {
	back := make(chan struct{})
	a.slow.Store(hangs)
	a.away.Store(&back)
}

// Return undoes Leave.
func (a *Address) Return() {
	if back := a.away.Swap(nil); back != nil {
		close(*back)
	}
}
