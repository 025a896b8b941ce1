package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/resp"
	"retwis/internal/redis/keys"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// cluster returns an empty Cluster, and its URL.
func cluster(t *testing.T) (*redistest.ClusterServers, string) {
	t.Helper()
	c := redistest.Cluster(t, 3)
	return c, urlOf(c)
}

func urlOf(c *redistest.ClusterServers) string {
	return fmt.Sprintf("redis://127.0.0.1:%d", c.Masters[0].Port())
}

// TestCluster runs its subtests in sequence on one Cluster, because starting a Cluster takes longer
// than most subtests. Each subtest starts without data; subtests that move slots use different
// slots.
func TestCluster(t *testing.T) {
	t.Parallel()
	c, _ := cluster(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *redistest.ClusterServers)
	}{
		{"URL", func(t *testing.T, c *redistest.ClusterServers) {
			if report := load(t, c.URL(), []byte("SET a 1\nSET b 2\n"), Options{}); report.Errors != 0 || report.Replies != 2 || len(report.Nodes) != 3 {
				t.Errorf("report: %+v, want 2 replies of 3 nodes without errors", report)
			}
		}},
		{"same data", testSameData},
		{"one database", testOneDatabase},
		{"snapshot", testSnapshotIntoCluster},
		{"order", testOrder},
		{"refused twice", testRefusedTwice},
		{"temporarily read-only", func(t *testing.T, c *redistest.ClusterServers) {
			const failOnce = "if redis.call('INCR', KEYS[1]) == 1 then return redis.error_reply('READONLY not now') end"
			report := load(t, c.URL(), encode(t, []any{"EVAL", failOnce, 1, "a"}, []any{"SET", "b", 2}), Options{})
			if report.Errors != 0 || report.Replies != 2 || report.Resent != 1 {
				t.Errorf("report: %+v, want 2 replies without errors and 1 resent command", report)
			}
		}},
		{"slots move", func(t *testing.T, c *redistest.ClusterServers) { testSlotsMove(t, c, true) }},
		{"slot stuck", testSlotStuck},
		{"failover", testFailover},
	} {
		flush(t, c.Masters)
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

func flush(t *testing.T, servers []*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		do(t, s.Client(t), "FLUSHALL")
	}
}

// firstMasterTag returns the nth hash tag whose slot the first master owns. clusterCommands uses
// other tags.
func firstMasterTag(n int) string {
	for i := 100; ; i++ {
		tag := "{" + strconv.Itoa(i) + "}"
		if keys.Slot([]byte(tag)) >= keys.Slots/3 {
			continue
		}
		if n == 0 {
			return tag
		}
		n--
	}
}

// testSameData checks that a load into a Cluster stores the same data as a load into one server.
func testSameData(t *testing.T, c *redistest.ClusterServers) {
	input := clusterCommands(t, redistest.Cases(5_000, 30_000), true)
	var all bytes.Buffer
	all.Write(encode(t, []any{"SET", "gone", 1}, []any{"FLUSHALL"}, []any{"SELECT", 0}))
	all.Write(input)
	report := load(t, urlOf(c), all.Bytes(), Options{Coalesce: true})
	if report.Errors != 0 || report.Replies != report.Commands || len(report.Nodes) != 3 || report.Resent != 0 {
		t.Errorf("report: %+v, want one reply per command of 3 nodes, no errors and no resent commands", report)
	}
	if got, want := union(t, c.Masters), union(t, []*redistest.Server{single(t, input)}); got != want {
		t.Error("the Cluster holds different data than a single server")
	}
}

