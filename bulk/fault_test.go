package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
)

// durable are settings of a server that forgets nothing that it has answered.
var durable = []string{"appendonly yes", "appendfsync always", "enable-debug-command yes"} //nolint:gochecknoglobals // a list

// hook does something when a reader has come to each of some places.
type hook struct {
	r    io.Reader
	read int
	at   []int
	do   func(i int)
	next int
	mu   sync.Mutex // held while something is done
}

// wait waits until what has begun is done, also when nobody reads any more.
func (h *hook) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
}

func (h *hook) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next < len(h.at) && h.read >= h.at[h.next] {
		h.next++
		h.do(h.next - 1)
	}
	n, err := h.r.Read(p[:min(len(p), 16<<10)])
	h.read += n
	return n, err
}

// thirds are two places in an input.
func thirds(input []byte) []int { return []int{len(input) / 3, 2 * len(input) / 3} }

// harmlessCommands can be sent twice, and depend on their order.
func harmlessCommands(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	e := NewEncoder(&out)
	for i := range n {
		key := "{" + strconv.Itoa(i%97) + "}"
		var err error
		switch i % 6 {
		case 0:
			err = e.Encode("SET", key+"string", i)
		case 1:
			err = e.Encode("HSET", key+"hash", i%31, i)
		case 2:
			err = e.Encode("ZADD", key+"zset", i, i%53)
		case 3:
			err = e.Encode("SADD", key+"set", i)
		case 4:
			err = e.Encode("DEL", key+"string")
		case 5:
			err = e.Encode("MSET", key+"string", i, key+"other", i)
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

func TestServerKilled(t *testing.T) {
	t.Parallel()
	input := harmlessCommands(t, 60_000)
	undisturbed := redistest.Own(t, durable...)
	load(t, undisturbed.URL(), input, Options{})
	want := digest(t, undisturbed.Client(t))
	for name, opt := range map[string]Options{
		"one connection":    {},
		"three connections": {Connections: 3},
		"coalesced":         {Coalesce: true, MaxInflight: 128 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t, durable...)
			r := &hook{r: bytes.NewReader(input), at: thirds(input), do: func(int) { s.Restart(t, true) }}
			report, err := Load(context.Background(), s.URL(), r, opt)
			if err != nil {
				t.Fatal(err)
			}
			if report.Commands != 60_000 || report.Replies != 60_000 || report.Errors != 0 {
				t.Errorf("%+v", report)
			}
			if got := digest(t, s.Client(t)); got != want {
				t.Errorf("digest %s after the kills, undisturbed %s (%+v)", got, want, report)
			}
		})
	}
}

// TestKilledWhileCounting counts: no command may be executed twice, and the error
// tells which one is in doubt.
func TestKilledWhileCounting(t *testing.T) {
	t.Parallel()
	input := encode(t, repeat(50_000, "INCR", "counter")...)
	s := redistest.Own(t, durable...)
	r := &hook{r: bytes.NewReader(input), at: thirds(input), do: func(i int) {
		if i == 0 { // so that something is on its way when the server dies
			s.Freeze(t)
			return
		}
		s.Restart(t, true)
	}}
	report, err := Load(context.Background(), s.URL(), r, Options{})
	r.wait()
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("before command %d (INCR counter, byte %d)", report.Replies+1, report.Replies*27)) {
		t.Fatalf("%v after %d replies", err, report.Replies)
	}
	c := s.Client(t)
	n, err := c.Do(context.Background(), c.B().Get().Key("counter").Build()).AsInt64()
	if err != nil || n < report.Replies || n > report.Commands {
		t.Errorf("the counter is %d, %v; %d replies, %d sent", n, err, report.Replies, report.Commands)
	}
}

func repeat(n int, command ...any) [][]any {
	all := make([][]any, n)
	for i := range all {
		all[i] = command
	}
	return all
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	input := harmlessCommands(t, 30_000)
	s := redistest.Own(t)
	r := &hook{r: bytes.NewReader(input), at: thirds(input), do: func(i int) {
		if i == 0 {
			s.Kill(t)
		}
	}}
	began := time.Now()
	report, err := Load(context.Background(), s.URL(), r, Options{RetryFor: 300 * time.Millisecond})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "connect") {
		t.Errorf("%v, %+v", err, report)
	}
	if took := time.Since(began); took < 200*time.Millisecond || took > 10*time.Second {
		t.Errorf("gave up after %v", took)
	}
}

// TestSlowStart restarts the server such that it has to load its data for a while.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	input := harmlessCommands(t, 60_000)
	// Ten microseconds for each command.
	s := redistest.Own(t, append([]string{"key-load-delay 10", "loading-process-events-interval-bytes 1024"}, durable...)...)
	r := &hook{r: bytes.NewReader(input), at: thirds(input)[1:], do: func(int) { s.Restart(t, true) }}
	report, err := Load(context.Background(), s.URL(), r, Options{})
	if err != nil || report.Errors != 0 || report.Replies != 60_000 {
		t.Errorf("%v, %+v", err, report)
	}
}

