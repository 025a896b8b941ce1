package serve

import (
	"fmt"
	"net/netip"
	"strings"
)

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
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			network, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is not a network: write addresses such as 10.0.0.0/8 or ::1", text)
		}
		*n = append(*n, network.Masked())
	}
	return nil
}
