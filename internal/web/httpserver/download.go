package httpserver

import (
	"net/http"
	"time"
)

// writeTime is how long a client may take to accept a piece of a download.
const writeTime = 30 * time.Second

// Download returns a writer for a response larger than a page. It cuts off a client that accepts
// nothing, but not one that reads slowly or waits for the next piece. The time spent waiting for
// the client is added to waited.
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
	n, err := WriteWithin(w.ResponseWriter, w.r, p, writeTime)
	*w.waited += time.Since(before)
	return n, err
}

// WriteWithin writes a piece of a response that the client must accept within a time limit. The
// time until the next piece is not limited.
func WriteWithin(w http.ResponseWriter, r *http.Request, p []byte, most time.Duration) (int, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(most)) // connections without deadlines have none
	n, err := w.Write(p)
	if err == nil {
		err = conn.Flush()
	}
	if err == nil {
		liftDeadline(w, r)
	}
	return n, err
}

// liftDeadline lifts the write deadline if its expiry would reset the response even though nothing
// is being written, as in HTTP/2. In HTTP/1 it stays, for what the server writes after the handler.
func liftDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
}
