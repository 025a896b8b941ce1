package bulk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/server"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// failOver makes a replica replace its master, which then becomes its replica. A replica gives up
// after five seconds, for example if the other masters do not know it yet: then failOver asks it
// again.
func failOver(t *testing.T, master, replica *redistest.Server) {
	t.Helper()
	before, after := master.Client(t), replica.Client(t)
	role := func(client rueidis.Client) string {
		info, err := try(client, "INFO", "replication")
		_, role, _ := strings.Cut(info, "role:")
		role, _, _ = strings.Cut(role, "\r")
		if err != nil {
			return err.Error()
		}
		return role
	}
	var asked time.Time
	eventually(t, "the replica is the master, and its master follows", func() bool {
		if role(after) == "master" || time.Since(asked) < 6*time.Second {
			return role(after) == "master" && role(before) == "slave"
		}
		asked = time.Now()
		do(t, after, "CLUSTER", "FAILOVER")
		return false
	})
}

// wantLoaded loads commands into a Cluster, and expects no error and the wanted contents.
func wantLoaded(t *testing.T, url string, commands io.Reader, servers []*redistest.Server, want string) {
	t.Helper()
	report, err := loadURL(context.Background(), url, commands, Options{})
	if err != nil || report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("%+v, %v", report, err)
	}
	if got := union(t, servers); got != want {
		t.Errorf("the Cluster holds %.200s, not %.200s", got, want)
	}
}

// failsOver makes a replica replace a running master, and then makes the former master, now its
// replica, take over when it is killed. It is the last test of a Cluster.
func failsOver(t *testing.T, c *redistest.ClusterServers) {
	former := c.Masters[1]
	next := replica(t, c, former)
	t.Run("asked to", func(t *testing.T) { takenOver(t, c, former, next) })
	flush(t, []*redistest.Server{c.Masters[0], next, c.Masters[2]})
	t.Run("killed", func(t *testing.T) { masterKilled(t, c, next, former) })
}

// takenOver makes a replica take over from its master during a load in which no command may be
// executed twice.
func takenOver(t *testing.T, c *redistest.ClusterServers, master, replica *redistest.Server) {
	input := clusterCommands(t, redistest.Cases(12_000, 60_000), true)
	want := union(t, []*redistest.Server{single(t, input)})
	over := make(chan struct{})
	r := &hook{r: bytes.NewReader(input), at: thirds(input)[:1], do: func(int) {
		go func() {
			defer close(over)
			failOver(t, master, replica)
		}()
	}}
	wantLoaded(t, urlOf(c), &slowly{r: r, done: over, hold: thirds(input)[1]}, []*redistest.Server{c.Masters[0], replica, c.Masters[2]}, want)
	<-over
}

// masterKilled kills a master, whose replica takes over once the other masters have noticed. By
// then the replica has everything that was answered, and all commands are repeatable.
func masterKilled(t *testing.T, c *redistest.ClusterServers, master, replica *redistest.Server) {
	n := redistest.Cases(3_000, 10_000)
	first, second := harmlessCommands(t, n), harmlessCommands(t, n)
	want := union(t, []*redistest.Server{single(t, slices.Concat(first, second))})
	var answered atomic.Int64
	kill := readFunc(func([]byte) (int, error) {
		eventually(t, "everything up to here is answered", func() bool { return answered.Load() == int64(n) })
		eventually(t, "the replica has caught up", func() bool {
			return offset(t, master, "master_repl_offset") == offset(t, replica, "slave_repl_offset")
		})
		master.Kill(t)
		return 0, io.EOF
	})
	input := io.MultiReader(bytes.NewReader(first), kill, bytes.NewReader(second))
	opt := Options{OnProgress: func(r Report) { answered.Store(r.Replies) }}
	report, err := loadURL(t.Context(), urlOf(c), input, opt)
	if err != nil || report.Errors != 0 || report.Replies != report.Commands || report.Commands != 2*int64(n) {
		t.Errorf("%+v, %v", report, err)
	}
	if got := union(t, []*redistest.Server{c.Masters[0], replica, c.Masters[2]}); got != want {
		t.Errorf("the Cluster holds %.200s, not %.200s", got, want)
	}
}

// offset returns a replication field of a server.
func offset(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	_, rest, _ := strings.Cut(do(t, s.Client(t), "INFO", "replication"), field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// TestSentinelFailover replaces the master that a sentinel names, and leaves the connections to
// the old one open: it refuses what is sent there, while more is buffered for it.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	// On shutdown, a master waits for a replica that it has not begun to synchronize.
	old, other := redistest.TCP(t), redistest.TCP(t, "repl-diskless-sync-delay 0")
	sentinel := redistest.Sentinel(t, "main", old)
	const n = 100
	var all [][]any
	for i := range n {
		all = append(all, []any{"SET", i, i})
	}
	r := &hook{r: bytes.NewReader(encode(t, all...)), at: []int{0}, do: func(int) {
		do(t, old.Client(t), "REPLICAOF", "127.0.0.1", strconv.Itoa(other.Port()))
		c, err := (&server.Dialer{}).Connect(t.Context(), fmt.Sprint("127.0.0.1:", sentinel.Port()))
		require.OK(t)(err)
		defer c.Close()
		for _, words := range [][]string{{"REMOVE", "main"}, {"MONITOR", "main", "127.0.0.1", strconv.Itoa(other.Port()), "1"}} {
			if _, err := c.Do(append([]string{"SENTINEL"}, words...)...); err != nil {
				t.Error(err)
			}
		}
	}}
	// At this rate, each command is sent when the next one for its connection is available.
	report, err := loadURL(t.Context(), fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port()), r, Options{Connections: 4, Rate: 99})
	if err != nil || report.Commands != n || report.Replies != n || report.Errors != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	client := other.Client(t)
	if got, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); got != n || err != nil {
		t.Errorf("%d of %d keys exist, %v", got, n, err)
	}
}
