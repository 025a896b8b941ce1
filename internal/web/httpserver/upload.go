package httpserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// UploadTime is how long the body of an upload may take at most.
	UploadTime = 2 * time.Minute
	// uploadGrace is how long it may take before its rate counts, and uploadRate how many bytes a
	// second it must have then.
	uploadGrace = 15 * time.Second
	uploadRate  = 16 << 10
	// replyTime is how long the response to an upload may take after its body has arrived.
	replyTime = 30 * time.Second
)

// Upload returns the body of a request that brings files, of at most so many bytes: it may take
// longer than other bodies, as long as it gets on. waited grows by the time for which it is waited
// for.
func Upload(w http.ResponseWriter, r *http.Request, most int64, waited *time.Duration) io.ReadCloser {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(UploadTime + replyTime)) // what cannot set one has none
	return &uploadBody{ReadCloser: http.MaxBytesReader(w, r.Body, most), conn: conn, waited: waited}
}

type uploadBody struct {
	io.ReadCloser
	conn *http.ResponseController
	took time.Duration // waiting for bytes: what is done with them meanwhile does not count
	read int64

	waited *time.Duration
}

func (b *uploadBody) Read(p []byte) (int, error) {
	before := time.Now()
	_ = b.conn.SetReadDeadline(before.Add(max(0, b.allowed()-b.took)))
	n, err := b.ReadCloser.Read(p)
	took := time.Since(before)
	b.took += took
	*b.waited += took
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		// The server goes on reading from the connection, to learn that the client has left.
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// allowed is how long it may be waited for the bytes so far, and the next ones.
func (b *uploadBody) allowed() time.Duration {
	return min(UploadTime, uploadGrace+time.Duration(b.read)*time.Second/uploadRate)
}
