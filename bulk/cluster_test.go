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
)

// clusterCommands hold every key to its order, by lists that grow; nothing of it can be
// done twice. pairs adds commands with two keys.
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
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func cluster(t *testing.T) (*redistest.ClusterServers, string) {
	t.Helper()
	c := redistest.Cluster(t, 3)
	for _, m := range c.Masters {
		do(t, m.Client(t), "CONFIG", "SET", "save", "")
	}
	return c, fmt.Sprintf("redis://127.0.0.1:%d", c.Masters[0].Port())
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	input := clusterCommands(t, 30_000, true)
	var slow bytes.Buffer
	slow.Write(encode(t, []any{"SET", "gone", 1}, []any{"FLUSHALL"}, []any{"SELECT", 0}))
	slow.Write(input)
	report := load(t, url, slow.Bytes(), Options{Coalesce: true})
	if report.Errors != 0 || report.Replies != report.Commands || len(report.Nodes) != 3 || report.Resent != 0 {
		t.Errorf("%+v", report)
	}
	if got, want := union(t, c.Masters), union(t, []*redistest.Server{single(t, input)}); got != want {
		t.Error("the Cluster holds other data than one server")
	}
}

func single(t *testing.T, input []byte) *redistest.Server {
	t.Helper()
	s := redistest.Own(t)
	load(t, s.URL(), input, Options{})
	return s
}

// union returns the data of several servers as text, regardless of its location.
func union(t *testing.T, servers []*redistest.Server) string {
	t.Helper()
	all := make(map[string]string)
	for _, s := range servers {
		c := s.Client(t)
		keys, err := c.Do(context.Background(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if _, twice := all[k]; twice {
				t.Errorf("two servers hold %q", k)
			}
			all[k] = held(t, c, k)
		}
	}
	return fmt.Sprint(all)
}

// TestClusterMoves moves slots from one master to another, key by key, while they are
// loaded.
func TestClusterMoves(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string]bool{"one key": false, "two keys": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, url := cluster(t)
			input := clusterCommands(t, 60_000, pairs)
			want := union(t, []*redistest.Server{single(t, input)})
			moved := make(chan struct{})
			r := &hook{r: bytes.NewReader(input), at: thirds(input)[:1], do: func(int) {
				go func() {
					defer close(moved)
					for i := range 40 { // those of the first master
						if n := keys.Slot([]byte("{" + strconv.Itoa(i) + "}")); n < keys.Slots/3 {
							move(t, c, n)
						}
					}
				}()
			}}
			report, err := Load(context.Background(), url, &slowly{r, moved}, Options{MaxInflight: 256 << 10})
			<-moved
			if err != nil {
				t.Fatal(err)
			}
			if report.Errors != 0 || report.Replies != report.Commands {
				t.Errorf("%+v", report)
			}
			if got := union(t, c.Masters); got != want {
				t.Error("the Cluster holds other data than one server")
			}
			t.Logf("%d commands were sent again", report.Resent)
			if report.Resent == 0 {
				t.Error("nothing was sent again: nothing moved under the load")
			}
		})
	}
}

// TestClusterKeepsOrder delays a command whose two keys are temporarily on two servers, while
// the next one, to one of these keys, could be executed.
func TestClusterKeepsOrder(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	n := strconv.Itoa(keys.Slot([]byte("{10}"))) // of the first master
	do(t, source, "SET", "{10}a", "0")
	do(t, source, "SET", "{10}b", "0")
	do(t, target, "CLUSTER", "SETSLOT", n, "IMPORTING", do(t, source, "CLUSTER", "MYID"))
	do(t, source, "CLUSTER", "SETSLOT", n, "MIGRATING", do(t, target, "CLUSTER", "MYID"))
	do(t, source, "MIGRATE", "127.0.0.1", strconv.Itoa(c.Masters[1].Port()), "{10}a", "0", "5000")
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		eventually(t, "the later command is executed", func() bool { return do(t, source, "GET", "{10}b") == "2" })
		move(t, c, keys.Slot([]byte("{10}")))
	}()
	report := load(t, url, []byte("MSET {10}a 1 {10}b 1\nSET {10}b 2\n"), Options{})
	<-moved
	if report.Errors != 0 || report.Replies != 2 || report.Resent < 2 {
		t.Errorf("%+v", report)
	}
	if a, b := do(t, target, "GET", "{10}a"), do(t, target, "GET", "{10}b"); a != "1" || b != "2" {
		t.Errorf("a is %s and b is %s, expected 1 and 2", a, b)
	}
}

// TestClusterSlotStuck fails a command whose keys stay on two servers, although another one
// with the same key could be executed repeatedly.
func TestClusterSlotStuck(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	n := strconv.Itoa(keys.Slot([]byte("{10}"))) // of the first master
	do(t, source, "MSET", "{10}a", "0", "{10}b", "0")
	do(t, target, "CLUSTER", "SETSLOT", n, "IMPORTING", do(t, source, "CLUSTER", "MYID"))
	do(t, source, "CLUSTER", "SETSLOT", n, "MIGRATING", do(t, target, "CLUSTER", "MYID"))
	do(t, source, "MIGRATE", "127.0.0.1", strconv.Itoa(c.Masters[1].Port()), "{10}a", "0", "5000")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := Load(ctx, url, strings.NewReader("MSET {10}a 1 {10}b 1\nSET {10}b 2\n"), Options{RetryFor: 300 * time.Millisecond})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the Cluster did not accept command 1 (MSET {10}a 1 {10}b 1)") {
		t.Errorf("%v, %+v", err, report)
	}
}

