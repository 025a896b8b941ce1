package httpserver

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddress returns the address of the client: the peer of the connection or, if the peer is a
// trusted proxy, the last address in X-Forwarded-For that is not a trusted proxy. The address is
// invalid for a connection without an address, such as a Unix socket, unless proxies are trusted
// and set the header.
func ClientAddress(r *http.Request, proxies []netip.Prefix) netip.Addr {
	var addr netip.Addr
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		addr = peer.Addr().Unmap()
		if !trusted(addr, proxies) {
			return addr
		}
	} else if len(proxies) == 0 {
		return addr
	}
	// A client can put anything at the beginning of the header, so the header is read from the end.
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := parseHop(strings.TrimSpace(hops[i]))
		if err != nil {
			return addr
		}
		if addr = hop; !trusted(addr, proxies) {
			break
		}
	}
	return addr
}

// parseHop parses an address with or without a port.
func parseHop(text string) (netip.Addr, error) {
	if hop, err := netip.ParseAddrPort(text); err == nil {
		return hop.Addr().Unmap().WithZone(""), nil
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err
}

func trusted(addr netip.Addr, proxies []netip.Prefix) bool {
	for _, p := range proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// AddressText formats an address for a log.
func AddressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}
