package httpserver

import (
	"net/http"
	"time"
)

// writeTime is how long a client may take to accept a piece of a download.
const writeTime = 30 * time.Second

// Download returns a writer for a response that is larger than a page. A client that accepts
// nothing is cut off, one that reads slowly is not. waited grows by the time for which it is waited
// for.
func Download(w http.ResponseWriter, waited *time.Duration) http.ResponseWriter {
	return &download{w, http.NewResponseController(w), waited}
}

// download gives each write its own deadline.
type download struct {
	http.ResponseWriter
	conn   *http.ResponseController
	waited *time.Duration
}

func (w *download) Write(p []byte) (int, error) {
	before := time.Now()
	_ = w.conn.SetWriteDeadline(before.Add(writeTime)) // what cannot set one has none
	n, err := w.ResponseWriter.Write(p)
	*w.waited += time.Since(before)
	return n, err
}