// testSlotsMove moves slots from one master to another, key by key, during a load.
func testSlotsMove(t *testing.T, c *redistest.ClusterServers, pairs bool) {
	input := clusterCommands(t, redistest.Cases(12_000, 60_000), pairs)
	want := union(t, []*redistest.Server{single(t, input)})
	moved := make(chan struct{})
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input)[:1], do: func(int) {
		go func() {
			defer close(moved)
			remaining := redistest.Cases(4, 40)
			for i := range 40 { // slots of the first master
				if n := keys.Slot([]byte("{" + strconv.Itoa(i) + "}")); n < keys.Slots/3 && remaining > 0 {
					remaining--
					move(t, c, n)
				}
			}
		}()
	}}
	report, err := loadURL(t.Context(), urlOf(c), &slowReader{r: r, done: moved, hold: thirds(input)[1]}, Options{MaxInflight: 256 << 10})
	<-moved
	require.OK(t)(err)
	if report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("report: %+v, want one reply per command and no errors", report)
	}
	if got := union(t, c.Masters); got != want {
		t.Error("the Cluster holds different data than a single server")
	}
	t.Logf("%d commands were resent", report.Resent)
	if report.Resent == 0 {
		t.Error("no command was resent: no slot was moved during the load")
	}
}

// splitSlot starts to migrate a slot from the first master to the second, and leaves one of two
// keys on each of the two masters. It returns the slot.
func splitSlot(t *testing.T, c *redistest.ClusterServers, tag string) int {
	t.Helper()
	slot := keys.Slot([]byte(tag))
	n := strconv.Itoa(slot)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	do(t, source, "MSET", tag+"a", "0", tag+"b", "0")
	do(t, target, "CLUSTER", "SETSLOT", n, "IMPORTING", do(t, source, "CLUSTER", "MYID"))
	do(t, source, "CLUSTER", "SETSLOT", n, "MIGRATING", do(t, target, "CLUSTER", "MYID"))
	do(t, source, "MIGRATE", "127.0.0.1", strconv.Itoa(c.Masters[1].Port()), tag+"a", "0", "5000")
	return slot
}

// testOrder loads a command whose two keys are temporarily on two servers. The next command, for
// one of these keys, can be executed earlier, but must take effect last.
func testOrder(t *testing.T, c *redistest.ClusterServers) {
	tag := firstMasterTag(0)
	slot := splitSlot(t, c, tag)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		eventually(t, "the second command is executed", func() bool { return do(t, source, "GET", tag+"b") == "2" })
		move(t, c, slot)
	}()
	report := load(t, urlOf(c), []byte("MSET "+tag+"a 1 "+tag+"b 1\nSET "+tag+"b 2\n"), Options{})
	<-moved
	if report.Errors != 0 || report.Replies != 2 || report.Resent < 2 {
		t.Errorf("report: %+v, want 2 replies without errors and at least 2 resent commands", report)
	}
	if a, b := do(t, target, "GET", tag+"a"), do(t, target, "GET", tag+"b"); a != "1" || b != "2" {
		t.Errorf("a is %s and b is %s, want 1 and 2", a, b)
	}
}

// testSlotStuck checks that a load fails if the keys of a command stay on two servers, although
// another command with one of these keys can be executed repeatedly.
func testSlotStuck(t *testing.T, c *redistest.ClusterServers) {
	tag := firstMasterTag(1)
	slot := splitSlot(t, c, tag)
	report, err := loadURL(t.Context(), urlOf(c), strings.NewReader("MSET "+tag+"a 1 "+tag+"b 1\nSET "+tag+"b 2\n"), Options{RetryFor: 300 * time.Millisecond})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the server did not accept command 1 (MSET "+tag+"a 1 "+tag+"b 1)") {
		t.Errorf("load: %v, want ErrLost for command 1; report: %+v", err, report)
	}
	move(t, c, slot)
}

