package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"

	"retwis/internal/cli/shell"
)

const (
	unixPrefix    = "unix:"
	systemdPrefix = "systemd:"
	// unitSocket is the name that retwis.socket gives the socket of the site.
	unitSocket = "web"
)

// address is the value of a flag that takes an address to listen on.
type address string

func (a *address) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *address) Type() string { return "address" }

// Set implements pflag.Value.
func (a *address) Set(value string) error {
	path, unix := strings.CutPrefix(value, unixPrefix)
	_, port, err := net.SplitHostPort(value)
	switch {
	case unix && path == "":
		return errors.New("use unix:PATH for a unix socket")
	case unix, strings.HasPrefix(value, systemdPrefix):
	case err != nil:
		return errors.New("use host:port, :port for every interface, unix:PATH, or systemd:NAME for a socket of systemd")
	default:
		if _, err := net.LookupPort("tcp", port); err != nil {
			return fmt.Errorf("%q is not a port: use a number from 0 to 65535", port)
		}
	}
	*a = address(value)
	return nil
}

// optionalAddress is an address that may be empty, so that a flag can clear the address that a
// variable sets.
type optionalAddress struct{ address }

// Set implements pflag.Value.
func (a *optionalAddress) Set(value string) error {
	if value == "" {
		a.address = ""
		return nil
	}
	return a.address.Set(value)
}

// fileMode is the value of a flag that takes permissions.
type fileMode fs.FileMode

func (m *fileMode) String() string { return fmt.Sprintf("%04o", uint32(*m)) }

// Type implements pflag.Value.
func (m *fileMode) Type() string { return "mode" }

// Set implements pflag.Value.
func (m *fileMode) Set(value string) error {
	var mode uint32
	if n, err := fmt.Sscanf(value+" ", "%o ", &mode); err != nil || n != 1 || mode > 0o777 || len(value) > 4 {
		return errors.New("use permissions such as 0660")
	}
	*m = fileMode(mode)
	return nil
}

// endpoint is an address to listen on, with the flag that sets it.
type endpoint struct {
	flag  string
	addr  address
	mode  fileMode // for a Unix socket
	given bool     // the address is set by a flag or a variable
}

// listen listens on each address; for empty addresses the listener is nil.
func listen(ctx context.Context, endpoints ...endpoint) ([]net.Listener, error) {
	all := make([]net.Listener, len(endpoints))
	inherited, err := activation.ListenersWithNames()
	if err != nil {
		return nil, fmt.Errorf("the sockets of systemd: %w", err)
	}
	for i, p := range endpoints {
		if len(inherited[unitSocket]) > 0 && p.flag == "--addr" && !p.given {
			p.addr = systemdPrefix + unitSocket
		}
		var err error
		name, systemd := strings.CutPrefix(string(p.addr), systemdPrefix)
		path, unix := strings.CutPrefix(string(p.addr), unixPrefix)
		switch {
		case p.addr == "":
		case systemd:
			all[i], err = takeInherited(inherited, p, name)
		case unix:
			all[i], err = p.listenUnix(ctx, path)
		default:
			all[i], err = new(net.ListenConfig).Listen(ctx, "tcp", string(p.addr))
		}
		if err != nil {
			all[i] = nil
			closeAll(all)
			return nil, p.cannotListen(err)
		}
	}
	return all, nil
}

// takeInherited takes a socket that systemd has opened, by its name in the socket unit. If name is
// empty, all sockets must have the same name.
func takeInherited(inherited map[string][]net.Listener, p endpoint, name string) (net.Listener, error) {
	var names []string
	for other, list := range inherited {
		if len(list) > 0 {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	list := inherited[name]
	if len(list) == 0 {
		if len(names) == 0 {
			return nil, shell.Hint(fmt.Errorf("systemd passed no socket to this process"), "Start retwis with a socket unit, or set "+p.flag+" to an address.")
		}
		return nil, fmt.Errorf("systemd passed no socket named %q, but %s", name, strings.Join(names, ", "))
	}
	inherited[name] = list[1:]
	return list[0], nil
}

// staleTime bounds the check whether another process answers on a socket.
const staleTime = time.Second

// listenUnix listens on a Unix socket, replacing a socket that another process left behind.
func (p endpoint) listenUnix(ctx context.Context, path string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		info, statErr := os.Lstat(path)
		if statErr == nil && info.Mode().Type() != fs.ModeSocket {
			return nil, errors.New("the file exists and is not a socket")
		}
		dialer := net.Dialer{Timeout: staleTime}
		conn, dialErr := dialer.DialContext(ctx, "unix", path)
		switch {
		case dialErr == nil:
			conn.Close()
			return nil, err
		case !errors.Is(dialErr, syscall.ECONNREFUSED):
			return nil, errors.Join(err, dialErr)
		}
		if removeErr := os.Remove(path); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			return nil, removeErr
		}
		listener, err = new(net.ListenConfig).Listen(ctx, "unix", path)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, fs.FileMode(p.mode)); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// cannotListen adds the address and a hint to a system error.
func (p endpoint) cannotListen(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	wrapped := fmt.Errorf("listen on %s: %w", p.addr, err)
	unix := strings.HasPrefix(string(p.addr), unixPrefix)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && unix:
		return shell.Hint(wrapped, "Another process serves this socket, perhaps another retwis: choose another path with "+p.flag+".")
	case errors.Is(err, syscall.EADDRINUSE):
		return shell.Hint(wrapped, "Another program uses this port, perhaps another retwis: choose a port with "+p.flag+", or 0 for any free port.")
	case errors.Is(err, syscall.EACCES) && !unix:
		return shell.Hint(wrapped, "Ports below 1024 need special permissions: choose a higher port with "+p.flag+".")
	default:
		return wrapped
	}
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		if listener != nil {
			listener.Close()
		}
	}
}

// url returns the address of a listener for browsers or proxies.
func url(listener net.Listener, secure bool) string {
	switch addr := listener.Addr(); {
	case addr.Network() == "unix":
		return unixPrefix + addr.String()
	case secure:
		return "https://" + addr.String()
	default:
		return "http://" + addr.String()
	}
}
