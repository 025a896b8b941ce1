package network

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// process returns the name of the process at the other end of a connection on this machine,
// or "" if it cannot be found.
func (n *Network) process(remote, local net.Addr) string {
	inode := inodeOf(remote, local)
	if inode == "" {
		return ""
	}
	n.mu.Lock()
	pids := make(map[string]int, len(n.pids))
	for name, pid := range n.pids {
		pids[name] = pid
	}
	n.mu.Unlock()
	want := "socket:[" + inode + "]"
	for name, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if link, _ := os.Readlink(file); link == want {
				return name
			}
		}
	}
	return ""
}

// inodeOf finds the socket with this local and remote address.
func inodeOf(local, remote net.Addr) string {
	table, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		return ""
	}
	defer table.Close()
	from, to := hexAddress(local), hexAddress(remote)
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		// sl local_address rem_address st queues timer retransmits uid timeout inode
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && fields[1] == from && fields[2] == to {
			return fields[9]
		}
	}
	return ""
}

// hexAddress writes an address as the kernel does, on a little-endian machine.
func hexAddress(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	ip := net.IP(nil)
	if ok {
		ip = tcp.IP.To4()
	}
	if ip == nil {
		return ""
	}
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], tcp.Port)
}
