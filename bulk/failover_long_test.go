//go:build long

package bulk

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
)

// TestClusterMoves moves all slots of a master during a load of single-key commands; TestCluster
// covers commands with two keys.
func TestClusterMoves(t *testing.T) {
	t.Parallel()
	c, _ := cluster(t)
	slotsMove(t, c, false)
}

// TestClusterFlushAfterFailover sends a command to all servers after a failover, whether or not
// the load has noticed it from earlier commands: the former master refuses the command.
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
// knows an owner for the slots, which can happen briefly: the command has not reached all.
func TestClusterSlotsWithoutOwner(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	other := replica(t, c, c.Masters[1])
	forget := []string{"CLUSTER", "DELSLOTS"}
	for slot := 5461; slot <= 10922; slot++ {
		forget = append(forget, strconv.Itoa(slot))
	}
	// A server that still knows the owner, or has announced it a moment ago, tells the others.
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
	report, err := loadURL(t.Context(), url, r, Options{RetryFor: time.Second})
	close(over)
	forgetting.Wait()
	if err == nil || !strings.Contains(err.Error(), "slots of the Cluster have no owner") || report.Replies != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestClusterLoading starts with a server of a Cluster that is still loading its data, and does
// not know who serves which slots.
func TestClusterLoading(t *testing.T) {
	t.Parallel()
	if before7(t) {
		return // it does not answer for too long while it loads
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
