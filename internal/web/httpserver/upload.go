package httpserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// UploadTime is the maximum time for the body of an upload.
	UploadTime = 2 * time.Minute
	// uploadGrace is how long an upload may take in addition to one second per uploadRate bytes.
	uploadGrace = 15 * time.Second
	uploadRate  = 16 << 10
	// replyTime is how long the response to an upload may take after the request body has arrived.
	replyTime = 30 * time.Second
)

// Upload returns the body of a request with files, limited to maxBytes. The body may take longer
// than other bodies as long as it makes progress. The time spent waiting for the client is added to
// waited.
func Upload(w http.ResponseWriter, r *http.Request, maxBytes int64, waited *time.Duration) io.ReadCloser {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(UploadTime + replyTime)) // not every connection supports deadlines
	return &uploadBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxBytes), conn: conn, waited: waited}
}

type uploadBody struct {
	io.ReadCloser
	conn *http.ResponseController
	took time.Duration // time spent waiting for bytes, without the time spent processing them
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
		// The server continues to read from the connection, to detect that the client has
		// disconnected.
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}

// allowed returns the total time that Read may wait for the bytes so far and the next bytes.
func (b *uploadBody) allowed() time.Duration {
	return min(UploadTime, uploadGrace+time.Duration(b.read)*time.Second/uploadRate)
}
