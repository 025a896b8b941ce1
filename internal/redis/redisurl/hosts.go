package redisurl

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// errNotPort does not contain the port, because the port may be a password if the host is missing.
var errNotPort = errors.New("the port is not a number from 1 to 65535")

func readHosts(hosts, defaultPort string) ([]string, error) {
	var addresses []string
	for _, entry := range strings.Split(hosts, ",") {
		host, port, err := net.SplitHostPort(entry)
		if err != nil { // no port
			port = defaultPort
			bracketed := strings.HasPrefix(entry, "[") && strings.HasSuffix(entry, "]")
			if host = entry; bracketed {
				host = entry[1 : len(entry)-1]
			}
			if strings.Contains(host, ":") != bracketed {
				return nil, errors.New("a host is not host:port (an IPv6 address needs brackets)")
			}
		}
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, errNotPort
		}
		addresses = append(addresses, net.JoinHostPort(host, port))
	}
	return addresses, nil
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("the host is missing")
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return errors.New("the host in brackets is not an IPv6 address")
		}
		return nil
	}
	invalid := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`[]/\%"`, r) }
	if strings.ContainsFunc(host, invalid) {
		return errors.New("the host has characters that are invalid in a host")
	}
	return nil
}
