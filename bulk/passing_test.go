package bulk

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// temporaryRefusal makes a server temporarily refuse commands.
type temporaryRefusal struct {
	begin func(t *testing.T, s *redistest.Server, c rueidis.Client) // returns once the server refuses commands
	end   func(t *testing.T, c rueidis.Client)
	reply string // the start of the error reply
}

// busy runs an endless script.
var busy = temporaryRefusal{
	begin: func(t *testing.T, s *redistest.Server, c rueidis.Client) {
		scripts := s.Client(t)
		go scripts.Do(context.Background(), scripts.B().Eval().Script("while true do end").Numkeys(0).Build())
		eventually(t, "the server is busy", func() bool {
			_, err := try(c, "PING")
			return err != nil && strings.HasPrefix(err.Error(), "BUSY")
		})
	},
	end:   func(t *testing.T, c rueidis.Client) { do(t, c, "SCRIPT", "KILL") },
	reply: "-BUSY",
}

// demoted makes the server a replica.
var demoted = temporaryRefusal{
	begin: func(t *testing.T, _ *redistest.Server, c rueidis.Client) { do(t, c, "REPLICAOF", "127.0.0.1", "1") },
	end:   func(t *testing.T, c rueidis.Client) { do(t, c, "REPLICAOF", "NO", "ONE") },
	reply: "-READONLY",
}

// load loads an input into a server that refuses commands from the middle of the input on, until
// the load has received a refusal.
func (r temporaryRefusal) load(t *testing.T, input []byte, opt Options) (*redistest.Server, Report, error) {
	t.Helper()
	s := redistest.Own(t, append(debugging(t), "lua-time-limit 1")...)
	c := s.Client(t)
	refused := make(chan struct{}, 1000)
	option := rueidis.ClientOption{
		InitAddress: []string{s.Socket()},
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "unix", addr)
			return &watchedConn{Conn: conn, text: r.reply, seen: refused}, err
		},
	}
	ended := make(chan struct{})
	in := &hook{r: bytes.NewReader(input), offsets: []int{len(input) / 2}, do: func(int) {
		r.begin(t, s, c)
		go func() {
			defer close(ended)
			<-refused
			r.end(t, c)
		}()
	}}
	report, err := Load(t.Context(), option, opt, From(in))
	<-ended
	return s, report, err
}

// watchedConn sends to seen for each read that contains text.
type watchedConn struct {
	net.Conn
	text string
	seen chan struct{}
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], []byte(c.text)) {
		select {
		case c.seen <- struct{}{}:
		default:
		}
	}
	return n, err
}

// TestTemporaryRefusal checks that temporarily refused commands are resent in order.
func TestTemporaryRefusal(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(20_000, 200_000)
	input := repeatableCommands(t, n)
	undisturbed := redistest.Own(t, debugging(t)...)
	load(t, undisturbed.URL(), input, Options{})
	want := digest(t, undisturbed.Client(t))
	for name, opt := range map[string]Options{
		"one connection":    {},
		"three connections": {Connections: 3},
		"coalesced":         {Coalesce: true, MaxInflight: 128 << 10},
		"never sent twice":  {Resend: ResendNever},
	} {
		for kind, r := range map[string]temporaryRefusal{"busy": busy, "demoted": demoted} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				s, report, err := r.load(t, input, opt)
				if err != nil || report.Errors != 0 || report.Replies != int64(n) || report.Resent == 0 {
					t.Errorf("load: %v, want %d replies, no errors and resent commands; report: %+v", err, n, report)
				}
				if got := digest(t, s.Client(t)); got != want {
					t.Errorf("digest %s, want %s as without refusals", got, want)
				}
			})
		}
	}
}

// TestRefusedOutOfOrder checks that refused commands that cannot be repeated keep the order of the
// input: a command fails if a later command has been executed before it.
func TestRefusedOutOfOrder(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(20_000, 200_000)
	var commands [][]any
	for i := range n {
		commands = append(commands, []any{"RPUSH", fmt.Sprint("list", i%7), i})
	}
	s, report, err := busy.load(t, encode(t, commands...), Options{ErrorsTo: new(bytes.Buffer)})
	if err != nil || report.Replies != int64(n) || report.Errors != report.Kinds["BUSY"] {
		t.Errorf("load: %v, want %d replies and no errors but BUSY; report: %+v", err, n, report)
	}
	c, total := s.Client(t), int64(0)
	for list := range 7 {
		items, err := c.Do(t.Context(), c.B().Lrange().Key(fmt.Sprint("list", list)).Start(0).Stop(-1).Build()).AsIntSlice()
		require.OK(t)(err)
		total += int64(len(items))
		for i := range items {
			if i > 0 && items[i] <= items[i-1] {
				t.Fatalf("list%d has %d after %d, want increasing numbers", list, items[i], items[i-1])
			}
		}
	}
	if total != int64(n)-report.Errors {
		t.Errorf("the lists have %d items, want %d; report: %+v", total, int64(n)-report.Errors, report)
	}
}

// TestRefusedFlush checks that a refused command that may change any key keeps its order.
func TestRefusedFlush(t *testing.T) {
	t.Parallel()
	commands := repeat(10_000, "SET", "before", 1)
	commands = append(commands, []any{"FLUSHALL"})
	commands = append(commands, repeat(10_000, "SET", "after", 1)...)
	s, report, err := busy.load(t, encode(t, commands...), Options{})
	if err != nil || report.Errors != 0 || report.Replies != int64(len(commands)) {
		t.Errorf("load: %v, want %d replies and no errors; report: %+v", err, len(commands), report)
	}
	if got := do(t, s.Client(t), "RANDOMKEY"); got != "after" {
		t.Errorf("RANDOMKEY = %s, want only the key after", got)
	}
}

// TestLongRefusal checks that a load fails with the error of the server if the server refuses
// commands for longer than RetryFor, and that a load waits for a server that refuses commands at
// the start.
func TestLongRefusal(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t, "lua-time-limit 1")
	c := s.Client(t)
	demoted.begin(t, s, c)
	report, err := loadURL(t.Context(), s.URL(), strings.NewReader("SET a 1\nSET b 1\n"), Options{RetryFor: -1})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the server did not accept command 1 (SET a 1): READONLY ") || report.Replies != 0 {
		t.Errorf("load: %v, want ErrLost with READONLY and no replies; report: %+v", err, report)
	}
	demoted.end(t, c)
	busy.begin(t, s, c)
	require.Fails(t, ErrLost, "BUSY ")(loadURL(t.Context(), s.URL(), strings.NewReader("SET a 1\n"), Options{RetryFor: -1}))
	refused := make(chan struct{}, 1000)
	option := rueidis.ClientOption{InitAddress: []string{s.Socket()}, DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "unix", addr)
		return &watchedConn{Conn: conn, text: busy.reply, seen: refused}, err
	}}
	go func() {
		<-refused
		busy.end(t, c)
	}()
	if report, err := Load(t.Context(), option, Options{RetryFor: time.Hour}, From(strings.NewReader("SET a 1\n"))); err != nil || report.Replies != 1 {
		t.Errorf("load: %v, want 1 reply; report: %+v", err, report)
	}
}
