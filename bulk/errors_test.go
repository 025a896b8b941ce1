package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare []string // commands to run on the server before the load
		user    string
		input   string
		opt     Options
		replies int64
		kinds   string
		failed  []string // command, line, text and error of each failure; … at the end matches anything
		reload  []string // the commands in ErrorsTo; if nil, only their number is checked
		lastKey string   // a key that the input sets to 1 after the errors
	}{
		"WRONGTYPE": {
			input:   "SET a 1\nLPUSH a x\nLPUSH a \"y\\x00 z\"\nSET after 1\nLPUSH a " + strings.Repeat("v ", 20) + strings.Repeat("w", 100) + "\n",
			replies: 5, kinds: "map[WRONGTYPE:3]",
			failed: []string{
				"2 2 LPUSH a x: WRONGTYPE Operation against a key holding the wrong kind of value",
				`3 3 LPUSH a "y\x00 z": WRONGTYPE Operation against a key holding the wrong kind of value`,
				"5 5 LPUSH a v v v v v v v v v v … (11 more): WRONGTYPE Operation against a key holding the wrong kind of value",
			},
			lastKey: "after",
		},
		"unknown command": {
			opt:   Options{Format: Commands},
			input: "NOSUCH a\nSET after 1\n", replies: 2, kinds: "map[ERR:1]",
			failed: []string{"1 1 NOSUCH a: ERR unknown command …"}, lastKey: "after",
		},
		"in a transaction": {
			input:   "MULTI\nSET a 1\nLPUSH a x\nSET b 1\nEXEC\nMULTI\nSET a\nEXEC\nSET after 1\n",
			replies: 9, kinds: "map[ERR:1 EXECABORT:1 WRONGTYPE:1]",
			failed: []string{
				"3 3 LPUSH a x: WRONGTYPE Operation against a key holding the wrong kind of value",
				"7 7 SET a: ERR wrong number of arguments for 'set' command",
				"8 8 EXEC: EXECABORT Transaction discarded because of previous errors.",
			},
			reload:  []string{"LPUSH|a|x", "MULTI", "SET|a", "EXEC"},
			lastKey: "after",
		},
		"OOM": {
			prepare: []string{"CONFIG SET maxmemory 1"},
			input:   "SET a 1\nDEL x\nSET b 2\nDEL x\n", replies: 4, kinds: "map[OOM:2]",
			failed: []string{
				"1 1 SET a 1: OOM command not allowed when used memory > 'maxmemory'.",
				"3 3 SET b 2: OOM command not allowed when used memory > 'maxmemory'.",
			},
		},
		"OOM, coalesced": {
			prepare: []string{"CONFIG SET maxmemory 1"}, opt: Options{Coalesce: true},
			input: "SET a 1\nSET b 2\nDEL x\n", replies: 3, kinds: "map[OOM:2]",
			failed: []string{
				"1 1 SET a 1: OOM command not allowed when used memory > 'maxmemory'.",
				"2 2 SET b 2: OOM command not allowed when used memory > 'maxmemory'.",
			},
		},
		"NOPERM": {
			prepare: []string{"ACL SETUSER loader on >secret ~* +@all -incr"}, user: "loader:secret",
			input: "INCR a\nSET after 1\n", replies: 2, kinds: "map[NOPERM:1]",
			failed: []string{"1 1 INCR a: NOPERM …"}, lastKey: "after",
		},
		"ECHO not permitted": {
			prepare: []string{"ACL SETUSER loader on >secret ~* +@all -echo"}, user: "loader:secret",
			input: "SET after 1\n", replies: 1, kinds: "map[]", reload: []string{}, lastKey: "after",
		},
		"ShowErrors": {
			input: "SET a 1\nLPUSH a x\nLPUSH a y\nLPUSH a z\n", opt: Options{ShowErrors: 1}, replies: 4, kinds: "map[WRONGTYPE:3]",
			failed: []string{"2 2 LPUSH a x: WRONGTYPE Operation against a key holding the wrong kind of value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t)
			c := s.Client(t)
			for _, command := range test.prepare {
				do(t, c, strings.Fields(command)...)
			}
			target := s.URL()
			if test.user != "" {
				target = strings.Replace(target, "unix://", "unix://"+test.user+"@", 1)
			}
			var failedCommands bytes.Buffer
			test.opt.ErrorsTo = &failedCommands
			report, err := loadURL(context.Background(), target, strings.NewReader(test.input), test.opt)
			require.OK(t)(err)
			var failed []string
			for _, f := range report.Failures {
				failed = append(failed, fmt.Sprintf("%d %d %s: %s", f.Command, f.Line, f.Text, f.Error))
				if f.Node != s.Socket() {
					t.Errorf("node %q, want %q", f.Node, s.Socket())
				}
			}
			if !slices.EqualFunc(failed, test.failed, func(got, want string) bool {
				beginning, cut := strings.CutSuffix(want, "…")
				return got == want || cut && strings.HasPrefix(got, beginning)
			}) {
				t.Errorf("failures:\n%s\nwant:\n%s", strings.Join(failed, "\n"), strings.Join(test.failed, "\n"))
			}
			if report.Replies != test.replies || fmt.Sprint(report.Kinds) != test.kinds || report.Commands != test.replies {
				t.Errorf("report: %+v, want %d commands and replies with errors %s", report, test.replies, test.kinds)
			}
			found, _, err := scanAll(&failedCommands)
			if want := test.reload; err != nil || want == nil && int64(len(found)) != report.Errors || want != nil && fmt.Sprint(found) != fmt.Sprint(want) {
				t.Errorf("ErrorsTo has %q, %v; want %d failed commands or %q", found, err, report.Errors, want)
			}
			if test.lastKey != "" && do(t, c, "GET", test.lastKey) != "1" {
				t.Errorf("key %s is not set to 1", test.lastKey)
			}
		})
	}
}

