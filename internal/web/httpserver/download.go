package httpserver

import (
	"net/http"
	"time"
)

// writeTimeout is how long a client may take to accept a piece of a download.
const writeTimeout = 30 * time.Second

// Download returns a writer for a response larger than a page. A write fails if the client does not
// accept the piece within writeTimeout; the time between writes is not limited. The time spent
// waiting for the client is added to waited.
func Download(w http.ResponseWriter, r *http.Request, waited *time.Duration) http.ResponseWriter {
	liftDeadline(w, r)
	return &download{w, r, waited}
}

// download gives each write its own deadline.
type download struct {
	http.ResponseWriter
	r      *http.Request
	waited *time.Duration
}

func (w *download) Write(p []byte) (int, error) {
	before := time.Now()
	n, err := WriteWithin(w.ResponseWriter, w.r, p, writeTimeout)
	*w.waited += time.Since(before)
	return n, err
}

// WriteWithin writes a piece of a response that the client must accept within timeout. The time
// until the next piece is not limited.
func WriteWithin(w http.ResponseWriter, r *http.Request, p []byte, timeout time.Duration) (int, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(timeout)) // not every connection supports deadlines
	n, err := w.Write(p)
	if err == nil {
		err = conn.Flush()
	}
	if err == nil {
		liftDeadline(w, r)
	}
	return n, err
}

// liftDeadline removes the write deadline if its expiry would reset the response even while nothing
// is being written, as in HTTP/2. In HTTP/1 the deadline stays, for what the server writes after
// the handler.
func liftDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
}
