package request

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/prometheus/client_golang/prometheus"

	"retwis/internal/app"
	"retwis/internal/i18n"
	"retwis/internal/web/httpserver"
	"retwis/internal/web/metrics"
	"retwis/internal/web/view"
)

// newTestSite returns a site without a database.
func newTestSite(t testing.TB, log io.Writer) *Site {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return &Site{
		opt:      Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Access: &httpserver.AccessLog{}, Metrics: m, Timeout: time.Minute},
		app:      new(app.App),
		database: httpserver.NewBreaker(func(context.Context) error { return nil }),
		confirm:  func(ctx context.Context) (context.Context, *atomic.Bool, error) { return ctx, nil, nil },
	}
}

// An error or a panic results in an error page. Its details are only logged.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(*Request) error{
		"error": func(*Request) error { return errors.New("social: the cause") },
		"panic": func(*Request) error { panic("the cause") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			w := httptest.NewRecorder()
			newTestSite(t, &log).Handler("GET /fault", "", page).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/fault", http.NoBody))
			id := w.Header().Get("X-Request-Id")
			if w.Code != 500 || id == "" || !strings.Contains(w.Body.String(), id) || strings.Contains(w.Body.String(), "cause") {
				t.Errorf("status %d, request %q: %s", w.Code, id, w.Body)
			}
			if got := log.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "request="+id) || !strings.Contains(got, "the cause") {
				t.Errorf("log: %q, want an error with the cause", got)
			}
		})
	}
}

// Over HTTP/2, a request that is canceled by its client or arrives too slowly does not close the
// connection for other requests.
func TestFailuresKeepTheConnection(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]Page{
		"canceled": func(req *Request) error {
			<-req.Ctx.Done()
			return req.Ctx.Err()
		},
		"too slow": func(*Request) error { return &Error{Status: http.StatusRequestTimeout} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newTestSite(t, io.Discard)
			started, ended := make(chan struct{}), make(chan struct{})
			mux := http.NewServeMux()
			mux.HandleFunc("/fails", func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				close(started)
				site.Handler("GET /fails", "", page).ServeHTTP(w, r)
			})
			mux.HandleFunc("/next", func(http.ResponseWriter, *http.Request) {})
			server := httptest.NewUnstartedServer(mux)
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			get := func(ctx context.Context, path string) error {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				res, err := server.Client().Do(r)
				if err == nil {
					err = res.Body.Close()
				}
				return err
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			_ = get(ctx, "/fails")
			<-ended
			for range 3 { // a closing connection would still finish a request in progress
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
					if !got.Reused {
						t.Error("the connection was closed")
					}
				}})
				if err := get(ctx, "/next"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A page that cannot be rendered is not sent in part.
func TestHalfPage(t *testing.T) {
	t.Parallel()
	broken := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, _ = io.WriteString(w, "half a page")
		return errors.New("the other half is missing")
	})
	w := httptest.NewRecorder()
	newTestSite(t, io.Discard).Handler("GET /half", "", func(v *Request) error {
		return v.Render(200, broken)
	}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/half", http.NoBody))
	if w.Code != 500 || strings.Contains(w.Body.String(), "half a page") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// An error page begins with what happened and ends with the status. If the error may be temporary,
// the page has a link to try again, which leads back to the page with the form.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	busy := &Error{Status: http.StatusServiceUnavailable, Detail: i18n.T("This site is busy right now. Please try again in a moment.")}
	for name, test := range map[string]struct {
		method, from string
		err          *Error
		again        string // the link, empty for none
	}{
		"page":                 {http.MethodGet, "", busy, "/u/ada/1?after=2"},
		"form":                 {http.MethodPost, "http://example.com/timeline?before=3", busy, "/timeline?before=3"},
		"form of another site": {http.MethodPost, "http://elsewhere.com/timeline", busy, "/home"},
		"permanent":            {http.MethodGet, "", ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "/u/ada/1?after=2", http.NoBody)
			r.Header.Set("Referer", test.from)
			w := httptest.NewRecorder()
			newTestSite(t, io.Discard).Handler("/u/{name}/{id}", "/home", func(*Request) error { return test.err }).ServeHTTP(w, r)
			body := w.Body.String()
			headline, number := strings.Index(body, "<h1>"+templ.EscapeString(view.Failure{Detail: test.err.Detail.String()}.Headline())+"</h1>"), strings.Index(body, "Error "+strconv.Itoa(test.err.Status))
			if headline < 0 || number < headline {
				t.Errorf("the headline is at %d, the status at %d: %s", headline, number, body)
			}
			link := `href="` + test.again + `">Try again`
			if got := strings.Contains(body, "Try again"); got != (test.again != "") || got && !strings.Contains(body, link) {
				t.Errorf("link to try again: want %q in %s", link, body)
			}
		})
	}
}

// FuzzForm looks for a form that is parsed incorrectly.
func FuzzForm(f *testing.F) {
	const plain = "application/x-www-form-urlencoded"
	f.Add(plain, "status=hello&status=again", "")
	f.Add(plain, "username=a%00&password=%zz", "status=from+the+address")
	f.Add("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"status\"\r\n\r\nhi\r\n--x--", "")
	f.Add(plain, strings.Repeat("a", maxForm+1), "")
	f.Add("text/plain;", ";", ";")
	s := newTestSite(f, io.Discard)
	f.Fuzz(func(t *testing.T, kind, body, query string) {
		r := httptest.NewRequest(http.MethodPost, "/post", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		r.URL.RawQuery = query
		var typed string
		w := httptest.NewRecorder()
		s.Handler("POST /post", "", func(v *Request) error {
			typed = v.R.PostFormValue("status")
			return v.Redirect("/home")
		}).ServeHTTP(w, r)
		switch {
		case w.Code != 303 && w.Code != 400 && w.Code != 413:
			t.Errorf("status %d", w.Code)
		case len(body) > maxForm && typed != "":
			t.Errorf("a form of %d bytes was accepted", len(body))
		case len(typed) > len(body), body == "" && typed != "":
			t.Errorf("parsed the status %q, which is not in the form %q", typed, body)
		}
	})
}