func TestFailFast(t *testing.T) {
	t.Parallel()
	s := redistest.Own(t)
	input := encode(t, append([][]any{{"SET", "a", 1}, {"LPUSH", "a", 1}}, repeat(200_000, "INCR", "n")...)...)
	report, err := loadURL(context.Background(), s.URL(), bytes.NewReader(input), Options{FailFast: true, MaxInflight: 64 << 10})
	if !errors.Is(err, ErrFailed) || report.Errors != 1 || report.Commands > 100_000 || report.Replies != report.Commands {
		t.Errorf("load: %v, want ErrFailed soon after the first error; report: %+v", err, report)
	}
}

// TestServers checks the errors for wrong URLs.
func TestServers(t *testing.T) {
	t.Parallel()
	server := redistest.TCP(t, "requirepass secret")
	port := fmt.Sprint(server.Port())
	tlsServer, err := net.Listen("tcp", "127.0.0.1:0")
	require.OK(t)(err)
	go func() { // replies like a TLS server to a plain-text client
		for {
			c, err := tlsServer.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 16)
			_, _ = c.Read(buf)
			_, _ = c.Write([]byte{0x15, 3, 1, 0, 2, 2, 70})
			c.Close()
		}
	}()
	t.Cleanup(func() { tlsServer.Close() })
	for target, want := range map[string]string{
		"redis://127.0.0.1:" + port:                 "asks for a password",
		"redis://:wrong@127.0.0.1:" + port:          "rejects this user and password",
		"redis://nosuch.invalid:6379":               "no such host: nosuch.invalid",
		"redis://127.0.0.1:1":                       "connection re", // refused, or reset
		"redis://:secret@127.0.0.1:" + port + "/99": "DB index is out of range",
		"rediss://127.0.0.1:" + port:                "TLS",
		"redis://" + tlsServer.Addr().String():      "the server speaks TLS on this port; use rediss://",
		"http://127.0.0.1":                          "unknown scheme",
	} {
		t.Run(url.PathEscape(target), func(t *testing.T) {
			t.Parallel()
			_, err := loadURL(context.Background(), target, strings.NewReader("PING\n"), Options{})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "wrong@") {
				t.Errorf("%v, want one line with %q and without the password", err, want)
			}
		})
	}
	if report, err := loadURL(context.Background(), "redis://:secret@127.0.0.1:"+port, strings.NewReader("PING\n"), Options{}); err != nil || report.Replies != 1 {
		t.Errorf("load with the password: %v, want 1 reply; report: %+v", err, report)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Options{
		"Format": {Format: "xml"}, "Connections": {Connections: -1}, "MaxInflight": {MaxInflight: 1}, "Rate": {Rate: -1},
		"Resend": {Resend: 7}, "Do": {Do: []string{"SET {id"}},
	} {
		_, err := loadURL(context.Background(), "redis://127.0.0.1:1", strings.NewReader(""), opt)
		if err == nil || !strings.Contains(err.Error(), "Options."+name+": ") {
			t.Errorf("%s: %v, want an error that names the option", name, err)
		}
	}
}

