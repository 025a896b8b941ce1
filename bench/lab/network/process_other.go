//go:build !linux

package network

import "net"

// process is not known on this system.
func (n *Network) process(_, _ net.Addr) string { return "" }