func TestStopAndGoOn(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Options{"one": {}, "three": {Connections: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Nothing here may be done twice: a stop leaves nothing in doubt.
			var out bytes.Buffer
			e := NewEncoder(&out)
			for i := range 100_000 {
				if err := e.Encode("RPUSH", fmt.Sprint("list", i%200), i); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
			input := out.Bytes()
			undisturbed := redistest.Own(t, durable[2:]...)
			load(t, undisturbed.URL(), input, Options{})

			s := redistest.Own(t, durable[2:]...)
			opt.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
			ctx, cancel := context.WithCancel(context.Background())
			r := &hook{r: bytes.NewReader(input), at: thirds(input)[:1], do: func(int) { cancel() }}
			first, err := Load(ctx, s.URL(), r, opt)
			if !errors.Is(err, context.Canceled) || first.Replies != first.Commands || first.Replies == 0 || first.Replies == 100_000 {
				t.Fatalf("%v, %+v", err, first)
			}
			second := load(t, s.URL(), input, opt)
			if first.Replies+second.Replies < 100_000 || second.From == 0 {
				t.Errorf("%d and then %d, from %d", first.Replies, second.Replies, second.From)
			}
			if got, want := digest(t, s.Client(t)), digest(t, undisturbed.Client(t)); got != want {
				t.Errorf("digest %s, undisturbed %s", got, want)
			}
			if third := load(t, s.URL(), input, opt); third.Commands != 0 {
				t.Errorf("the third time %d commands were sent", third.Commands)
			}
			input[100]++
			_, err = Load(context.Background(), s.URL(), bytes.NewReader(input), opt)
			var wrong *InputError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "not the one of the checkpoint") {
				t.Errorf("a changed input: %v", err)
			}
		})
	}
}

// replica adds a replica to a master of a Cluster.
func replica(t *testing.T, master *redistest.Server) *redistest.Server {
	t.Helper()
	s := redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "cluster-replica-validity-factor 0",
		"repl-diskless-sync-delay 0", "enable-debug-command yes")
	id := do(t, master.Client(t), "CLUSTER", "MYID")
	c := s.Client(t)
	do(t, c, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(master.Port()))
	eventually(t, "the replica knows its master", func() bool {
		return c.Do(context.Background(), c.B().Arbitrary("CLUSTER", "REPLICATE", id).Build()).Error() == nil
	})
	eventually(t, "the replica follows", func() bool {
		return strings.Contains(do(t, c, "INFO", "replication"), "master_link_status:up")
	})
	return s
}

// do runs a command, which must not fail.
func do(t *testing.T, c rueidis.Client, words ...string) string {
	t.Helper()
	text, err := try(c, words...)
	if err != nil {
		t.Errorf("%s: %v", strings.Join(words, " "), err)
	}
	return text
}

