package httpserver

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name, remote string
		header       []string
		none         bool // no trusted proxies
		want         string
	}{
		{name: "direct", remote: "192.0.2.1:5", want: "192.0.2.1"},
		{name: "not trusted", remote: "192.0.2.1:5", header: []string{"198.51.100.7"}, want: "192.0.2.1"},
		{name: "none trusted", remote: "10.0.0.1:5", header: []string{"198.51.100.7"}, none: true, want: "10.0.0.1"},
		{name: "proxy", remote: "10.0.0.1:5", header: []string{"198.51.100.7"}, want: "198.51.100.7"},
		{name: "two proxies", remote: "10.0.0.1:5", header: []string{"198.51.100.7, 10.1.1.1"}, want: "198.51.100.7"},
		{name: "forged", remote: "10.0.0.1:5", header: []string{"203.0.113.9, 198.51.100.7"}, want: "198.51.100.7"},
		{name: "two headers", remote: "10.0.0.1:5", header: []string{"203.0.113.9", "198.51.100.7"}, want: "198.51.100.7"},
		{name: "invalid", remote: "10.0.0.1:5", header: []string{"198.51.100.7, unknown"}, want: "10.0.0.1"},
		{name: "empty", remote: "10.0.0.1:5", want: "10.0.0.1"},
		{name: "with a port", remote: "10.0.0.1:5", header: []string{"198.51.100.7:80"}, want: "198.51.100.7"},
		{name: "IPv6", remote: "[fd00::1]:5", header: []string{"[2001:db8::1]:80"}, want: "2001:db8::1"},
		{name: "a mapped address", remote: "[::ffff:192.0.2.1]:5", want: "192.0.2.1"},
		{name: "unix socket", remote: "@", header: []string{"198.51.100.7"}, want: "198.51.100.7"},
		{name: "unix socket, none trusted", remote: "@", header: []string{"198.51.100.7"}, none: true, want: "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.header}}
		trust := proxies
		if c.none {
			trust = nil
		}
		if got := ClientAddress(r, trust).String(); got != c.want {
			t.Errorf("%s: address %s, want %s", c.name, got, c.want)
		}
	}
}
