package request

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"retwis/internal/social"
)

// The number of bytes that an account or an address can upload at the same time is limited. A
// request that ends frees its bytes.
func TestInFlight(t *testing.T) {
	t.Parallel()
	site := &Site{}
	request := func(user int64, address string, length int64) *Request {
		r := httptest.NewRequest(http.MethodPost, "/media", http.NoBody)
		r.ContentLength, r.RemoteAddr = length, address+":1"
		return &Request{site: site, R: r, User: social.User{ID: user}, files: maxUpload}
	}
	take := func(user int64, address string, length int64, want bool) func() {
		t.Helper()
		release, err := site.uploads.take(request(user, address, length))
		if (err == nil) != want {
			t.Fatalf("user %d at %s with %d bytes: %v, want allowed = %v", user, address, length, err, want)
		}
		return release
	}
	first := take(1, "192.0.2.1", maxUpload, true)
	second := take(1, "192.0.2.2", -1, true) // of unknown length: counts as the maximum
	take(1, "192.0.2.3", 1, false)
	first()
	take(1, "192.0.2.3", 1, true)()
	second()
	var all []func()
	for i := range maxPerAddress / maxUpload {
		all = append(all, take(int64(2+i), "192.0.2.9", maxUpload, true))
	}
	take(1, "192.0.2.9", 1, false)
	take(1, "192.0.2.8", 1, true)()
	for _, release := range all {
		release()
	}
	if left := fmt.Sprint(site.uploads.bytes); left != "map[]" {
		t.Errorf("bytes in flight after all requests ended: %s", left)
	}
}
