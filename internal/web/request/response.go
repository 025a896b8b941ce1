package request

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"retwis/internal/files"
	"retwis/internal/web/httpserver"
)

// Header values that all responses share and must not modify.
var (
	headerHTML           = []string{"text/html; charset=utf-8"}
	headerCSP            = []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
	headerGzip           = []string{"gzip"}
	headerReferrer       = []string{"same-origin"}
	headerOpener         = []string{"same-origin"}
	headerPolicy         = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=()"}
	headerCache          = []string{"private, no-cache"}
	headerNoStore        = []string{"no-store"}
	headerReferrerSecret = []string{"strict-origin"}
	headerVary           = []string{"Cookie, Accept-Encoding, Accept-Language"}
	headerNoIndex        = []string{"noindex"}

	headerFileCSP   = []string{"default-src 'none'; sandbox"}
	headerImmutable = []string{"public, max-age=31536000, immutable"}
)

// setHeaders sets the headers of every page.
func setHeaders(w http.ResponseWriter, id string) {
	h := w.Header()
	h["Content-Security-Policy"] = headerCSP
	h["Referrer-Policy"] = headerReferrer
	h["Cross-Origin-Opener-Policy"] = headerOpener
	h["Permissions-Policy"] = headerPolicy
	h["Cache-Control"] = headerCache
	h["Vary"] = headerVary
	h["X-Request-Id"] = []string{id}
}

// isPrivate reports whether the pages of a route are about the account itself. Timelines and
// notifications do not count: the back button must show them at once.
func isPrivate(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.HasPrefix(path, "/settings") || strings.HasPrefix(path, "/login") || path == "/forgot" || hasSecret(path)
}

// mustNotStore reports whether browsers must not store pages of a route: private pages and pages for
// moderators.
func mustNotStore(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return isPrivate(pattern) || strings.HasPrefix(path, "/moderation")
}

// hasSecret reports whether the addresses of a route are secret.
func hasSecret(pattern string) bool { return strings.HasSuffix(pattern, "/{token}") }

// buffers hold pages while they are rendered: nothing is sent before a page is complete.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the size above which a buffer is not reused.
const maxPooled = 256 << 10

// Render renders and sends a page.
func (req *Request) Render(status int, page templ.Component) error {
	return req.RenderTo(page, func(body []byte) { req.Send(status, body) })
}

// RenderTo passes a rendered page to send, which must not retain it.
func (req *Request) RenderTo(page templ.Component, send func([]byte)) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxPooled {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	buf.Reset()
	// After the deadline of the request's own context, no page could be rendered, not even the page
	// that reports the timeout.
	if err := page.Render(req.site.pages.Context(req.Language), buf); err != nil {
		return fmt.Errorf("web: render: %w", err)
	}
	send(buf.Bytes())
	return nil
}

// Send sends a page.
func (req *Request) Send(status int, body []byte) {
	h := req.W.Header()
	h["Content-Type"] = headerHTML
	if len(body) >= httpserver.CompressFrom && httpserver.AcceptsGzip(req.R) && httpserver.MayCompress(req.R) {
		buf := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(buf)
		buf.Reset()
		httpserver.Compress(buf, body)
		body = buf.Bytes()
		h["Content-Encoding"] = headerGzip
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	req.status = status
	req.W.WriteHeader(status)
	_, _ = req.W.Write(body) // the client may have disconnected
}

// Redirect redirects the browser to another page after a form was sent.
func (req *Request) Redirect(to string) error {
	req.status = http.StatusSeeOther
	req.W.Header().Set("Location", to)
	req.W.WriteHeader(req.status)
	return nil
}

// RedirectToName redirects to the same page under the canonical spelling of the name in the path.
func (req *Request) RedirectToName(path string) error {
	if req.R.URL.RawQuery != "" {
		path += "?" + req.R.URL.RawQuery
	}
	req.status = http.StatusFound
	req.W.Header().Set("Location", path)
	req.W.WriteHeader(req.status)
	return nil
}

// SendJSON sends a value as JSON.
func SendJSON(req *Request, value any) error { return sendJSON(req, http.StatusOK, value) }

func sendJSON(req *Request, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	header := req.W.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.status = status
	req.W.WriteHeader(req.status)
	_, _ = req.W.Write(body) // the client may have disconnected
	return nil
}

// ServeFile sends a file that never changes, or the range that the client requests. The headers
// allow only showing the file; public lets any cache store the file.
func ServeFile(req *Request, file *files.File, contentType string, public bool) {
	h := req.W.Header()
	h["Content-Type"] = []string{contentType}
	h["Content-Security-Policy"] = headerFileCSP
	h["Etag"] = []string{strconv.Quote(file.Name)}
	h["Cache-Control"] = headerNoStore
	if public {
		h["Cache-Control"] = headerImmutable
		h.Del("Vary")
	}
	if strings.Contains(req.R.Header.Get("Range"), ",") {
		req.R.Header.Del("Range") // each range is another request to the media store
	}
	w := &statusWriter{Download(req), &req.status}
	http.ServeContent(w, req.R, "", file.Modified, file)
}

// Download returns a writer for a response larger than a page.
func Download(req *Request) http.ResponseWriter {
	return httpserver.Download(req.W, req.R, &req.waited)
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status *int
}

func (w *statusWriter) WriteHeader(status int) {
	*w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// NoIndex asks search engines not to index the page.
func (req *Request) NoIndex() { req.W.Header()[headerRobots] = headerNoIndex }

// headerRobots tells search engines what they may do with a page.
const headerRobots = "X-Robots-Tag"

// SendCached sends a body that is the same for all visitors, or status 304 if the client already
// has the same body. The response has no modification time: a deletion changes a list without
// adding anything newer.
func SendCached(req *Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	header := req.W.Header()
	header.Set("ETag", tag)
	if !req.LoggedIn {
		header.Set("Cache-Control", "public, no-cache")
	}
	if hasVersion(req.R.Header, tag) {
		req.status = http.StatusNotModified
		req.W.WriteHeader(req.status)
		return
	}
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	req.status = http.StatusOK
	req.W.WriteHeader(req.status)
	_, _ = bytes.NewReader(body).WriteTo(req.W) // the client may have disconnected
}

// hasVersion reports whether a client already has the version with an entity tag.
func hasVersion(h http.Header, tag string) bool {
	for known := range strings.SplitSeq(strings.Join(h.Values("If-None-Match"), ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			return true
		}
	}
	return false
}

// Plain sends a line of text.
func Plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