// testRefusedTwice checks that commands which the servers refuse twice, while an earlier command of
// the same chunk waits, are executed once and in order.
func testRefusedTwice(t *testing.T, c *redistest.ClusterServers) {
	// The keys of the first command are on two servers, so the second command waits as well.
	waitingTag, tag := firstMasterTag(2), firstMasterTag(3)
	waitingSlot, slot := splitSlot(t, c, waitingTag), keys.Slot([]byte(tag))
	// Each master redirects the other commands to the other master.
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	do(t, target, "CONFIG", "RESETSTAT")
	do(t, source, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", do(t, target, "CLUSTER", "MYID"))

	var ended atomic.Bool
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		eventually(t, "the commands are refused repeatedly", func() bool {
			stats := do(t, target, "INFO", "commandstats")
			_, after, _ := strings.Cut(stats, "cmdstat_asking:calls=")
			calls, _, _ := strings.Cut(after, ",")
			n, _ := strconv.Atoi(calls)
			return n >= 6 || ended.Load()
		})
		move(t, c, slot)
		move(t, c, waitingSlot)
	}()
	input := "MSET " + waitingTag + "a 1 " + waitingTag + "b 1\nSET " + waitingTag + "b 2\nRPUSH " + tag + "x 1\nRPUSH " + tag + "x 2\nSET " + tag + "y 1\nSET " + tag + "y 2\n"
	report, err := loadURL(t.Context(), urlOf(c), strings.NewReader(input), Options{})
	ended.Store(true)
	<-moved
	require.OK(t)(err)
	checkNodes(t, report)
	list, err := target.Do(t.Context(), target.B().Lrange().Key(tag+"x").Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil || !slices.Equal(list, []string{"1", "2"}) {
		t.Errorf("the list has %q, %v; want 1 and 2", list, err)
	}
	if y, b := do(t, target, "GET", tag+"y"), do(t, target, "GET", waitingTag+"b"); y != "2" || b != "2" {
		t.Errorf("y is %s and b is %s, want 2 and 2", y, b)
	}
}

// slowReader reads from r slowly, in small pieces, and blocks after hold bytes, until done is
// closed.
type slowReader struct {
	r    io.Reader
	done chan struct{}
	hold int
	read int
}

func (s *slowReader) Read(p []byte) (int, error) {
	if s.read >= s.hold {
		<-s.done
	}
	select {
	case <-s.done:
	case <-time.After(time.Millisecond):
	}
	n, err := s.r.Read(p[:min(len(p), 4<<10)])
	s.read += n
	return n, err
}

// clusterCommands returns a load of n commands, most of which append to lists: the lists show the
// order of the commands per key and commands that were executed twice. pairs adds commands with two
// keys.
func clusterCommands(t *testing.T, n int, pairs bool) []byte {
	t.Helper()
	var out bytes.Buffer
	e := resp.NewEncoder(&out)
	for i := range n {
		tag := "{" + strconv.Itoa(i%40) + "}"
		var err error
		switch {
		case pairs && i%10 == 3:
			err = e.Encode("MSET", tag+"a", i, tag+"b", i)
		case pairs && i%10 == 4:
			err = e.Encode("SET", tag+"a", i)
		case i%1000 == 500:
			for _, words := range [][]any{{"MULTI"}, {"RPUSH", tag + "tx", i}, {"INCR", tag + "n"}, {"EXEC"}} {
				err = errors.Join(err, e.Encode(words...))
			}
		default:
			err = e.Encode("RPUSH", tag+strconv.Itoa(i%7), i)
		}
		require.OK(t)(err)
	}
	require.OK(t)(e.Flush())
	return out.Bytes()
}

// single returns a server into which the input is loaded.
func single(t *testing.T, input []byte) *redistest.Server {
	t.Helper()
	s := redistest.Own(t)
	load(t, s.URL(), input, Options{})
	return s
}

// union returns the data of several servers as text, which does not depend on the location of keys.
func union(t *testing.T, servers []*redistest.Server) string {
	t.Helper()
	all := make(map[string]string)
	for _, s := range servers {
		c := s.Client(t)
		keys, err := c.Do(context.Background(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
		require.OK(t)(err)
		for _, k := range keys {
			if _, ok := all[k]; ok {
				t.Errorf("two servers hold %q", k)
			}
			all[k] = valueOf(t, c, k)
		}
	}
	return fmt.Sprint(all)
}

// checkNodes checks that the servers replied once to each command and reported no errors.
func checkNodes(t *testing.T, report Report) {
	t.Helper()
	var replies int64
	for _, n := range report.Nodes {
		replies += n.Replies
		if n.Replies < 0 {
			t.Errorf("%s: %d replies, want a positive number", n.Addr, n.Replies)
		}
	}
	if report.Errors != 0 || report.Replies != report.Commands || replies != report.Commands {
		t.Errorf("the nodes sent %d replies, want one per command and no errors: %+v", replies, report)
	}
}

// move moves a slot from its master to the next one.
func move(t *testing.T, c *redistest.ClusterServers, slot int) {
	n := strconv.Itoa(slot)
	from := slot * 3 / keys.Slots
	source, target := c.Masters[from], c.Masters[(from+1)%3]
	a, b := source.Client(t), target.Client(t)
	aID, bID := do(t, a, "CLUSTER", "MYID"), do(t, b, "CLUSTER", "MYID")
	do(t, b, "CLUSTER", "SETSLOT", n, "IMPORTING", aID)
	do(t, a, "CLUSTER", "SETSLOT", n, "MIGRATING", bID)
	for {
		keys, err := a.Do(context.Background(), a.B().Arbitrary("CLUSTER", "GETKEYSINSLOT", n, "1").Build()).AsStrSlice()
		if err != nil {
			t.Error(err)
			return
		}
		if len(keys) == 0 {
			break
		}
		do(t, a, "MIGRATE", "127.0.0.1", strconv.Itoa(target.Port()), keys[0], "0", "5000")
	}
	// Moves between different pairs of masters in quick succession can leave masters that
	// permanently disagree about the owner: Redis decides by epochs, which take a moment to
	// spread.
	eventually(t, "all masters agree about the owner of the slot", func() bool {
		agreed := 0
		for _, m := range []rueidis.Client{b, a, c.Masters[(from+2)%3].Client(t)} {
			_, _ = try(m, "CLUSTER", "SETSLOT", n, "NODE", bID)
			if owner(t, m, slot) == target.Port() {
				agreed++
			}
		}
		return agreed == 3
	})
}

// owner returns the port of the master of a slot, according to one server.
func owner(t *testing.T, c rueidis.Client, slot int) int {
	t.Helper()
	ranges, err := c.Do(context.Background(), c.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		t.Error(err)
		return 0
	}
	for _, r := range ranges {
		fields, _ := r.ToArray()
		from, _ := fields[0].AsInt64()
		to, _ := fields[1].AsInt64()
		master, _ := fields[2].ToArray()
		if port, _ := master[1].AsInt64(); int64(slot) >= from && int64(slot) <= to {
			return int(port)
		}
	}
	return 0
}

// valueOf returns the value of a key as text.
func valueOf(t *testing.T, c rueidis.Client, key string) string {
	t.Helper()
	var value any
	var err error
	switch kind := do(t, c, "TYPE", key); kind {
	case "string":
		return do(t, c, "GET", key)
	case "hash":
		value, err = c.Do(context.Background(), c.B().Hgetall().Key(key).Build()).AsStrMap()
	case "set":
		value, err = c.Do(context.Background(), c.B().Sort().Key(key).Alpha().Build()).AsStrSlice()
	case "zset":
		value, err = c.Do(context.Background(), c.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsStrSlice()
	case "list":
		value, err = c.Do(context.Background(), c.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice()
	case "stream":
		facts := []string{fmt.Sprint(plainReply(t, c, "XRANGE", key, "-", "+"))}
		ask := func(args ...string) rueidis.RedisResult {
			return c.Do(context.Background(), c.B().Arbitrary(args...).Build())
		}
		streamFacts(t, ask, key, func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) })
		value = facts
	default:
		t.Fatalf("%s is a %s", key, kind)
	}
	require.OK(t)(err)
	return fmt.Sprint(value)
}

// plainReply returns the reply to a command as text, or as lists of text.
func plainReply(t *testing.T, c rueidis.Client, words ...string) any {
	t.Helper()
	reply, err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).ToMessage()
	require.OK(t)(err)
	return plain(reply)
}
