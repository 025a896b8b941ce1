package request

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/social/socialtest"
	"retwis/internal/web/httpserver"
)

// oneConn is a listener with one in-memory connection, so that a test can simulate time.
type oneConn struct {
	server chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case conn := <-l.server:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{} }

// begin and end are the parts of a form before and after its file.
const begin, end = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"photo.jpg\"\r\n\r\n", "\r\n--x--\r\n"

// connect returns a connection to a server with one page. After the test connect checks that the
// page took at most a second, not counting the time of the client.
func connect(t *testing.T, pattern string, page Page) net.Conn {
	t.Helper()
	site := newTestSite(t, io.Discard)
	near, far := net.Pipe()
	listener := &oneConn{make(chan net.Conn, 1), make(chan struct{})}
	listener.server <- far
	server := httpserver.New(site.Handler(pattern, "", page), socialtest.Quiet())
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		near.Close()
		server.Close()
		running.Wait()
		synctest.Wait() // until the handler has ended
		all, err := site.opt.Metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range all {
			if family.GetName() != "retwis_http_request_seconds" {
				continue
			}
			if h := family.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() > 1 {
				t.Errorf("%d requests took %v s without the client", h.GetSampleCount(), h.GetSampleSum())
			}
		}
	})
	return near
}

// sendSlowly sends an upload form with a file of size bytes to a page, perSecond bytes each second,
// and returns the response.
func sendSlowly(t *testing.T, path string, page Page, size, perSecond int) (status int, body string) {
	t.Helper()
	var sending sync.WaitGroup
	t.Cleanup(sending.Wait) // after the connection is closed
	near := connect(t, "POST "+path, JSONErrors(page))
	sending.Go(func() {
		fmt.Fprintf(near, "POST %s HTTP/1.1\r\nHost: example.com\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s", path, len(begin)+size+len(end), begin)
		for left := size; left > 0; left -= perSecond {
			time.Sleep(time.Second)
			if _, err := io.WriteString(near, strings.Repeat("x", min(left, perSecond))); err != nil {
				return
			}
		}
		_, _ = io.WriteString(near, end)
	})
	res, err := http.ReadResponse(bufio.NewReader(near), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// An upload may take longer than other forms as long as it makes progress. A file is not processed,
// and takes no place in the decoding queue, before all of it has arrived.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size, perSecond int
		status          int
		atLeast, atMost time.Duration
	}{
		"fast":             {16 << 20, 16 << 20, http.StatusOK, time.Second, time.Second},
		"slow":             {600 << 10, 20 << 10, http.StatusOK, 30 * time.Second, 30 * time.Second},
		"too slow":         {600 << 10, 1 << 10, http.StatusRequestTimeout, 15 * time.Second, 17 * time.Second},
		"slow too long":    {4 << 20, 20 << 10, http.StatusRequestTimeout, httpserver.UploadTime, httpserver.UploadTime},
		"at half the rate": {4 << 20, 8 << 10, http.StatusRequestTimeout, 29 * time.Second, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, files := time.Now(), 0
				status, body := sendSlowly(t, "/media", func(req *Request) error {
					err := Files(req, func(_ string, file []byte) error {
						if files++; len(file) != test.size {
							t.Errorf("a file of %d bytes after %v", len(file), time.Since(began))
						}
						return nil
					})
					if err != nil {
						return err
					}
					return SendJSON(req, "thanks")
				}, test.size, test.perSecond)
				took, want := time.Since(began), `"thanks"`
				if test.status != http.StatusOK {
					want = `{"error":"The form took too long to arrive. Please try again."}`
				}
				if status != test.status || strings.TrimSpace(body) != want || took < test.atLeast || took > test.atMost {
					t.Errorf("%d %s after %v; want %d after %v to %v", status, body, took, test.status, test.atLeast, test.atMost)
				}
				if files > 0 != (test.status == http.StatusOK) {
					t.Errorf("%d files were processed", files)
				}
			})
		})
	}
}

// The upload of an import may take longer than other forms, too.
func TestSlowImport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size, perSecond = 1 << 20, 17 << 10 // takes longer than the minute of a page
		status, body := sendSlowly(t, ImportPath, func(req *Request) error {
			got := 0
			err := Files(req, func(_ string, file []byte) error {
				got = len(file)
				return req.Ctx.Err()
			})
			if err != nil {
				return err
			}
			return SendJSON(req, got)
		}, size, perSecond)
		if status != http.StatusOK || strings.TrimSpace(body) != strconv.Itoa(size) {
			t.Errorf("status %d, body %s; want 200, %d", status, body, size)
		}
	})
}

// A client that sends the whole form before it reads the response, as browsers do, gets the page
// that refuses the form.
func TestRefusedUpload(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newTestSite(t, io.Discard).Handler("POST /media", "", JSONErrors(func(*Request) error { return ErrLogin })))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 16 << 20 // more than the connection's buffers hold
	fmt.Fprintf(conn, "POST /media HTTP/1.1\r\nHost: example.com\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n%s", len(begin)+size+len(end), begin)
	if _, err := io.WriteString(conn, strings.Repeat("x", size)+end); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d, want 401", res.StatusCode)
	}
}