func try(c rueidis.Client, words ...string) (string, error) {
	answer := c.Do(context.Background(), c.B().Arbitrary(words...).Build())
	if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
		return "", err
	}
	text, err := answer.ToString()
	if err != nil {
		return "", nil //nolint:nilerr // not a string
	}
	return text, nil
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// clusterCommands hold every key to its order, by lists that grow; nothing of it can be
// done twice. pairs adds commands with two keys.
func clusterCommands(t *testing.T, n int, pairs bool) []byte {
	t.Helper()
	var out bytes.Buffer
	e := NewEncoder(&out)
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

// union is all that some servers hold, as text, whoever holds it.
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
			if do(t, c, "TYPE", k) != "list" {
				all[k] = do(t, c, "GET", k)
				continue
			}
			list, err := c.Do(context.Background(), c.B().Lrange().Key(k).Start(0).Stop(-1).Build()).AsStrSlice()
			if err != nil {
				t.Fatal(err)
			}
			all[k] = strings.Join(list, " ")
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
						if n := slot([]byte("{" + strconv.Itoa(i) + "}")); n < slots/3 {
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

// TestClusterKeepsOrder lets a command wait whose two keys are on two servers for the
// moment, while the next one, to one of these keys, is executed.
func TestClusterKeepsOrder(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	source, target := c.Masters[0].Client(t), c.Masters[1].Client(t)
	n := strconv.Itoa(slot([]byte("{10}"))) // of the first master
	do(t, source, "SET", "{10}a", "0")
	do(t, source, "SET", "{10}b", "0")
	do(t, target, "CLUSTER", "SETSLOT", n, "IMPORTING", do(t, source, "CLUSTER", "MYID"))
	do(t, source, "CLUSTER", "SETSLOT", n, "MIGRATING", do(t, target, "CLUSTER", "MYID"))
	do(t, source, "MIGRATE", "127.0.0.1", strconv.Itoa(c.Masters[1].Port()), "{10}a", "0", "5000")
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		eventually(t, "the later command is executed", func() bool { return do(t, source, "GET", "{10}b") == "2" })
		move(t, c, slot([]byte("{10}")))
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

// slowly gives an input in pieces that last until something is done.
type slowly struct {
	r    io.Reader
	done chan struct{}
}

func (s *slowly) Read(p []byte) (int, error) {
	select {
	case <-s.done:
	case <-time.After(time.Millisecond):
	}
	return s.r.Read(p[:min(len(p), 4<<10)])
}

// move moves a slot from its master to the next.
func move(t *testing.T, c *redistest.ClusterServers, slot int) {
	n := strconv.Itoa(slot)
	from := slot * 3 / slots
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
	// Moves between other pairs of masters, right behind each other, leave masters that
	// take each other for the owner, for good: Redis settles by epochs, and these need a
	// moment to get around.
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

// TestClusterFailover lets a replica take over from its master, twice.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	master := c.Masters[1]
	other := replica(t, master)
	input := clusterCommands(t, 60_000, true)
	want := union(t, []*redistest.Server{single(t, input)})
	over := make(chan struct{})
	r := &hook{r: bytes.NewReader(input), at: thirds(input)[:1], do: func(int) {
		go func() {
			defer close(over)
			do(t, other.Client(t), "CLUSTER", "FAILOVER")
			eventually(t, "the replica is the master", func() bool {
				role, err := try(other.Client(t), "INFO", "replication")
				return err == nil && strings.Contains(role, "role:master")
			})
		}()
	}}
	report, err := Load(context.Background(), url, &slowly{r, over}, Options{})
	<-over
	if err != nil {
		t.Fatal(err)
	}
	if report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("%+v", report)
	}
	if got := union(t, []*redistest.Server{c.Masters[0], other, c.Masters[2]}); got != want {
		t.Error("the Cluster holds other data than one server")
	}
}

// TestClusterMasterKilled kills a master, whose replica takes over when the others have
// noticed. Nothing was being loaded while the replica had not caught up, and all can be
// sent again.
func TestClusterMasterKilled(t *testing.T) {
	t.Parallel()
	c, url := cluster(t)
	other := replica(t, c.Masters[1])
	input := harmlessCommands(t, 20_000)
	want := union2(t, []*redistest.Server{single(t, input)})
	pause := len(input) / 2
	r := &hook{r: bytes.NewReader(input), at: []int{pause}, do: func(int) {
		eventually(t, "the replica has caught up", func() bool {
			return offset(t, c.Masters[1], "master_repl_offset") == offset(t, other, "slave_repl_offset") &&
				idle(t, c.Masters[1])
		})
		c.Masters[1].Kill(t)
	}}
	report, err := Load(context.Background(), url, r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Errors != 0 || report.Replies != report.Commands {
		t.Errorf("%+v", report)
	}
	if got := union2(t, []*redistest.Server{c.Masters[0], other, c.Masters[2]}); got != want {
		t.Error("the Cluster holds other data than one server")
	}
}

func offset(t *testing.T, s *redistest.Server, field string) string {
	t.Helper()
	_, rest, _ := strings.Cut(do(t, s.Client(t), "INFO", "replication"), field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// idle tells whether a server has not been written to for two looks in a row.
func idle(t *testing.T, s *redistest.Server) bool {
	t.Helper()
	before := offset(t, s, "master_repl_offset")
	time.Sleep(20 * time.Millisecond)
	return offset(t, s, "master_repl_offset") == before
}

// union2 is all that some servers hold, by the serialized form of each key.
func union2(t *testing.T, servers []*redistest.Server) string {
	t.Helper()
	all := make(map[string]int)
	for _, s := range servers {
		c := s.Client(t)
		keys, err := c.Do(context.Background(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			var n string
			switch do(t, c, "TYPE", k) {
			case "string":
				n = do(t, c, "GET", k)
			case "hash":
				m, _ := c.Do(context.Background(), c.B().Hgetall().Key(k).Build()).AsStrMap()
				n = fmt.Sprint(m)
			case "set":
				m, _ := c.Do(context.Background(), c.B().Sort().Key(k).Build()).AsStrSlice()
				n = fmt.Sprint(m)
			case "zset":
				m, _ := c.Do(context.Background(), c.B().Zrange().Key(k).Min("0").Max("-1").Withscores().Build()).AsStrSlice()
				n = fmt.Sprint(m)
			}
			all[k+" "+n]++
		}
	}
	return fmt.Sprint(all)
}

func TestCheckpointFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checkpoint")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(context.Background(), redistest.DB(t).URL(), strings.NewReader("SET a b\n"), Options{Checkpoint: path})
	if err == nil || !strings.Contains(err.Error(), "is not the checkpoint of a load") {
		t.Error(err)
	}
}