// TestSlowInput checks that commands are sent without waiting for more input. The input supplies
// each command only after the server has executed the previous command.
func TestSlowInput(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{}, {Coalesce: true, Connections: 3}, {Rate: 1000}} {
		db := redistest.DB(t)
		c := db.Client(t)
		i := 0
		r := readFunc(func(p []byte) (int, error) {
			if i > 0 {
				key := fmt.Sprint("key", i)
				eventually(t, key, func() bool { return do(t, c, "GET", key) == "1" })
			}
			if i++; i > 20 {
				return 0, context.Canceled
			}
			return copy(p, fmt.Sprintf("SET key%d 1\n", i)), nil
		})
		report, err := loadURL(context.Background(), db.URL(), r, opt)
		if !errors.Is(err, context.Canceled) || report.Commands != 20 {
			t.Errorf("load: %v, want context.Canceled after 20 commands; report: %+v", err, report)
		}
	}
}

// readFunc is a function that implements io.Reader.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestRate(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	began := time.Now()
	report := load(t, db.URL(), encode(t, repeat(2000, "INCR", "n")...), Options{Rate: 10_000})
	if took := time.Since(began); took < 150*time.Millisecond || report.Replies != 2000 {
		t.Errorf("the load took %v, want at least 150 ms for 2000 commands; report: %+v", took, report)
	}
}

// TestDatabases restarts the server during loads that select databases.
func TestDatabases(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		s := redistest.Own(t, durable(t)...)
		var commands [][]any
		for i := range 3000 {
			if i%100 == 0 {
				commands = append(commands, []any{"SELECT", i / 100 % 3})
			}
			commands = append(commands, []any{"SET", i, i})
		}
		input := encode(t, commands...)
		r := &hook{r: bytes.NewReader(input), offsets: thirds(input)[1:], do: func(int) { s.Restart(t, true) }}
		report, err := loadURL(context.Background(), s.URL(), r, Options{Connections: n})
		if err != nil || report.Replies != 3030 {
			t.Fatalf("load: %v, want 3030 replies; report: %+v", err, report)
		}
		c := s.Client(t)
		if got := do(t, c, "INFO", "keyspace"); strings.Count(got, "keys=1000,") != 3 {
			t.Errorf("INFO keyspace = %q, want 1000 keys in each of 3 databases", got)
		}
	}
}

// TestAdministrationIsRefused checks that commands that administer or block servers are rejected,
// even within a transaction, and that other server-wide commands are accepted.
func TestAdministrationIsRefused(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"CONFIG SET maxmemory 1", "CONFIG RESETSTAT", "ACL SETUSER x on", "DEBUG SLEEP 1", "SAVE", "BGSAVE", "BGREWRITEAOF",
		"MODULE LOAD x", "SLOWLOG RESET", "LATENCY RESET", "CLUSTER RESET", "REPLICAOF NO ONE", "SLAVEOF NO ONE", "FAILOVER", "SHUTDOWN",
		"MIGRATE h 1 k 0 1", "REPLCONF x y", "PSYNC x 0", "MONITOR", "COMMANDLOG RESET",
	} {
		for _, input := range []string{command + "\n", "MULTI\n" + strings.ToLower(command) + "\nEXEC\n"} {
			_, _, err := emitted(input, Options{Format: Commands})
			name, _, _ := strings.Cut(command, " ")
			if err == nil || !strings.Contains(err.Error(), name+" makes no sense in a load: ") {
				t.Errorf("%q: %v, want an error that rejects %s", input, err, name)
			}
		}
	}
	for _, command := range []string{"FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "SCRIPT LOAD x", "FUNCTION FLUSH", "PUBLISH a b"} {
		if got, _, err := emitted(command+"\n", Options{}); err != nil || len(got) != 1 {
			t.Errorf("%s: emitted %q, %v; want one command", command, got, err)
		}
	}
}
