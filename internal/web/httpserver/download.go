package httpserver

import (
	"net/http"
	"time"
)

// writeTime is how long a client may take to accept a piece of a download.
const writeTime = 30 * time.Second

// Download returns a writer for a response that is larger than a page. A client that accepts
// nothing is cut off, one that reads slowly is not, nor one that waits for what comes next.
// waited grows by the time for which it is waited for.
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

// WriteWithin sends a piece of a response that the client must accept within some time. What is
// before the next piece has no bound.
func WriteWithin(w http.ResponseWriter, r *http.Request, p []byte, most time.Duration) (int, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(most)) // what cannot set one has none
	n, err := w.Write(p)
	if err == nil {
		err = conn.Flush()
	}
	if err == nil {
		liftDeadline(w, r)
	}
	return n, err
}

// liftDeadline lifts the deadline of a write where its end resets the response although nothing
// is written then, as in HTTP/2. In HTTP/1 it stays, for what the server writes after the handler.
func liftDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
}
