package bulk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk/resp"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// hook is a reader that calls do(i) once offsets[i] bytes have been read from r.
type hook struct {
	r       io.Reader
	read    int
	offsets []int
	do      func(i int)
	next    int
	mu      sync.Mutex // held while do runs
}

// wait waits until a running call of do returns.
func (h *hook) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
}

func (h *hook) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next < len(h.offsets) && h.read >= h.offsets[h.next] {
		h.next++
		var wg sync.WaitGroup // t.Fatal in do must not end this goroutine
		wg.Go(func() { h.do(h.next - 1) })
		wg.Wait()
	}
	n, err := h.r.Read(p[:min(len(p), 16<<10)])
	h.read += n
	return n, err
}

// thirds returns the offsets at one third and two thirds of an input.
func thirds(input []byte) []int { return []int{len(input) / 3, 2 * len(input) / 3} }

// repeatableCommands returns n commands that can be resent, but whose result depends on their
// order.
func repeatableCommands(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	e := resp.NewEncoder(&out)
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
		require.OK(t)(err)
	}
	require.OK(t)(e.Flush())
	return out.Bytes()
}

func TestServerKilled(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(12_000, 60_000)
	input := repeatableCommands(t, n)
	undisturbed := redistest.Own(t, debugging(t)...)
	load(t, undisturbed.URL(), input, Options{})
	want := digest(t, undisturbed.Client(t))
	for name, opt := range map[string]Options{
		"one connection":    {},
		"three connections": {Connections: 3},
		"coalesced":         {Coalesce: true, MaxInflight: 128 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t, durable(t)...)
			r := &hook{r: bytes.NewReader(input), offsets: thirds(input), do: func(int) { s.Restart(t, true) }}
			report, err := loadURL(context.Background(), s.URL(), r, opt)
			require.OK(t)(err)
			if report.Commands != int64(n) || report.Replies != int64(n) || report.Errors != 0 {
				t.Errorf("report: %+v, want %d commands and replies and no errors", report, n)
			}
			if got := digest(t, s.Client(t)); got != want {
				t.Errorf("digest %s after the kills, want %s; report: %+v", got, want, report)
			}
		})
	}
}

// TestCutWithinSnapshot breaks the connection repeatedly during a load of a snapshot with lists of
// all sizes and short streams. Resending executed commands whose replies are lost must change
// nothing.
func TestCutWithinSnapshot(t *testing.T) {
	t.Parallel()
	source := redistest.Own(t, debugging(t)...)
	var commands [][]any
	for i := range redistest.Cases(100, 1500) {
		key := strconv.Itoa(i)
		list := []any{"RPUSH", "list:" + key}
		for j := range 1 + i*i%500 {
			list = append(list, j)
		}
		commands = append(commands, list, []any{"SET", "string:" + key, i}, []any{"SADD", "set:" + key, i, "x"}, []any{"ZADD", "zset:" + key, i, "x"},
			[]any{"HSET", "hash:" + key, "x", i}, []any{"EXPIREAT", "list:" + key, future / 1000})
		if i%30 > 0 {
			continue
		}
		stream := "stream:" + key
		for j := range i * i % 101 {
			commands = append(commands, []any{"XADD", stream, fmt.Sprint(j/3+1, "-", j), "n", j})
		}
		commands = append(commands, []any{"XGROUP", "CREATE", stream, "g", "0", "MKSTREAM"}, []any{"XREADGROUP", "GROUP", "g", "ada", "COUNT", "30", "STREAMS", stream, ">"},
			[]any{"XREADGROUP", "GROUP", "g", "bob", "STREAMS", stream, ">"}, []any{"XDEL", stream, fmt.Sprint(i*i%101/3, "-", i*i%101)})
	}
	load(t, source.URL(), encode(t, commands...), Options{})
	want, facts := digest(t, source.Client(t)), contents(t, source)
	do(t, source.Client(t), "SAVE")
	input, err := os.ReadFile(filepath.Join(source.Dir(), "dump.rdb"))
	require.OK(t)(err)
	for name, opt := range map[string]Options{"one connection": {}, "three connections": {Connections: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Own(t, debugging(t)...)
			c := s.Client(t)
			var cuts []int
			for n := 0; n < len(input); n += redistest.Cases(5<<10, 40<<10) {
				cuts = append(cuts, n)
			}
			r := &hook{r: bytes.NewReader(input), offsets: cuts, do: func(int) { do(t, c, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }}
			report, err := loadURL(context.Background(), s.URL(), r, opt)
			if err != nil || report.Errors > 0 || report.Resent == 0 {
				t.Fatalf("load: %v, want no errors and resent commands; report: %+v", err, report)
			}
			t.Logf("%d of %d commands were resent in %d cuts", report.Resent, report.Commands, len(cuts))
			if got := digest(t, s.Client(t)); got != want {
				t.Errorf("digest %s after %d commands were resent, want %s", got, report.Resent, want)
			}
			same(t, contents(t, s), facts)
		})
	}
}

