package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"retwis/internal/files/filestest"
)

// pipes is a listener for in-memory connections, which work with simulated time.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// stalledWriter writes up to left bytes, then blocks until the client disconnects.
type stalledWriter struct {
	http.ResponseWriter
	gone <-chan struct{} // closed when the client disconnects
	left int
}

func (w *stalledWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		<-w.gone
		return 0, io.ErrClosedPipe
	}
	return w.ResponseWriter.Write(p)
}

// A caller may read a file from a bucket slowly. A server that sends nothing times out.
func TestSlowS3(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stalls atomic.Pointer[string] // the method whose responses stall, or "list"
		stalls.Store(new(string))
		bucket, conns := filestest.NewS3(t), make(pipes)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("list-type") && *stalls.Load() == "list":
				<-r.Context().Done()
			case r.Method != *stalls.Load():
			case r.Method == http.MethodHead:
				<-r.Context().Done()
			default:
				w = &stalledWriter{w, r.Context().Done(), 100 << 10}
			}
			bucket.ServeHTTP(w, r)
		})}
		go func() { _ = server.Serve(conns) }()
		t.Cleanup(func() { server.Close() })
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			conns <- far
			return near, nil
		}}
		t.Cleanup(transport.CloseIdleConnections)
		client, err := minio.New("s3.test", &minio.Options{Creds: credentials.NewStaticV4("key", "secret", ""), Region: "us-east-1", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		s := &s3{client: client, bucket: "pictures", place: "s3://s3.test/pictures"}
		name, want := strings.Repeat("0", minDigits)+"-1600.gif", bytes.Repeat([]byte("frame"), 200_000)
		if err := s.Put(t.Context(), name, want); err != nil {
			t.Fatal(err)
		}

		file, err := s.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(2 * s3Timeout)
		var got bytes.Buffer
		for err == nil {
			time.Sleep(time.Second)
			_, err = io.CopyN(&got, file, 10_000)
		}
		if !errors.Is(err, io.EOF) || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("slow read: %d bytes in %v, %v; want %d bytes", got.Len(), time.Since(began), err, len(want))
		}
		file.Close()
		if err := s.Put(t.Context(), strings.Repeat("1", minDigits)+"-1600.gif", want); err != nil {
			t.Fatal(err)
		}
		listed := func() (n int, err error) {
			for _, err = range s.List(t.Context()) {
				if err == nil {
					n++
				}
				time.Sleep(2 * s3Timeout)
			}
			return n, err
		}
		if n, err := listed(); n != 2 || err != nil {
			t.Errorf("List returned %d files, %v; want 2", n, err)
		}

		stalled := func(method string) func() time.Duration {
			stalls.Store(&method)
			began := time.Now()
			return func() time.Duration { return time.Since(began) }
		}
		took := stalled(http.MethodGet)
		if _, err := Read(t.Context(), s, name); !errors.Is(err, ErrUnavailable) || took() != s3Timeout {
			t.Errorf("stalled body: %v after %v, want ErrUnavailable after %v", err, took(), s3Timeout)
		}
		took = stalled(http.MethodHead)
		if _, err := s.Open(t.Context(), name); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || took() != s3Timeout {
			t.Errorf("stalled response: %v after %v, want ErrUnavailable after %v", err, took(), s3Timeout)
		}
		took = stalled("list")
		if n, err := listed(); n != 0 || !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || took() != 3*s3Timeout {
			t.Errorf("stalled list: %d files, %v after %v; want ErrUnavailable after %v", n, err, took(), 3*s3Timeout)
		}
	})
}
