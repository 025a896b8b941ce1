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

// failOver promotes a replica and demotes its master to a replica. A replica gives up a failover
// after five seconds, for example if the other masters do not know the replica yet; failOver then
// requests another failover.
func failOver(t *testing.T, master, replica *redistest.Server) {
	t.Helper()
	oldMaster, newMaster := master.Client(t), replica.Client(t)
	role := func(client rueidis.Client) string {
		info, err := try(client, "INFO", "replication")
		_, role, _ := strings.Cut(info, "role:")
		role, _, _ = strings.Cut(role, "\r")
		if err != nil {
			return err.Error()
		}
		return role
	}
	var requested time.Time
	eventually(t, "the replica and the master have exchanged their roles", func() bool {
		if role(newMaster) == "master" || time.Since(requested) < 6*time.Second {
			return role(newMaster) == "master" && role(oldMaster) == "slave"
		}
		requested = time.Now()
		do(t, newMaster, "CLUSTER", "FAILOVER")
		return false
	})
}

// checkLoad loads commands into a Cluster and checks that no command fails and that the servers
// then hold the wanted data.
func checkLoad(t *testing.T, url string, commands io.Reader, servers []*redistest.Server, want string) {
	t.Helper()
	report, err := loadURL(context.Background(), url, commands, Options{})
	if err != nil || report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("load: %v, want one reply per command and no errors; report: %+v", err, report)
	}
	if got := union(t, servers); got != want {
		t.Errorf("the Cluster holds %.200s, want %.200s", got, want)
	}
}

// testFailover promotes the replica of a running master. Then it kills the new master, and the
// former master takes over again. It must be the last subtest on a Cluster, because a server is
// killed.
func testFailover(t *testing.T, c *redistest.ClusterServers) {
	former := c.Masters[1]
	next := addReplica(t, c, former)
	t.Run("requested", func(t *testing.T) { testRequestedFailover(t, c, former, next) })
	flush(t, []*redistest.Server{c.Masters[0], next, c.Masters[2]})
	t.Run("killed", func(t *testing.T) { testMasterKilled(t, c, next, former) })
}

// testRequestedFailover requests a failover to a replica during a load in which no command may be
// executed twice.
func testRequestedFailover(t *testing.T, c *redistest.ClusterServers, master, replica *redistest.Server) {
	input := clusterCommands(t, redistest.Cases(12_000, 60_000), true)
	want := union(t, []*redistest.Server{single(t, input)})
	done := make(chan struct{})
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input)[:1], do: func(int) {
		go func() {
			defer close(done)
			failOver(t, master, replica)
		}()
	}}
	checkLoad(t, urlOf(c), &slowReader{r: r, done: done, hold: thirds(input)[1]}, []*redistest.Server{c.Masters[0], replica, c.Masters[2]}, want)
	<-done
}

// testMasterKilled kills a master during a load of repeatable commands. The replica, which takes
// over when the other masters have noticed, has the data of all commands with a reply.
func testMasterKilled(t *testing.T, c *redistest.ClusterServers, master, replica *redistest.Server) {
	n := redistest.Cases(3_000, 10_000)
	first, second := repeatableCommands(t, n), repeatableCommands(t, n)
	want := union(t, []*redistest.Server{single(t, slices.Concat(first, second))})
	var answered atomic.Int64
	kill := readFunc(func([]byte) (int, error) {
		eventually(t, "the first half of the commands is answered", func() bool { return answered.Load() == int64(n) })
		eventually(t, "the replica has caught up", func() bool {
			return replicationField(t, master, "master_repl_offset") == replicationField(t, replica, "slave_repl_offset")
		})
		master.Kill(t)
		return 0, io.EOF
	})
	input := io.MultiReader(bytes.NewReader(first), kill, bytes.NewReader(second))
	opt := Options{OnProgress: func(r Report) { answered.Store(r.Replies) }}
	report, err := loadURL(t.Context(), urlOf(c), input, opt)
	if err != nil || report.Errors != 0 || report.Replies != report.Commands || report.Commands != 2*int64(n) {
		t.Errorf("load: %v, want %d commands with replies and no errors; report: %+v", err, 2*n, report)
	}
	if got := union(t, []*redistest.Server{c.Masters[0], replica, c.Masters[2]}); got != want {
		t.Errorf("the Cluster holds %.200s, want %.200s", got, want)
	}
}

// replicationField returns a field of the replication section of INFO.
func replicationField(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	_, after, _ := strings.Cut(do(t, s.Client(t), "INFO", "replication"), field+":")
	value, _, _ := strings.Cut(after, "\r")
	return value
}

// TestSentinelFailover replaces the master that a Sentinel names, but leaves the connections to the
// old master open. The old master refuses commands while more commands are buffered for it.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	// On shutdown, a master waits for replicas that have not begun to synchronize.
	oldMaster, newMaster := redistest.TCP(t), redistest.TCP(t, "repl-diskless-sync-delay 0")
	sentinel := redistest.Sentinel(t, "main", oldMaster)
	const n = 100
	var commands [][]any
	for i := range n {
		commands = append(commands, []any{"SET", i, i})
	}
	r := &hook{r: bytes.NewReader(encode(t, commands...)), offsets: []int{0}, do: func(int) {
		do(t, oldMaster.Client(t), "REPLICAOF", "127.0.0.1", strconv.Itoa(newMaster.Port()))
		c, err := (&server.Dialer{}).Connect(t.Context(), fmt.Sprint("127.0.0.1:", sentinel.Port()))
		require.OK(t)(err)
		defer c.Close()
		for _, words := range [][]string{{"REMOVE", "main"}, {"MONITOR", "main", "127.0.0.1", strconv.Itoa(newMaster.Port()), "1"}} {
			if _, err := c.Do(append([]string{"SENTINEL"}, words...)...); err != nil {
				t.Error(err)
			}
		}
	}}
	// At this rate, a connection sends a command when its next command is available.
	report, err := loadURL(t.Context(), fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port()), r, Options{Connections: 4, Rate: 99})
	if err != nil || report.Commands != n || report.Replies != n || report.Errors != 0 {
		t.Errorf("load: %v, want %d replies and no errors; report: %+v", err, n, report)
	}
	client := newMaster.Client(t)
	if got, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); got != n || err != nil {
		t.Errorf("the new master has %d keys, %v; want %d", got, err, n)
	}
}
