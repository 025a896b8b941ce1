package httpserver

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// klauspost/compress/gzhttp is not used, because it compresses on the fly: a page would have no
// Content-Length, static files and shared pages would be compressed for each client instead of
// once, and a client that accepts "*" would get uncompressed responses.

// CompressFrom is the minimum size of a compressed response, in bytes. A smaller response fits into
// one packet anyway.
const CompressFrom = 1024

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an unknown level
	return w
}}

// AcceptsGzip reports whether the client accepts gzip.
func AcceptsGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(part, ";")
			if name := strings.TrimSpace(coding); !strings.EqualFold(name, "gzip") && name != "*" {
				continue
			}
			_, quality, ok := strings.Cut(params, "q=")
			q, err := strconv.ParseFloat(strings.TrimSpace(quality), 64)
			if !ok || err == nil && q > 0 {
				return true
			}
		}
	}
	return false
}

// MayCompress reports whether a page may be compressed. The length of a compressed page can reveal
// its content to another site that makes the browser request the page repeatedly with guesses in
// the address (BREACH). So responses to requests caused by other sites are not compressed. Pages
// hold no CSRF token, and the secret of a session is only in a cookie.
func MayCompress(r *http.Request) bool {
	from := r.Header["Sec-Fetch-Site"]
	return len(from) == 0 || from[0] == "same-origin" || from[0] == "none"
}

// Compress compresses a body into a buffer.
func Compress(to *bytes.Buffer, body []byte) {
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(to)
	_, _ = w.Write(body) // writing to a buffer does not fail
	_ = w.Close()
}

// Compressed returns body compressed as much as possible, or nil if the result is not smaller.
func Compressed(body []byte) []byte {
	var to bytes.Buffer
	w, err := gzip.NewWriterLevel(&to, gzip.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = w.Write(body)
	if w.Close() != nil || to.Len() >= len(body) {
		return nil
	}
	return to.Bytes()
}