// TestClusterRefusesAgain refuses commands twice while an earlier command of the same chunk
// waits: a command that was copied, to be sent again, was not executed.
func TestClusterRefusesAgain(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	from, to := do(t, source, "CLUSTER", "MYID"), do(t, target, "CLUSTER", "MYID")
	// The keys of the first command are on two servers, so the second one waits as well.
	do(t, source, "MSET", "{10}a", "0", "{10}b", "0")
	waits := strconv.Itoa(keys.Slot([]byte("{10}")))
	do(t, target, "CLUSTER", "SETSLOT", waits, "IMPORTING", from)
	do(t, source, "CLUSTER", "SETSLOT", waits, "MIGRATING", to)
	do(t, source, "MIGRATE", "127.0.0.1", strconv.Itoa(c.Masters[1].Port()), "{10}a", "0", "5000")
	// Each master sends the other commands to the other one.
	const tag = "{3}"
	slot := keys.Slot([]byte(tag))
	if slot >= keys.Slots/3 || strconv.Itoa(slot) == waits {
		t.Fatal("choose another tag")
	}
	do(t, source, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", to)

	var ended atomic.Bool
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		eventually(t, "the commands are refused again and again", func() bool {
			stats := do(t, target, "INFO", "commandstats")
			_, after, _ := strings.Cut(stats, "cmdstat_asking:calls=")
			asked, _, _ := strings.Cut(after, ",")
			n, _ := strconv.Atoi(asked)
			return n >= 6 || ended.Load()
		})
		move(t, c, slot)
		move(t, c, keys.Slot([]byte("{10}")))
	}()
	input := "MSET {10}a 1 {10}b 1\nSET {10}b 2\nRPUSH " + tag + "x 1\nRPUSH " + tag + "x 2\nSET " + tag + "y 1\nSET " + tag + "y 2\n"
	report, err := Load(t.Context(), url, strings.NewReader(input), Options{})
	ended.Store(true)
	<-moved
	if err != nil {
		t.Fatal(err)
	}
	checkNodes(t, report)
	list, err := target.Do(t.Context(), target.B().Lrange().Key(tag+"x").Start(0).Stop(-1).Build()).AsStrSlice()
	if err != nil || !slices.Equal(list, []string{"1", "2"}) {
		t.Errorf("the list has %q (%v)", list, err)
	}
	if y, b := do(t, target, "GET", tag+"y"), do(t, target, "GET", "{10}b"); y != "2" || b != "2" {
		t.Errorf("y is %s and b is %s, expected 2 and 2", y, b)
	}
}

// checkNodes checks that the servers have replied to each command once.
func checkNodes(t *testing.T, report Report) {
	t.Helper()
	var replies int64
	for _, n := range report.Nodes {
		replies += n.Replies
		if n.Replies < 0 {
			t.Errorf("%s has given %d replies", n.Addr, n.Replies)
		}
	}
	if report.Errors != 0 || report.Replies != report.Commands || replies != report.Commands {
		t.Errorf("%d replies of the servers: %+v", replies, report)
	}
}

// slowly gives an input in pieces that last until something is done, and its end after that.
type slowly struct {
	r    io.Reader
	done chan struct{}
}

func (s *slowly) Read(p []byte) (int, error) {
	select {
	case <-s.done:
	case <-time.After(time.Millisecond):
	}
	n, err := s.r.Read(p[:min(len(p), 4<<10)])
	if err == io.EOF {
		<-s.done
	}
	return n, err
}

// move moves a slot from its master to the next.
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
	// Moves between other pairs of masters immediately after each other can leave masters
	// that disagree about the owner permanently: Redis decides by epochs, which take a
	// moment to spread.
	eventually(t, "all masters agree who has the slot", func() bool {
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

// owner is the port of the master of a slot, as one server sees it.
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

func offset(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	_, rest, _ := strings.Cut(do(t, s.Client(t), "INFO", "replication"), field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// idle reports whether a server has not received a write for two checks in a row.
func idle(t *testing.T, s *redistest.Server) bool {
	t.Helper()
	before := offset(t, s, "master_repl_offset")
	time.Sleep(20 * time.Millisecond)
	return offset(t, s, "master_repl_offset") == before
}

// held is what a key holds, as text.
func held(t *testing.T, c rueidis.Client, key string) string {
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
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(value)
}

// plainReply returns the reply to a command as text, or as lists of text.
func plainReply(t *testing.T, c rueidis.Client, words ...string) any {
	t.Helper()
	reply, err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil {
		t.Fatal(err)
	}
	return plain(reply)
}
