package request

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"retwis/internal/files"
)

// A client may read a file slowly; a client that stops accepting data is cut off.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	const size, perSecond = 4 << 20, 20 << 10
	for name, test := range map[string]struct {
		accepts int
		takes   time.Duration // time that the server takes
	}{
		"slow":  {size, size / perSecond * time.Second},
		"stops": {size / 2, size/2/perSecond*time.Second + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, served := time.Now(), make(chan time.Duration, 1)
				near := connect(t, "GET /media", func(req *Request) error {
					file := struct {
						io.ReadSeeker
						io.Closer
					}{bytes.NewReader(make([]byte, size)), nil}
					ServeFile(req, &files.File{ReadSeekCloser: file, Info: files.Info{Size: size}}, "image/gif", true)
					served <- time.Since(began)
					return nil
				})
				if _, err := fmt.Fprint(near, "GET /media HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				res, err := http.ReadResponse(bufio.NewReader(near), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				for read := 0; read < test.accepts; read += perSecond {
					time.Sleep(time.Second)
					if n, err := io.CopyN(io.Discard, res.Body, min(perSecond, size-int64(read))); err != nil {
						t.Fatalf("%d bytes, %v after %v", read+int(n), err, time.Since(began))
					}
				}
				if took := <-served; took < test.takes-3*time.Second || took > test.takes+3*time.Second {
					t.Errorf("served in %v, want %v", took, test.takes)
				}
			})
		})
	}
}

// Over HTTP/2, too, neither a silent database nor a slow client ends a download; a client that
// stops accepting data is cut off.
func TestDownloadOverHTTP2(t *testing.T) {
	t.Parallel()
	const pieces = 8
	for name, test := range map[string]struct {
		silent  time.Duration // before each piece
		accepts int
		takes   time.Duration // time that the server takes
	}{
		"silent": {time.Minute, pieces, pieces * time.Minute},
		"slow":   {0, pieces, pieces * 20 * time.Second},
		"stops":  {0, pieces / 2, pieces/2*20*time.Second + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				piece := make([]byte, 1<<20)
				began, served := time.Now(), make(chan time.Duration, 1)
				near := connect(t, "GET /export", func(req *Request) error {
					req.Stream = func() {
						out := Download(req)
						for range pieces {
							time.Sleep(test.silent)
							if _, err := out.Write(piece); err != nil {
								break
							}
						}
						served <- time.Since(began)
					}
					return nil
				})
				transport := &http.Transport{
					Protocols:   new(http.Protocols),
					HTTP2:       &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
					DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil },
				}
				transport.Protocols.SetUnencryptedHTTP2(true)
				defer transport.CloseIdleConnections()
				res, err := (&http.Client{Transport: transport}).Get("http://example.com/export")
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				for range test.accepts {
					if test.silent == 0 {
						time.Sleep(20 * time.Second)
					}
					if n, err := io.CopyN(io.Discard, res.Body, int64(len(piece))); err != nil {
						t.Fatalf("%d bytes, %v after %v", n, err, time.Since(began))
					}
				}
				if took := <-served; took < test.takes-time.Minute/2 || took > test.takes+3*time.Second {
					t.Errorf("served in %v, want %v", took, test.takes)
				}
			})
		})
	}
}