// TestKilledWhileCounting kills the server during a load of INCR commands: no command may be
// executed twice, and the error must name the command in doubt. Before the kill, the server is
// paused, so that some sent commands are not executed.
func TestKilledWhileCounting(t *testing.T) {
	t.Parallel()
	input := encode(t, repeat(20_000, "INCR", "counter")...)
	commandSize := int64(len(input) / 20_000)
	s := redistest.Own(t, durable(t)...)
	c := s.Client(t)
	var sent atomic.Int64
	var executed int64
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input), do: func(i int) {
		if i == 0 {
			eventually(t, "a command is executed", func() bool { return do(t, c, "GET", "counter") != "" })
			do(t, c, "CLIENT", "PAUSE", "600000", "WRITE")
			executed, _ = strconv.ParseInt(do(t, c, "GET", "counter"), 10, 64)
			return
		}
		eventually(t, "a command that is not executed is sent", func() bool { return sent.Load() >= (executed+1)*commandSize })
		s.Restart(t, true)
	}}
	report, err := loadURL(context.Background(), s.URL(), r, Options{OnProgress: func(r Report) { sent.Store(r.Bytes) }})
	r.wait()
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("before command %d (INCR counter, byte %d)", report.Replies+1, report.Replies*commandSize)) {
		t.Fatalf("load: %v after %d replies, want ErrLost that names the next command", err, report.Replies)
	}
	n, err := strconv.ParseInt(do(t, s.Client(t), "GET", "counter"), 10, 64)
	if err != nil || n != executed || n < report.Replies {
		t.Errorf("the counter is %d, %v; %d commands were executed, %d answered, %d sent", n, err, executed, report.Replies, report.Commands)
	}
}

// repeat returns n copies of a command.
func repeat(n int, command ...any) [][]any {
	commands := make([][]any, n)
	for i := range commands {
		commands[i] = command
	}
	return commands
}

func TestServerGone(t *testing.T) {
	t.Parallel()
	input := repeatableCommands(t, 30_000)
	s := redistest.Own(t)
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input), do: func(i int) {
		if i == 0 {
			s.Kill(t)
		}
	}}
	began := time.Now()
	report, err := loadURL(context.Background(), s.URL(), r, Options{RetryFor: 300 * time.Millisecond})
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "connect") {
		t.Errorf("load: %v, want ErrLost because the connection failed; report: %+v", err, report)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the load failed after %v, want at least 300 ms", took)
	}
}

// TestSlowStart restarts a server that takes a while to load its data.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	n := redistest.Cases(12_000, 60_000)
	input := repeatableCommands(t, n)
	// Ten microseconds per command.
	slow := []string{"key-load-delay 10"}
	if !before7(t) {
		slow = append(slow, "loading-process-events-interval-bytes 1024")
	}
	s := redistest.Own(t, append(slow, durable(t)...)...)
	r := &hook{r: bytes.NewReader(input), offsets: thirds(input)[1:], do: func(int) { s.Restart(t, true) }}
	report, err := loadURL(context.Background(), s.URL(), r, Options{})
	if err != nil || report.Errors != 0 || report.Replies != int64(n) {
		t.Errorf("load: %v, want %d replies and no errors; report: %+v", err, n, report)
	}
}

func TestStopAndResume(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]Options{"one": {}, "three": {Connections: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// No command may be executed twice: a stop leaves no command in doubt.
			n := redistest.Cases(20_000, 100_000)
			var out bytes.Buffer
			e := resp.NewEncoder(&out)
			for i := range n {
				require.OK(t)(e.Encode("RPUSH", fmt.Sprint("list", i%200), i))
			}
			require.OK(t)(e.Flush())
			input := out.Bytes()
			undisturbed := redistest.Own(t, debugging(t)...)
			load(t, undisturbed.URL(), input, Options{})

			s := redistest.Own(t, debugging(t)...)
			opt.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
			ctx, cancel := context.WithCancel(context.Background())
			r := &hook{r: bytes.NewReader(input), offsets: thirds(input)[:1], do: func(int) { cancel() }}
			first, err := loadURL(ctx, s.URL(), r, opt)
			if !errors.Is(err, context.Canceled) || first.Replies != first.Commands || first.Replies == 0 || first.Replies == int64(n) {
				t.Fatalf("load: %v, want context.Canceled after a part of the commands; report: %+v", err, first)
			}
			second := load(t, s.URL(), input, opt)
			if first.Replies+second.Replies < int64(n) || second.From == 0 {
				t.Errorf("the first load got %d replies, the second %d from byte %d; want %d in total", first.Replies, second.Replies, second.From, n)
			}
			if got, want := digest(t, s.Client(t)), digest(t, undisturbed.Client(t)); got != want {
				t.Errorf("digest %s after the stop, want %s", got, want)
			}
			if third := load(t, s.URL(), input, opt); third.Commands != 0 {
				t.Errorf("the third load sent %d commands, want 0", third.Commands)
			}
			input[100]++
			_, err = loadURL(context.Background(), s.URL(), bytes.NewReader(input), opt)
			var inputErr *InputError
			if !errors.As(err, &inputErr) || !strings.Contains(err.Error(), "does not match the checkpoint") {
				t.Errorf("load of a changed input: %v, want an error about the checkpoint", err)
			}
		})
	}
}

