package bulk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/internal/server"
	"retwis/internal/redistest"
)

// failOver lets a replica take the place of its master, which follows it then. A replica gives
// up after five seconds, as where the other masters have not heard of it: it is asked again.
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
		if role(after) == "slave" && time.Since(asked) > 6*time.Second {
			asked = time.Now()
			do(t, after, "CLUSTER", "FAILOVER")
		}
		return role(after) == "master" && role(before) == "slave"
	})
}

// wantLoaded loads commands into a Cluster, and expects no error and that its servers hold what
// is wanted then.
func wantLoaded(t *testing.T, url string, commands io.Reader, servers []*redistest.Server, want string) {
	t.Helper()
	report, err := Load(context.Background(), url, commands, Options{})
	if err != nil || report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("%+v, %v", report, err)
	}
	if got := union(t, servers); got != want {
		t.Errorf("the Cluster holds %.200s, not %.200s", got, want)
	}
}

// TestClusterFailover lets a replica take over from its master.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	master := c.Masters[1]
	other := replica(t, c, master)
	input := clusterCommands(t, 60_000, true)
	want := union(t, []*redistest.Server{single(t, input)})
	over := make(chan struct{})
	r := &hook{r: bytes.NewReader(input), at: thirds(input)[:1], do: func(int) {
		go func() {
			defer close(over)
			failOver(t, master, other)
		}()
	}}
	wantLoaded(t, url, &slowly{r, over}, []*redistest.Server{c.Masters[0], other, c.Masters[2]}, want)
	<-over
}

// TestClusterFlushAfterFailover sends a command to all servers after a failover that the load
// has noticed by the commands before, or not: the former master refuses it.
func TestClusterFlushAfterFailover(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]byte{"noticed": clusterCommands(t, 3_000, false), "not noticed": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, url := cluster(t)
			other := replica(t, c, c.Masters[1])
			load(t, url, clusterCommands(t, 3_000, false), Options{})
			flush := encode(t, []any{"FLUSHALL"}, []any{"SET", "{1}last", 1}, []any{"SET", "{2}last", 1}, []any{"SET", "{3}last", 1})
			r := &hook{r: bytes.NewReader(slices.Concat(before, flush)), at: []int{0}, do: func(int) {
				failOver(t, c.Masters[1], other)
			}}
			wantLoaded(t, url, r, []*redistest.Server{c.Masters[0], other, c.Masters[2]}, "map[{1}last:1 {2}last:1 {3}last:1]")
		})
	}
}

// TestClusterSlotsWithoutOwner sends a command to all servers after a failover, while no server
// knows an owner of its slots, as they may for a moment: the command has not reached all.
func TestClusterSlotsWithoutOwner(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	other := replica(t, c, c.Masters[1])
	forget := []string{"CLUSTER", "DELSLOTS"}
	for slot := 5461; slot <= 10922; slot++ {
		forget = append(forget, strconv.Itoa(slot))
	}
	// One that still knows the owner, or has said so a moment ago, tells the others.
	forgotten := func() bool {
		known := false
		for _, s := range append(slices.Clone(c.Masters), other) {
			_, err := try(s.Client(t), forget...)
			known = known || err == nil
		}
		return !known
	}
	over := make(chan struct{})
	var forgetting sync.WaitGroup
	r := &hook{r: bytes.NewReader(encode(t, []any{"FLUSHALL"})), at: []int{0}, do: func(int) {
		failOver(t, c.Masters[1], other)
		eventually(t, "all have forgotten the owner", forgotten)
		forgetting.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					forgotten()
				}
			}
		})
	}}
	report, err := Load(t.Context(), url, r, Options{RetryFor: time.Second})
	close(over)
	forgetting.Wait()
	if err == nil || !strings.Contains(err.Error(), "slots of the Cluster have no owner") || report.Replies != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestClusterMasterKilled kills a master, whose replica takes over when the other masters have
// noticed. The load starts after the replica has caught up, and all commands are
// repeatable.
func TestClusterMasterKilled(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	other := replica(t, c, c.Masters[1])
	input := harmlessCommands(t, 20_000)
	want := union(t, []*redistest.Server{single(t, input)})
	pause := len(input) / 2
	r := &hook{r: bytes.NewReader(input), at: []int{pause}, do: func(int) {
		eventually(t, "the replica has caught up", func() bool {
			return offset(t, c.Masters[1], "master_repl_offset") == offset(t, other, "slave_repl_offset") &&
				idle(t, c.Masters[1])
		})
		c.Masters[1].Kill(t)
	}}
	wantLoaded(t, url, r, []*redistest.Server{c.Masters[0], other, c.Masters[2]}, want)
}

// TestSentinelFailover replaces the master that a sentinel names, and leaves the connections to the
// old one open: it refuses what is sent there, and meanwhile more is buffered for it.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	old, other := redistest.TCP(t), redistest.TCP(t)
	sentinel := redistest.Sentinel(t, "main", old)
	const n = 100
	var all [][]any
	for i := range n {
		all = append(all, []any{"SET", i, i})
	}
	r := &hook{r: bytes.NewReader(encode(t, all...)), at: []int{0}, do: func(int) {
		do(t, old.Client(t), "REPLICAOF", "127.0.0.1", strconv.Itoa(other.Port()))
		c, err := (&server.Dialer{}).Connect(t.Context(), fmt.Sprint("127.0.0.1:", sentinel.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, words := range [][]string{{"REMOVE", "main"}, {"MONITOR", "main", "127.0.0.1", strconv.Itoa(other.Port()), "1"}} {
			if _, err := c.Do(append([]string{"SENTINEL"}, words...)...); err != nil {
				t.Error(err)
			}
		}
	}}
	// With this rate, each command is sent when the next one for its connection is there.
	report, err := Load(t.Context(), fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port()), r, Options{Connections: 4, Rate: 99})
	if err != nil || report.Commands != n || report.Replies != n || report.Errors != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	client := other.Client(t)
	if got, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); got != n || err != nil {
		t.Errorf("%d of %d keys are there, %v", got, n, err)
	}
}

// TestClusterLoading starts with a server of a Cluster that is still loading its data, and does
// not know who serves which slots.
func TestClusterLoading(t *testing.T) {
	t.Parallel()
	if before7(t) {
		return // it answers nothing for too long while it loads
	}
	c, url := cluster(t)
	var keys [][]any
	for i := range 3000 {
		keys = append(keys, []any{"SET", fmt.Sprint("large", i), strings.Repeat("x", 2000)})
	}
	load(t, url, encode(t, keys...), Options{})
	slow := redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "repl-diskless-sync-delay 0",
		"key-load-delay 20000", "loading-process-events-interval-bytes 1024")
	client := slow.Client(t)
	id := do(t, c.Masters[0].Client(t), "CLUSTER", "MYID")
	do(t, client, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Masters[0].Port()))
	eventually(t, "the replica knows its master", func() bool {
		_, err := try(client, "CLUSTER", "REPLICATE", id)
		return err == nil
	})
	eventually(t, "the replica is loading", func() bool {
		return strings.Contains(do(t, client, "INFO", "persistence"), "\nloading:1")
	})
	report := load(t, fmt.Sprintf("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", slow.Port(), c.Masters[0].Port()),
		clusterCommands(t, 1000, true), Options{})
	if report.Errors != 0 || report.Replies != report.Commands || len(report.Nodes) != 3 {
		t.Errorf("%+v", report)
	}
}
