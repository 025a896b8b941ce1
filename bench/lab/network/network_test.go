package network

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo starts an echo server and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// roundTrip sends a line and returns the time until the response. It fails if the response takes
// longer than limit; a limit of 0 means no limit.
func roundTrip(conn net.Conn, limit time.Duration) (time.Duration, error) {
	start := time.Now()
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return 0, err
	}
	if limit > 0 {
		_ = conn.SetReadDeadline(start.Add(limit))
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	_, err := bufio.NewReader(conn).ReadString('\n')
	return time.Since(start), err
}

func TestRules(t *testing.T) {
	t.Parallel()
	n := New()
	defer n.Close()
	n.Process("me", os.Getpid())
	addr, err := n.Listen("server", 0, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := roundTrip(conn, 0); err != nil {
		t.Fatal(err)
	}
	n.Set("me", "server", Rule{Delay: 30 * time.Millisecond})
	if took, err := roundTrip(conn, 0); err != nil || took < 60*time.Millisecond {
		t.Errorf("with a delay of 30 ms, a round trip took %v, %v; want at least 60 ms", took, err)
	}
	n.Set("me", "server", Rule{Loss: 1})
	if took, err := roundTrip(conn, 0); err != nil || took < 2*retransmission {
		t.Errorf("with every packet lost once, a round trip took %v, %v; want at least %v", took, err, 2*retransmission)
	}
	n.Set("me", "server", Rule{})
	n.Set("another", "server", Rule{Cut: true})
	if _, err := roundTrip(conn, 0); err != nil {
		t.Errorf("with another link cut: %v", err)
	}
	n.Set("server", Any, Rule{Cut: true})
	if _, err := roundTrip(conn, 100*time.Millisecond); err == nil {
		t.Error("a round trip over a cut link succeeded")
	}
	n.Set("server", Any, Rule{})
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("after the cut, received %q, %v; want \"hello\\n\"", line, err)
	}
}
