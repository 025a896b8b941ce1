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

// replyDropper is a proxy between a load and its server. It forwards commands up to the first that
// contains command, and drops the replies from then on. When executed returns, it closes the
// connection.
type replyDropper struct {
	listener net.Listener
	server   string
	command  string
	executed func() // waits until the server has executed the command
	wg       sync.WaitGroup
	dropping atomic.Bool
}

func newReplyDropper(t *testing.T, server *redistest.Server, command string, executed func()) *replyDropper {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest") // the path of a socket must be short
	require.OK(t)(err)
	p := &replyDropper{server: server.Socket(), command: command, executed: executed}
	if p.listener, err = net.Listen("unix", filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.wg.Wait()
		os.RemoveAll(dir)
	})
	return p
}

func (p *replyDropper) url() string { return "unix://" + p.listener.Addr().String() }

func (p *replyDropper) accept() {
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
		first := !p.dropping.Load()
		p.wg.Go(func() { p.forwardReplies(server, client, first) })
		p.wg.Go(func() { p.forwardCommands(client, server, first) })
	}
}

// forwardCommands forwards commands. On the first connection, it stops after the command.
func (p *replyDropper) forwardCommands(client, server net.Conn, first bool) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		found := first && bytes.Contains(buf[:n], []byte(p.command))
		if found {
			p.dropping.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if found {
			p.executed()
			return
		}
	}
}

// forwardReplies forwards replies. On the first connection, it drops them after the command.
func (p *replyDropper) forwardReplies(server, client net.Conn, first bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if !first || !p.dropping.Load() {
			_, _ = client.Write(buf[:n])
		}
	}
}

// TestLastReplyIsLost breaks the connection after the server has executed the last command and
// before the reply arrives. The command is in doubt and must not be resent, because it increments a
// counter.
func TestLastReplyIsLost(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][]byte{
		"INCR":       encode(t, []any{"INCR", "counter"}),
		"after SETs": encode(t, []any{"SET", "a", 1}, []any{"SET", "b", 2}, []any{"INCR", "counter"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t)
			c := s.Client(t)
			p := newReplyDropper(t, s, "INCR", func() {
				eventually(t, "INCR is executed", func() bool { return do(t, c, "GET", "counter") == "1" })
			})
			report, err := loadURL(context.Background(), p.url(), bytes.NewReader(input), Options{})
			if no := bytes.Count(input, []byte("*")); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("before command %d (INCR counter", no)) {
				t.Errorf("load: %v, want ErrLost before command %d; report: %+v", err, no, report)
			}
			if n := do(t, c, "GET", "counter"); n != "1" {
				t.Errorf("the counter is %s, want 1", n)
			}
		})
	}
}

// TestCheckpointOfAnsweredCommands checks that a checkpoint counts only executed commands, so that
// a resumed load skips no command. The server is paused after the first third of the input.
func TestCheckpointOfAnsweredCommands(t *testing.T) {
	t.Parallel()
	const n = 40_000
	input := encode(t, repeat(n, "INCR", "counter")...)
	s := redistest.Own(t, durable(t)...)
	c := s.Client(t)
	path := filepath.Join(t.TempDir(), "checkpoint")
	var sent atomic.Int64
	var executed int64
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input), do: func(i int) {
		if i == 0 {
			do(t, c, "CLIENT", "PAUSE", "600000", "WRITE")
			executed, _ = strconv.ParseInt(do(t, c, "GET", "counter"), 10, 64)
			return
		}
		eventually(t, "the load has sent more than two mark intervals", func() bool { return sent.Load() > executed*int64(len(input)/n)+2*markEvery })
		s.Restart(t, true)
	}}
	_, err := loadURL(context.Background(), s.URL(), r, Options{Checkpoint: path, OnProgress: func(r Report) { sent.Store(r.Bytes) }})
	r.wait()
	if !errors.Is(err, ErrLost) {
		t.Fatalf("load: %v, want ErrLost", err)
	}
	var got saved
	if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &got) != nil {
		t.Fatalf("the checkpoint file is %q, %v; want a checkpoint", text, err)
	}
	if got.Commands > executed {
		t.Errorf("the checkpoint counts %d commands, but %d were executed", got.Commands, executed)
	}
}