// addReplica adds a replica to a master of a Cluster, and waits until all masters know the replica:
// otherwise they would not vote for the replica.
func addReplica(t *testing.T, cluster *redistest.ClusterServers, master *redistest.Server) *redistest.Server {
	t.Helper()
	s := redistest.TCP(t, "cluster-enabled yes", "cluster-node-timeout 2000", "cluster-replica-validity-factor 0",
		"repl-diskless-sync-delay 0")
	do(t, master.Client(t), "CONFIG", "SET", "repl-diskless-sync-delay", "0") // the default is five seconds
	masterID := do(t, master.Client(t), "CLUSTER", "MYID")
	c := s.Client(t)
	for _, m := range cluster.Masters { // meet every master, because gossip takes some time
		do(t, c, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(m.Port()))
	}
	eventually(t, "the replica knows its master", func() bool {
		return c.Do(context.Background(), c.B().Arbitrary("CLUSTER", "REPLICATE", masterID).Build()).Error() == nil
	})
	eventually(t, "the replica is connected to its master", func() bool {
		return strings.Contains(do(t, c, "INFO", "replication"), "master_link_status:up")
	})
	replicaID := do(t, c, "CLUSTER", "MYID")
	for _, m := range cluster.Masters {
		client := m.Client(t)
		eventually(t, "every master knows the replica", func() bool {
			for line := range strings.Lines(do(t, client, "CLUSTER", "NODES")) {
				if strings.Contains(line, replicaID) { // the reply may begin with txt:
					return strings.Contains(line, "slave "+masterID)
				}
			}
			return false
		})
	}
	return s
}

// do runs a command, which must not fail, and returns the reply if it is a string.
func do(t *testing.T, c rueidis.Client, words ...string) string {
	t.Helper()
	text, err := try(c, words...)
	if err != nil {
		t.Errorf("%s: %v", strings.Join(words, " "), err)
	}
	return text
}

// try runs a command and returns the reply if it is a string.
func try(c rueidis.Client, words ...string) (string, error) {
	reply := c.Do(context.Background(), c.B().Arbitrary(words...).Build())
	if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
		return "", err
	}
	text, err := reply.ToString()
	if err != nil {
		return "", nil // not a string
	}
	return text, nil
}

// eventually polls until a condition holds or the test ends. The ignored text documents the
// condition.
func eventually(t *testing.T, _ string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			runtime.Goexit() // the test has ended
		}
	}
}

// TestResumeWithinFunctions resumes a load that was killed while it sent the functions of a
// snapshot. Functions can be resent, because they replace existing functions.
func TestResumeWithinFunctions(t *testing.T) {
	t.Parallel()
	const code = "#!lua name=a\nredis.register_function('a', print)"
	snapshot := "REDIS0010\xf5" + string(rune(len(code))) + code + "\x00\x01a\x011\xff" + strings.Repeat("\x00", 8)
	opt := Options{Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	text := fmt.Sprintf(`{"version": 1, "sha256": "%x", "promised": 1000, "format": "rdb"}`, sha256.Sum256(nil))
	require.OK(t)(os.WriteFile(opt.Checkpoint, []byte(text), 0o600))
	if report := load(t, redistest.Own(t).URL(), []byte(snapshot), opt); report.Replies != 2 {
		t.Errorf("report: %+v, want 2 replies", report)
	}
}

func TestCheckpointFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checkpoint")
	require.OK(t)(os.WriteFile(path, []byte("hello"), 0o600))
	_, err := loadURL(context.Background(), redistest.DB(t).URL(), strings.NewReader("SET a b\n"), Options{Checkpoint: path})
	if err == nil || !strings.Contains(err.Error(), "is not the checkpoint of a load") {
		t.Errorf("load: %v, want an error about the checkpoint file", err)
	}
}
