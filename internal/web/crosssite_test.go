package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// No form of the site can be submitted by a page of another site on behalf of a visitor.
func TestFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	s := setup(t)
	v := s.signedUp("ada")
	forms := 0
	for route, w := range walks {
		pattern, isForm := strings.CutPrefix(route, "POST ")
		if !isForm {
			continue
		}
		forms++
		path := w.path
		if path == "" {
			path = pattern
		}
		path = strings.NewReplacer("{id}", "1", "{name}", "ada").Replace(path)
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			request, err := http.NewRequest(http.MethodPost, s.http.URL+path, strings.NewReader(""))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set(name, value)
			if a := v.do(request, nil); a.status != http.StatusForbidden || !strings.Contains(a.body, "another site") {
				t.Errorf("%s with %s: %s: status %d", route, name, value, a.status)
			}
		}
	}
	if forms < 50 {
		t.Errorf("%d forms were tested, want at least 50", forms)
	}
}
