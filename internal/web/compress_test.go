package web_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Pages, shared pages and files are compressed for clients that accept gzip.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedUp("ada")
	page := ada.get("/home").want(200).body
	get := func(v *visitor, path, encoding, fetchSite string) (plain string, size int, h http.Header) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, s.http.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding) // set explicitly, so that the client does not decode the body
		if fetchSite != "" {
			request.Header.Set("Sec-Fetch-Site", fetchSite)
		}
		a := v.do(request, nil).want(200)
		body := a.body
		if a.header.Get("Content-Encoding") == "gzip" {
			r, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			body = string(text)
		}
		if got := a.header.Get("Content-Length"); got != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: Content-Length %s of %d bytes", path, got, len(a.body))
		}
		return body, len(a.body), a.header
	}
	for _, path := range []string{"/home", "/timeline", "/login", linkTo(t, page, ".css")} {
		v := s.visitor()
		if path == "/home" {
			v = ada
		}
		for range 2 { // the second response may come from the cache
			for encoding, want := range map[string]bool{
				"gzip": true, "br, gzip;q=0.8": true, "*": true, "identity": false, "gzip;q=0, br": false, "deflate": false,
			} {
				text, size, h := get(v, path, encoding, "same-origin")
				compressed := h.Get("Content-Encoding") == "gzip"
				if compressed != want || !strings.Contains(h.Get("Vary"), "Accept-Encoding") {
					t.Errorf("%s with %q: Content-Encoding %q, Vary %q", path, encoding, h.Get("Content-Encoding"), h.Get("Vary"))
				}
				if compressed && size*2 > len(text) || !compressed && size != len(text) || len(text) < 1024 {
					t.Errorf("%s with %q: %d bytes of %d", path, encoding, size, len(text))
				}
			}
		}
	}
	if _, _, h := get(ada, "/home", "gzip", "cross-site"); h.Get("Content-Encoding") != "" {
		t.Error("a response to a cross-site request is compressed")
	}
}
