package serve

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// address is the value of a flag that takes an address to listen on.
type address string

func (a *address) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *address) Type() string { return "host:port" }

// Set implements pflag.Value.
func (a *address) Set(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("use host:port, or :port for every interface")
	}
	*a = address(value)
	return nil
}

// optionalAddress may also be empty, so that a flag can override its variable with
// nothing.
type optionalAddress struct{ address }

// Set implements pflag.Value.
func (a *optionalAddress) Set(value string) error {
	if value == "" {
		a.address = ""
		return nil
	}
	return a.address.Set(value)
}

// networks is the value of a flag that takes networks.
type networks []netip.Prefix

func (n *networks) String() string {
	var all []string
	for _, p := range *n {
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value.
func (n *networks) Type() string { return "CIDR,..." }

// Set implements pflag.Value.
func (n *networks) Set(value string) error {
	*n = nil
	for text := range strings.SplitSeq(value, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		if addr, one := netip.ParseAddr(text); one == nil {
			network, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is not a network: write addresses such as 10.0.0.0/8 or ::1", text)
		}
		*n = append(*n, network.Masked())
	}
	return nil
}
