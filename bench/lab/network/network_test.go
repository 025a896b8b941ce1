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

// echo serves lines back, and returns its address.
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

// ask sends a line, and returns how long the answer takes; an error if it takes longer than
// a limit that is not 0.
func ask(conn net.Conn, limit time.Duration) (time.Duration, error) {
	began := time.Now()
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return 0, err
	}
	if limit > 0 {
		_ = conn.SetReadDeadline(began.Add(limit))
		defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	}
	_, err := bufio.NewReader(conn).ReadString('\n')
	return time.Since(began), err
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
	if _, err := ask(conn, 0); err != nil {
		t.Fatal(err)
	}
	n.Set("me", "server", Rule{Delay: 30 * time.Millisecond})
	if took, err := ask(conn, 0); err != nil || took < 60*time.Millisecond {
		t.Errorf("with 30 ms each way, an answer takes %v, %v", took, err)
	}
	n.Set("me", "server", Rule{Loss: 1})
	if took, err := ask(conn, 0); err != nil || took < 2*again {
		t.Errorf("where everything is lost once, an answer takes %v, %v", took, err)
	}
	n.Set("me", "server", Rule{})
	n.Set("another", "server", Rule{Cut: true})
	if _, err := ask(conn, 0); err != nil {
		t.Errorf("another link is cut, and this one answers: %v", err)
	}
	n.Set("server", Any, Rule{Cut: true})
	if _, err := ask(conn, 100*time.Millisecond); err == nil {
		t.Error("an answer comes through a link that is cut")
	}
	n.Set("server", Any, Rule{})
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("after the cut: %q, %v", line, err)
	}
}
