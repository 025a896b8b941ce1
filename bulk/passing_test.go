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

// refusing is a server that temporarily refuses commands: from a place in the input on, until a
// load has received a number of refusals.
type refusing struct {
	begin func(t *testing.T, s *redistest.Server, c rueidis.Client) // until the server refuses commands
	end   func(t *testing.T, c rueidis.Client)
	reply string
}

// busy runs a script that does not end.
var busy = refusing{
	begin: func(t *testing.T, s *redistest.Server, c rueidis.Client) {
		other := s.Client(t)
		go other.Do(context.Background(), other.B().Eval().Script("while true do end").Numkeys(0).Build())
		eventually(t, "the server is busy", func() bool {
			_, err := try(c, "PING")
			return err != nil && strings.HasPrefix(err.Error(), "BUSY")
		})
	},
	end:   func(t *testing.T, c rueidis.Client) { do(t, c, "SCRIPT", "KILL") },
	reply: "-BUSY",
}

// demoted makes the server a replica.
var demoted = refusing{
	begin: func(t *testing.T, _ *redistest.Server, c rueidis.Client) { do(t, c, "REPLICAOF", "127.0.0.1", "1") },
	end:   func(t *testing.T, c rueidis.Client) { do(t, c, "REPLICAOF", "NO", "ONE") },
	reply: "-READONLY",
}

// load loads an input into a server that refuses commands from the middle of the input on.
func (r refusing) load(t *testing.T, input []byte, opt Options) (*redistest.Server, Report, error) {
	t.Helper()
	s := redistest.Own(t, append(debugging(t), "lua-time-limit 1")...)
	c := s.Client(t)
	refused := make(chan struct{}, 1000)
	to := rueidis.ClientOption{
		InitAddress: []string{s.Socket()},
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "unix", addr)
			return &watchedConn{Conn: conn, text: r.reply, seen: refused}, err
		},
	}
	ended := make(chan struct{})
	in := &hook{r: bytes.NewReader(input), at: []int{len(input) / 2}, do: func(int) {
		r.begin(t, s, c)
		go func() {
			defer close(ended)
			<-refused
			r.end(t, c)
		}()
	}}
	report, err := Load(t.Context(), to, opt, From(in))
	<-ended
	return s, report, err
}

// watchedConn reports each read that contains a text.
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

// Temporarily refused commands are resent in order.
func TestTemporaryRefusal(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(20_000, 200_000)
	input := harmlessCommands(t, n)
	undisturbed := redistest.Own(t, debugging(t)...)
	load(t, undisturbed.URL(), input, Options{})
	want := digest(t, undisturbed.Client(t))
	for name, opt := range map[string]Options{
		"one connection":    {},
		"three connections": {Connections: 3},
		"coalesced":         {Coalesce: true, MaxInflight: 128 << 10},
		"never sent twice":  {Resend: ResendNever},
	} {
		for kind, r := range map[string]refusing{"busy": busy, "demoted": demoted} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				s, report, err := r.load(t, input, opt)
				if err != nil || report.Errors != 0 || report.Replies != int64(n) || report.Resent == 0 {
					t.Errorf("%+v, %v", report, err)
				}
				if got := digest(t, s.Client(t)); got != want {
					t.Errorf("digest %s, undisturbed %s", got, want)
				}
			})
		}
	}
}

// Commands that cannot be repeated keep the order of the input; one that a later one has
// overtaken fails.
func TestRefusedOutOfOrder(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(20_000, 200_000)
	var commands [][]any
	for i := range n {
		commands = append(commands, []any{"RPUSH", fmt.Sprint("list", i%7), i})
	}
	s, report, err := busy.load(t, encode(t, commands...), Options{ErrorsTo: new(bytes.Buffer)})
	if err != nil || report.Replies != int64(n) || report.Errors != report.Kinds["BUSY"] {
		t.Errorf("%+v, %v", report, err)
	}
	c, total := s.Client(t), int64(0)
	for list := range 7 {
		items, err := c.Do(t.Context(), c.B().Lrange().Key(fmt.Sprint("list", list)).Start(0).Stop(-1).Build()).AsIntSlice()
		require.OK(t)(err)
		total += int64(len(items))
		for i := range items {
			if i > 0 && items[i] <= items[i-1] {
				t.Fatalf("%d follows %d", items[i], items[i-1])
			}
		}
	}
	if total != int64(n)-report.Errors {
		t.Errorf("there are %d items after %+v", total, report)
	}
}

// A command that may change any key keeps its place, too.
func TestRefusedFlush(t *testing.T) {
	t.Parallel()
	commands := repeat(10_000, "SET", "before", 1)
	commands = append(commands, []any{"FLUSHALL"})
	commands = append(commands, repeat(10_000, "SET", "after", 1)...)
	s, report, err := busy.load(t, encode(t, commands...), Options{})
	if err != nil || report.Errors != 0 || report.Replies != int64(len(commands)) {
		t.Errorf("%+v, %v", report, err)
	}
	if got := do(t, s.Client(t), "RANDOMKEY"); got != "after" {
		t.Errorf("a key is %s", got)
	}
}

// A server that refuses for longer than RetryFor ends the load with its reason; Load waits for a
// server that refuses at the start.
func TestLongRefusal(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t, "lua-time-limit 1")
	c := s.Client(t)
	demoted.begin(t, s, c)
	report, err := loadURL(t.Context(), s.URL(), strings.NewReader("SET a 1\nSET b 1\n"), Options{RetryFor: -1})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the server did not accept command 1 (SET a 1): READONLY ") || report.Replies != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	demoted.end(t, c)
	busy.begin(t, s, c)
	require.Fails(t, ErrLost, "BUSY ")(loadURL(t.Context(), s.URL(), strings.NewReader("SET a 1\n"), Options{RetryFor: -1}))
	refused := make(chan struct{}, 1000)
	to := rueidis.ClientOption{InitAddress: []string{s.Socket()}, DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "unix", addr)
		return &watchedConn{Conn: conn, text: busy.reply, seen: refused}, err
	}}
	go func() {
		<-refused
		busy.end(t, c)
	}()
	if report, err := Load(t.Context(), to, Options{RetryFor: time.Hour}, From(strings.NewReader("SET a 1\n"))); err != nil || report.Replies != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
