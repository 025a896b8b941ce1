package rediserr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func do(t *testing.T, c rueidis.Client, words ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return c.Do(ctx, c.B().Arbitrary(words...).Build()).Error()
}

// An error reply of a real server has the same class for a command and for a script that calls the
// command.
func TestRealReplies(t *testing.T) {
	t.Parallel()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for code, c := range map[string]struct {
		config []string
		setup  func(*testing.T, *redistest.Server, rueidis.Client)
		want   rediserr.Class
	}{
		"OOM": {
			setup: func(t *testing.T, _ *redistest.Server, c rueidis.Client) {
				must(t, do(t, c, "CONFIG", "SET", "maxmemory", "1"))
			},
			want: rediserr.WritesRefused,
		},
		"READONLY": {
			setup: func(t *testing.T, _ *redistest.Server, c rueidis.Client) {
				must(t, do(t, c, "REPLICAOF", "127.0.0.1", "1"))
			},
			want: rediserr.WritesRefused,
		},
		"NOREPLICAS": {config: []string{"min-replicas-to-write 1"}, want: rediserr.WritesRefused},
		"MISCONF": {
			config: []string{"save 3600 1000000", "dbfilename taken"},
			setup: func(t *testing.T, s *redistest.Server, c rueidis.Client) {
				must(t, os.MkdirAll(filepath.Join(s.Dir(), "taken", "by"), 0o700))
				t.Cleanup(func() { os.RemoveAll(filepath.Join(s.Dir(), "taken")) }) // otherwise the server does not stop
				must(t, do(t, c, "BGSAVE"))
				for {
					info, err := c.Do(t.Context(), c.B().Info().Section("persistence").Build()).ToString()
					must(t, err)
					if strings.Contains(info, "rdb_last_bgsave_status:err") {
						return
					}
				}
			},
			want: rediserr.WritesRefused,
		},
		"MASTERDOWN": {
			config: []string{"replica-serve-stale-data no"},
			setup: func(t *testing.T, _ *redistest.Server, c rueidis.Client) {
				must(t, do(t, c, "REPLICAOF", "127.0.0.1", "1"))
			},
			want: rediserr.Unavailable,
		},
		"NOPERM": {
			setup: func(t *testing.T, _ *redistest.Server, c rueidis.Client) {
				must(t, do(t, c, "ACL", "SETUSER", "default", "-set"))
			},
			want: rediserr.Denied,
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t, c.config...)
			client := s.Client(t)
			if c.setup != nil {
				c.setup(t, s, client)
			}
			commands := [][]string{{"SET", "k", "v"}, {"EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "k"}}
			if c.want == rediserr.Unavailable {
				commands = [][]string{{"GET", "k"}, {"EVAL", "return redis.call('GET', KEYS[1])", "1", "k"}}
			}
			for _, words := range commands {
				err := do(t, client, words...)
				if got := rediserr.Of(fmt.Errorf("wrapped: %w", err)); got != c.want {
					t.Errorf("%s: class of %v is %q, want %q", words[0], err, got, c.want)
				}
			}
		})
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	s := redistest.TCP(t, "cluster-enabled yes")
	c := s.Client(t)
	if err := do(t, c, "GET", "k"); rediserr.Of(err) != rediserr.Unavailable || rediserr.Code(err.Error()) != "CLUSTERDOWN" {
		t.Errorf("Cluster without slots: %v, want CLUSTERDOWN", err)
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want rediserr.Class
	}{
		{nil, rediserr.Other},
		{rueidis.Nil, rediserr.Other},
		{errors.New("OOM"), rediserr.Other}, // not from a server
		{context.Canceled, rediserr.Other},
		{context.DeadlineExceeded, rediserr.Unavailable},
		{os.ErrDeadlineExceeded, rediserr.Unavailable},
		{io.EOF, rediserr.Unavailable},
		{net.ErrClosed, rediserr.Unavailable},
		{rueidis.ErrNoSlot, rediserr.Unavailable},
		{rueidis.ErrClosing, rediserr.Unavailable},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, rediserr.Unavailable},
		{rueidis.ErrNoCache, rediserr.Other},
		{fmt.Errorf("NOPERM no: [CLIENT TRACKING ON]\n%w", rueidis.ErrNoCache), rediserr.Denied},
		{fmt.Errorf("ERR unknown subcommand: [CLIENT TRACKING ON]\n%w", rueidis.ErrNoCache), rediserr.Other},
	} {
		if got := rediserr.Of(c.err); got != c.want {
			t.Errorf("Of(%v) = %q, want %q", c.err, got, c.want)
		}
	}
	for text, want := range map[string]rediserr.Class{
		"LOADING Redis is loading the dataset in memory":  rediserr.Unavailable,
		"TRYAGAIN Multiple keys request during rehashing": rediserr.Unavailable,
		"BUSY Redis is busy running a script":             rediserr.Unavailable,
		"ERR max number of clients reached":               rediserr.Unavailable,
		"BUSYGROUP Consumer Group name already exists":    rediserr.Other,
		"WRONGTYPE Operation against a key":               rediserr.Other,
		"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica. ": rediserr.WritesRefused,
		"ERR Error running script (call to f_1): @user_script:1: user_script:1: a-b -c":                                                    rediserr.Other,
		"": rediserr.Other,
	} {
		if got := rediserr.OfReply(text); got != want {
			t.Errorf("OfReply(%q) = %q, want %q", text, got, want)
		}
	}
}

// IsTemporaryReply reports temporary errors. All other errors persist until somebody changes
// something.
func TestTemporaryErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                 true,
		"TRYAGAIN Multiple keys request during rehashing":                true,
		"CLUSTERDOWN Hash slot not served":                               true,
		"MASTERDOWN Link with MASTER is down":                            true,
		"BUSY Redis is busy running a script":                            true,
		"READONLY You can't write against a read only replica.":          true,
		"NOMASTERLINK Can't SYNC while not connected with my master":     true,
		"UNBLOCKED force unblock from blocking operation":                true,
		"EXECABORT Transaction discarded because of: BUSY Redis is busy": true,
		"EXECABORT Transaction discarded because of previous errors.":    false,
		"OOM command not allowed when used memory > 'maxmemory'.":        false,
		"MISCONF Redis is configured to save RDB snapshots":              false,
		"NOREPLICAS Not enough good replicas to write.":                  false,
		"NOPERM User ada has no permissions to run the 'ping' command":   false,
		"ERR value is not an integer or out of range":                    false,
	} {
		if got := rediserr.IsTemporaryReply(text); got != want {
			t.Errorf("IsTemporaryReply(%q) = %v, want %v", text, got, want)
		}
	}
	if rediserr.Passes(nil) || rediserr.Passes(context.DeadlineExceeded) || rediserr.Passes(rueidis.ErrNoCache) {
		t.Error("Passes returned true for an error that is not a reply")
	}
}

func TestWithoutScript(t *testing.T) {
	t.Parallel()
	const oom = "OOM command not allowed when used memory > 'maxmemory'."
	text := "ring: " + oom + " script: d9ce32cf0f1d6e1f3d3a39bb5b0f4b3a6a4a3c1f, on @user_script:44."
	if got := rediserr.WithoutScript(text); got != "ring: "+oom {
		t.Errorf("WithoutScript = %q", got)
	}
}
