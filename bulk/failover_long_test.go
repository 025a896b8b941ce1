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
	testSlotsMove(t, c, false)
}

// TestClusterFlushAfterFailover sends a command to all servers after a failover, with and without
// earlier commands that reveal the failover to the load. The former master refuses the command.
func TestClusterFlushAfterFailover(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]byte{"noticed": clusterCommands(t, 3_000, false), "not noticed": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, url := cluster(t)
			newMaster := addReplica(t, c, c.Masters[1])
			load(t, url, clusterCommands(t, 3_000, false), Options{})
			flush := encode(t, []any{"FLUSHALL"}, []any{"SET", "{1}last", 1}, []any{"SET", "{2}last", 1}, []any{"SET", "{3}last", 1})
			r := &hook{r: bytes.NewReader(slices.Concat(before, flush)), offsets: []int{0}, do: func(int) {
				failOver(t, c.Masters[1], newMaster)
			}}
			checkLoad(t, url, r, []*redistest.Server{c.Masters[0], newMaster, c.Masters[2]}, "map[{1}last:1 {2}last:1 {3}last:1]")
		})
	}
}

// TestClusterSlotsWithoutOwner sends a command to all servers while slots have no owner, which can
// happen briefly after a failover. The load must fail, because the command may miss a server.
func TestClusterSlotsWithoutOwner(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	newMaster := addReplica(t, c, c.Masters[1])
	delSlots := []string{"CLUSTER", "DELSLOTS"}
	for slot := 5461; slot <= 10922; slot++ {
		delSlots = append(delSlots, strconv.Itoa(slot))
	}
	// deleteSlots deletes the slots on all servers and reports whether no server had an owner for
	// them. Servers announce owners to each other, so one deletion is not enough.
	deleteSlots := func() bool {
		known := false
		for _, s := range append(slices.Clone(c.Masters), newMaster) {
			_, err := try(s.Client(t), delSlots...)
			known = known || err == nil
		}
		return !known
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	r := &hook{r: bytes.NewReader(encode(t, []any{"FLUSHALL"})), offsets: []int{0}, do: func(int) {
		failOver(t, c.Masters[1], newMaster)
		eventually(t, "no server has an owner for the slots", deleteSlots)
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					deleteSlots()
				}
			}
		})
	}}
	report, err := loadURL(t.Context(), url, r, Options{RetryFor: time.Second})
	close(done)
	wg.Wait()
	if err == nil || !strings.Contains(err.Error(), "slots of the Cluster have no owner") || report.Replies != 0 {
		t.Errorf("load: %v, want an error about slots without an owner and no replies; report: %+v", err, report)
	}
}

// TestClusterLoading connects first to a server of a Cluster that is still loading its data and
// does not know the owners of the slots.
func TestClusterLoading(t *testing.T) {
	t.Parallel()
	if before7(t) {
		return // older servers do not reply for too long while they load their data
	}
	c, url := cluster(t)
	var commands [][]any
	for i := range 3000 {
		commands = append(commands, []any{"SET", fmt.Sprint("large", i), strings.Repeat("x", 2000)})
	}
	load(t, url, encode(t, commands...), Options{})
	loading := redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "repl-diskless-sync-delay 0",
		"key-load-delay 20000", "loading-process-events-interval-bytes 1024")
	client := loading.Client(t)
	id := do(t, c.Masters[0].Client(t), "CLUSTER", "MYID")
	do(t, client, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Masters[0].Port()))
	eventually(t, "the replica knows its master", func() bool {
		_, err := try(client, "CLUSTER", "REPLICATE", id)
		return err == nil
	})
	eventually(t, "the replica is loading", func() bool {
		return strings.Contains(do(t, client, "INFO", "persistence"), "\nloading:1")
	})
	report := load(t, fmt.Sprintf("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", loading.Port(), c.Masters[0].Port()),
		clusterCommands(t, 1000, true), Options{})
	if report.Errors != 0 || report.Replies != report.Commands || len(report.Nodes) != 3 {
		t.Errorf("report: %+v, want one reply per command of 3 nodes and no errors", report)
	}
}
