package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/bulk/resp"
	"retwis/internal/redis/redisurl"
	"retwis/internal/redistest"
	"retwis/internal/require"
)

// load loads an input into the server of a URL, and fails the test on an error.
func load(t *testing.T, url string, input []byte, opt Options) Report {
	t.Helper()
	report, err := loadURL(context.Background(), url, bytes.NewReader(input), opt)
	require.OK(t)(err)
	return report
}

// loadURL loads the data of a reader into the server of a URL.
func loadURL(ctx context.Context, url string, r io.Reader, opt Options) (Report, error) {
	config, err := redisurl.Parse(url)
	if err != nil {
		return Report{}, err
	}
	server, err := config.ClientOption()
	if err != nil {
		return Report{}, err
	}
	return Load(ctx, server, opt, From(r))
}

// digest returns the DEBUG DIGEST of a database.
func digest(t *testing.T, c rueidis.Client) string {
	t.Helper()
	d, err := c.Do(context.Background(), c.B().Arbitrary("DEBUG", "DIGEST").Build()).ToString()
	require.OK(t)(err)
	return d
}

// encode encodes commands in the protocol.
func encode(t *testing.T, commands ...[]any) []byte {
	t.Helper()
	var out bytes.Buffer
	e := resp.NewEncoder(&out)
	for _, c := range commands {
		require.OK(t)(e.Encode(c...))
	}
	require.OK(t)(e.Flush())
	return out.Bytes()
}

// corpusCommands is the number of small commands in a corpus.
var corpusCommands = redistest.Cases(4_000, 20_000)

// corpus returns commands for every data type, with values of many lengths up to huge bytes.
func corpus(t *testing.T, huge int) []byte {
	t.Helper()
	allBytes := make([]byte, 256)
	for i := range allBytes {
		allBytes[i] = byte(i)
	}
	var out bytes.Buffer
	e := resp.NewEncoder(&out)
	add := func(args ...any) {
		t.Helper()
		require.OK(t)(e.Encode(args...))
	}
	add("SET", "", "")
	add("SET", "empty", "")
	add("SET", allBytes, allBytes)
	add("SET", "huge", bytes.Repeat([]byte("0123456789"), huge/10))
	for i := 0; i < 300; i += redistest.Cases(3, 1) {
		add("SET", fmt.Sprint("length", i), strings.Repeat("x", i*i))
	}
	for i := range corpusCommands {
		switch i % 8 {
		case 0:
			add("SET", fmt.Sprint("key", i), i)
		case 1:
			add("HSET", fmt.Sprint("hash", i%50), i, fmt.Sprint("value", i), "empty", "")
		case 2:
			add("RPUSH", fmt.Sprint("list", i%50), i, allBytes)
		case 3:
			add("SADD", fmt.Sprint("set", i%50), i, i+1)
		case 4:
			add("ZADD", fmt.Sprint("zset", i%50), float64(i)/3, i)
		case 5:
			add("XADD", fmt.Sprint("stream", i%50), fmt.Sprintf("%d-1", i+1), "field", i)
		case 6:
			add("PFADD", fmt.Sprint("hll", i%50), i)
		case 7:
			add("INCRBY", "counter", i)
		}
	}
	add("SETBIT", "bits", 70000, true)
	add("GEOADD", "geo", 13.361389, 38.115556, "Palermo")
	add("EXPIREAT", "key0", 4102444800)
	add("MULTI")
	add("SET", "in", "transaction")
	add("INCR", "counter")
	add("EXEC")
	args := []any{"MSET"}
	for i := range 5000 {
		args = append(args, fmt.Sprint("many", i), i)
	}
	add(args...)
	require.OK(t)(e.Flush())
	out.WriteString("*0\r\n\r\n*1\r\n$4\r\nPING\r\n")
	return out.Bytes()
}

// TestSameAsRedisCLI compares the data that Load stores with the data that redis-cli --pipe stores.
func TestSameAsRedisCLI(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		if cli, err = exec.LookPath("valkey-cli"); err != nil {
			t.Fatal("neither redis-cli nor valkey-cli is on PATH")
		}
	}
	cliServer, loadServer := redistest.Own(t, debugging(t)...), redistest.Own(t, debugging(t)...)
	for name, opt := range map[string]Options{
		"plain":       {},
		"coalesce":    {Coalesce: true},
		"connections": {Connections: 4, Coalesce: true},
		"small":       {MaxInflight: 64 << 10, Connections: 2},
	} {
		t.Run(name, func(t *testing.T) {
			huge := 3 << 20
			if name == "plain" { // more than MaxInflight
				huge = redistest.Cases(5<<20, 100<<20)
			}
			flush(t, []*redistest.Server{cliServer, loadServer})
			input := corpus(t, huge)
			cmd := exec.Command(cli, "-s", cliServer.Socket(), "--pipe")
			cmd.Stdin = bytes.NewReader(input)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "errors: 0") {
				t.Fatalf("redis-cli --pipe: %v, %s; want no errors", err, out)
			}
			report := load(t, loadServer.URL(), input, opt)
			if report.Errors != 0 || report.Replies != report.Commands || report.Replies != int64(corpusCommands+4+redistest.Cases(100, 300)+3+4+1+1) {
				t.Errorf("report: %+v, want one reply per command and no errors", report)
			}
			if got, want := digest(t, loadServer.Client(t)), digest(t, cliServer.Client(t)); got != want {
				t.Errorf("digest %s, want %s as with redis-cli", got, want)
			}
		})
	}
}

func TestLoadFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/in.resp"
	require.OK(t)(os.WriteFile(path, encode(t, []any{"SET", "a", 1}, []any{"INCR", "a"}), 0o600))
	f, err := os.Open(path)
	require.OK(t)(err)
	defer f.Close()
	db := redistest.DB(t)
	report, err := loadURL(context.Background(), db.URL(), f, Options{})
	if err != nil || report.Replies != 2 {
		t.Fatalf("load: %v, want 2 replies; report: %+v", err, report)
	}
	c := db.Client(t)
	require.Gives(t, 2)(c.Do(context.Background(), c.B().Get().Key("a").Build()).AsInt64())
}

// TestManyArguments checks that a command with more arguments than Redis 6.2 accepts is loaded into
// newer servers, and is an error with Redis 6.2.
func TestManyArguments(t *testing.T) {
	t.Parallel()
	args := slices.Repeat([]any{"a"}, redis6Args+2)
	args[0] = "DEL"
	input := encode(t, []any{"SET", "a", 1}, args, []any{"SET", "b", 1})
	db := redistest.DB(t)
	report, err := loadURL(context.Background(), db.URL(), bytes.NewReader(input), Options{})
	c := db.Client(t)
	if before7(t) {
		var inputErr *InputError
		if !errors.As(err, &inputErr) || !strings.Contains(err.Error(), "command 2: it has 1048578 arguments; the server is Redis 6.2") || report.Replies != 1 {
			t.Errorf("load: %v, want an InputError for command 2; report: %+v", err, report)
		}
		return
	}
	if err != nil || report.Replies != 3 || report.Errors != 0 || do(t, c, "GET", "a") != "" || do(t, c, "GET", "b") != "1" {
		t.Errorf("load: %v, want 3 replies, a deleted and b set; report: %+v", err, report)
	}
	if _, report, err := emitted(string(input), Options{}); err != nil || report.Commands != 3 {
		t.Errorf("Emit: %v, want 3 commands; report: %+v", err, report)
	}
}
