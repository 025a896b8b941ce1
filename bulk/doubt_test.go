package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// thief is a proxy between a load and its server. It forwards commands up to a given one, whose
// reply and all later ones it drops. When the server has executed that command, it closes the
// connection.
type thief struct {
	listener net.Listener
	server   string
	command  string
	executed func()
	closing  sync.WaitGroup
	stolen   atomic.Bool
}

func newThief(t *testing.T, server *redistest.Server, command string, executed func()) *thief {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest") // the path of a socket must be short
	require.OK(t)(err)
	p := &thief{server: server.Socket(), command: command, executed: executed}
	if p.listener, err = net.Listen("unix", filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	p.closing.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.closing.Wait()
		os.RemoveAll(dir)
	})
	return p
}

func (p *thief) url() string { return "unix://" + p.listener.Addr().String() }

func (p *thief) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			client.Close()
			continue
		}
		first := !p.stolen.Load()
		p.closing.Go(func() { p.pass(server, client, first) })
		p.closing.Go(func() { p.steal(client, server, first) })
	}
}

// steal forwards commands.
func (p *thief) steal(client, server net.Conn, first bool) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		is := first && bytes.Contains(buf[:n], []byte(p.command))
		if is {
			p.stolen.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if is {
			p.executed()
			return
		}
	}
}

// pass forwards replies.
func (p *thief) pass(server, client net.Conn, first bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if !first || !p.stolen.Load() {
			_, _ = client.Write(buf[:n])
		}
	}
}

// The last command sent is the one in doubt: the server has executed it, and the connection broke
// before its reply. It counts, so it is not resent.
func TestLastReplyIsLost(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][]byte{
		"alone":      encode(t, []any{"INCR", "counter"}),
		"after SETs": encode(t, []any{"SET", "a", 1}, []any{"SET", "b", 2}, []any{"INCR", "counter"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t)
			c := s.Client(t)
			p := newThief(t, s, "INCR", func() {
				eventually(t, "INCR is executed", func() bool { return do(t, c, "GET", "counter") == "1" })
			})
			report, err := loadURL(context.Background(), p.url(), bytes.NewReader(input), Options{})
			if no := bytes.Count(input, []byte("*")); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("before command %d (INCR counter", no)) {
				t.Errorf("%v, %+v", err, report)
			}
			if n := do(t, c, "GET", "counter"); n != "1" {
				t.Errorf("the counter is %s", n)
			}
		})
	}
}

// A checkpoint counts no command that was sent but not executed: nothing of the input is left out
// when the load is restarted. The server executes nothing from the first third of the input on.
func TestCheckpointOfAnsweredCommands(t *testing.T) {
	t.Parallel()
	const n = 40_000
	input := encode(t, repeat(n, "INCR", "counter")...)
	s := redistest.Own(t, durable(t)...)
	c := s.Client(t)
	path := filepath.Join(t.TempDir(), "checkpoint")
	var sent atomic.Int64
	var executed int64
	r := &hook{r: bytes.NewReader(input), at: thirds(input), do: func(i int) {
		if i == 0 {
			do(t, c, "CLIENT", "PAUSE", "600000", "WRITE")
			executed, _ = strconv.ParseInt(do(t, c, "GET", "counter"), 10, 64)
			return
		}
		eventually(t, "more is sent than the distance of two marks", func() bool { return sent.Load() > executed*int64(len(input)/n)+2*markEvery })
		s.Restart(t, true)
	}}
	_, err := loadURL(context.Background(), s.URL(), r, Options{Checkpoint: path, OnProgress: func(r Report) { sent.Store(r.Bytes) }})
	r.wait()
	if !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	var got saved
	if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &got) != nil {
		t.Fatalf("%v, %s", err, text)
	}
	if got.Commands > executed {
		t.Errorf("the checkpoint counts %d commands, but %d were executed", got.Commands, executed)
	}
}
