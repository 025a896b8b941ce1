package httpserver

import (
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
	began := time.Now()
	_ = conn.SetWriteDeadline(began.Add(UploadTime + replyTime)) // what cannot set one has none
	return &uploadBody{http.MaxBytesReader(w, r.Body, most), conn, began, 0, waited}
}

type uploadBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	began time.Time
	read  int64

	waited *time.Duration
}

func (b *uploadBody) Read(p []byte) (int, error) {
	_ = b.conn.SetReadDeadline(b.began.Add(b.allowed()))
	before := time.Now()
	n, err := b.ReadCloser.Read(p)
	*b.waited += time.Since(before)
	b.read += int64(n)
	return n, err
}

// allowed is by when the next bytes must arrive.
func (b *uploadBody) allowed() time.Duration {
	return min(UploadTime, uploadGrace+time.Duration(b.read)*time.Second/uploadRate)
}
