package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// serverFiles has a directory for each server version, with files written by the server and a
// description of their contents. With WRITE_FILES=1 in the environment, TestServerFiles writes the
// files of the server under test:
//
//	WRITE_FILES=1 TESTFLAGS='-count=1 -run TestServerFiles' scripts/test-servers DIRECTORY ./bulk
const serverFiles = "testdata/servers"

// future is an expiry in the year 2100, in milliseconds.
const future = 4_102_444_800_000

// allEncodings returns commands that make a server use each encoding of each type. Part 1 is for
// before the append-only file is rewritten, part 2 for after.
func allEncodings(t *testing.T, part int) [][]string {
	t.Helper()
	var commands [][]string
	add := func(args ...string) { commands = append(commands, args) }
	long := strings.Repeat("a long value ", 10)
	if part == 2 {
		add("SET", "later", "1")
		add("RPUSH", "list:small", "later")
		add("SELECT", "3")
		add("HSET", "hash:small", "later", "1")
		add("SELECT", "0")
		add("DEL", "number:8")
		add("MULTI")
		add("INCR", "later")
		add("SELECT", "9")
		add("SET", "in a transaction", "yes")
		add("EXEC")
		return commands
	}
	for _, n := range []string{"0", "-1", "12", "300", "-70000", "1099511627776", "-9223372036854775808", "1.50", "007", ""} {
		add("SET", "number:"+n, n)
	}
	add("SET", "number:8", "8")
	add("SET", "", "the empty key")
	add("SET", "binary\x00\xff\r\n", "\x00\x01\xfe\xff\r\n*1\r\n")
	add("SET", "long", long)
	add("SET", "expires", "x", "PXAT", strconv.Itoa(future))
	add("RPUSH", "list:small", "a", "", "-5", "4000", "70000", "-8388609", "5000000000", long, "\x00\xff")
	add("RPUSH", "list:large", strings.Repeat("x", 9_000), "y", strings.Repeat("0123456789", 900))
	add("PEXPIREAT", "list:large", strconv.Itoa(future+1))
	add("SADD", "set:16", "1", "-2", "300")
	add("SADD", "set:32", "1", "-2", "70000")
	add("SADD", "set:64", "1", "-2", "5000000000")
	add("SADD", "set:small", "a", "b", "", "3")
	add("SADD", "set:large", "a", long)
	add("ZADD", "zset:small", "1", "a", "-1.5", "b", "3.0000000000000004", "c", "+inf", "d", "-inf", "e", "1e300", "f", "12", "7")
	add("ZADD", "zset:large", "0.1", long, "-inf", "least", "17", "seventeen", "+inf", "most")
	add("HSET", "hash:small", "name", "Ada", "born", "1815", "", "empty")
	add("HSET", "hash:large", "name", long, "other", "x")
	add("PEXPIREAT", "hash:large", strconv.Itoa(future+2))
	add("PFADD", "hyperloglog", "a", "b", "c")
	add("SETBIT", "bits", "100", "1")
	list, set, zset, hash := []string{"RPUSH", "list:many"}, []string{"SADD", "set:many"}, []string{"ZADD", "zset:many"}, []string{"HSET", "hash:many"}
	for i := range 140 {
		n := strconv.Itoa(i * i)
		list, set, zset, hash = append(list, n), append(set, "m"+n), append(zset, n, "m"+n), append(hash, "f"+n, n)
	}
	commands = append(commands, list, set, zset, hash)

	for i := range 5 {
		add("XADD", "stream", fmt.Sprint(i+1, "-1"), "n", strconv.Itoa(i), "text", "same fields")
	}
	add("XADD", "stream", "6-0", "other", "fields", "", "")
	add("XADD", "stream", "6-18446744073709551615", "n", "x", "text", "y", "more", long)
	add("XDEL", "stream", "2-1")
	add("XGROUP", "CREATE", "stream", "workers", "0")
	add("XREADGROUP", "GROUP", "workers", "ada", "COUNT", "3", "STREAMS", "stream", ">")
	add("XREADGROUP", "GROUP", "workers", "bob", "COUNT", "1", "STREAMS", "stream", ">")
	add("XACK", "stream", "workers", "1-1")
	add("XCLAIM", "stream", "workers", "ada", "0", "3-1", "RETRYCOUNT", "7")
	add("XGROUP", "CREATECONSUMER", "stream", "workers", "idle")
	add("XGROUP", "CREATE", "stream", "late", "$")
	add("XGROUP", "CREATE", "stream", "early", "0")
	add("XADD", "stream:empty", "5-5", "a", "b")
	add("XDEL", "stream:empty", "5-5")
	add("XGROUP", "CREATE", "stream:new", "g", "$", "MKSTREAM")
	for i := range 120 {
		add("XADD", "stream:many", fmt.Sprint(1_700_000_000_000+i*i, "-", i%3), "n", strconv.Itoa(i))
	}
	add("XTRIM", "stream:many", "MAXLEN", "110")
	if fieldsExpire(t) {
		add("HSET", "ttl:small", "a", "1", "b", "2", "c", "3")
		add("HPEXPIREAT", "ttl:small", strconv.Itoa(future), "FIELDS", "1", "b")
		add("HPEXPIREAT", "ttl:small", strconv.Itoa(future+5), "FIELDS", "1", "c")
		add("HSET", "ttl:large", "a", long, "b", "2", "c", "3")
		add("HPEXPIREAT", "ttl:large", strconv.Itoa(future+7), "FIELDS", "2", "a", "b")
		add("PEXPIREAT", "ttl:large", strconv.Itoa(future+9))
	}
	if !before7(t) {
		add("FUNCTION", "LOAD", "#!lua name=mylib\nredis.register_function('answer', function() return 42 end)\n")
	}
	add("SELECT", "3")
	add("SET", "other", "database")
	add("HSET", "hash:small", "db", "3")
	add("SELECT", "15")
	add("SADD", "last", "database")
	return commands
}

// fieldsExpire reports whether the server under test supports fields with an expiry.
func fieldsExpire(t *testing.T) bool {
	t.Helper()
	c := redistest.One(t).Client(t)
	info, err := c.Do(context.Background(), c.B().CommandInfo().CommandName("HPEXPIREAT").Build()).ToArray()
	require.OK(t)(err)
	return len(info) == 1 && !info[0].IsNil()
}

// run loads commands, which must not fail.
func run(t *testing.T, s *redistest.Server, commands [][]string) {
	t.Helper()
	var encoded [][]any
	for _, c := range commands {
		var args []any
		for _, arg := range c {
			args = append(args, arg)
		}
		encoded = append(encoded, args)
	}
	if report := load(t, s.URL(), encode(t, encoded...), Options{}); report.Errors > 0 {
		t.Fatalf("failures: %+v", report.Failures)
	}
}

// savedServer is a server that has written a snapshot and an append-only file.
type savedServer struct {
	*redistest.Server
	snapshot string // the path of the snapshot
	files    []File // the files of the append-only file
}

// newSavedServer starts a server, stores data in all encodings, and makes the server write a
// snapshot and an append-only file.
func newSavedServer(t *testing.T) savedServer {
	t.Helper()
	config := append([]string{"appendonly yes", "list-compress-depth 1"}, debugging(t)...)
	if !before7(t) {
		config = append(config, "aof-timestamp-enabled yes")
	}
	s := redistest.Own(t, config...)
	c := s.Client(t)
	do := func(args ...string) string {
		text, err := c.Do(context.Background(), c.B().Arbitrary(args...).Build()).ToString()
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(args, " "), err)
		}
		return text
	}
	run(t, s, allEncodings(t, 1))
	do("BGREWRITEAOF")
	var info string
	eventually(t, "the append-only file is rewritten", func() bool {
		info = do("INFO", "persistence")
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	})
	if !strings.Contains(info, "aof_last_bgrewrite_status:ok") {
		t.Fatalf("BGREWRITEAOF failed: %s", info)
	}
	run(t, s, allEncodings(t, 2))
	do("SAVE")
	w := savedServer{Server: s, snapshot: filepath.Join(s.Dir(), "dump.rdb")}
	if before7(t) {
		w.files = []File{openFile(filepath.Join(s.Dir(), "appendonly.aof"))}
		return w
	}
	files, err := AppendOnlyFiles(filepath.Join(s.Dir(), "appendonlydir"))
	require.OK(t)(err)
	w.files = files
	return w
}

// openFile returns the File at a path.
func openFile(path string) File {
	return File{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// loadFiles loads files into a server.
func loadFiles(t *testing.T, s *redistest.Server, files []File, opt Options) Report {
	t.Helper()
	report, err := Load(context.Background(), clientOptions(t, s), opt, files...)
	require.OK(t)(err)
	return report
}

// TestServerFiles loads the files that the server under test writes, and compares the data.
func TestServerFiles(t *testing.T) {
	t.Parallel()
	w := newSavedServer(t)
	want, sum := contents(t, w.Server), digest(t, w.Client(t))
	if os.Getenv("WRITE_FILES") == "1" {
		keepFiles(t, w, want)
	}
	s := redistest.Own(t, debugging(t)...)
	for name, files := range map[string][]File{"snapshot": {openFile(w.snapshot)}, "append-only file": w.files} {
		for variant, opt := range variants() {
			t.Run(name+", "+variant, func(t *testing.T) {
				emptyAll(t, s)
				run(t, s, [][]string{{"RPUSH", "long", "another type"}, {"HSET", "hash:small", "gone", "1"}, {"RPUSH", "list:large", "x"}, {"XADD", "stream", "9-9", "a", "b"}})
				report := loadFiles(t, s, files, opt)
				if report.Errors > 0 || report.Records == 0 || report.Replies != report.Commands {
					t.Errorf("report: %+v, want records, one reply per command and no errors", report)
				}
				same(t, contents(t, s), want)
				if got := digest(t, s.Client(t)); got != sum {
					t.Errorf("digest %s, want %s", got, sum)
				}
			})
		}
	}
}

// emptyAll removes the keys and the functions of a server.
func emptyAll(t *testing.T, s *redistest.Server) {
	t.Helper()
	flush(t, []*redistest.Server{s})
	if !before7(t) {
		do(t, s.Client(t), "FUNCTION", "FLUSH")
	}
}

// keepFiles copies the files of a server to testdata.
func keepFiles(t *testing.T, w savedServer, facts []string) {
	t.Helper()
	c := w.Client(t)
	info, err := c.Do(context.Background(), c.B().Info().Section("server").Build()).ToString()
	require.OK(t)(err)
	name := "redis-" + redistest.Version(t)
	if _, after, ok := strings.Cut(info, "valkey_version:"); ok {
		version, _, _ := strings.Cut(after, "\r")
		name = "valkey-" + version
	} else if strings.Contains(info, "server_name:valkey") {
		name = "valkey-" + redistest.Version(t)
	}
	dir := filepath.Join(serverFiles, strings.Replace(name, "7.9.224", "8.0-m01", 1))
	require.OK(t)(os.RemoveAll(dir))
	write := func(name string, data []byte, err error) {
		path := filepath.Join(dir, name)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644))
		}
		require.OK(t)(err)
	}
	write("contents.txt", []byte(strings.Join(facts, "\n")+"\n"), nil)
	data, err := os.ReadFile(w.snapshot)
	write("dump.rdb", data, err)
	paths, _ := filepath.Glob(filepath.Join(w.Dir(), "appendonlydir", "*"))
	if len(paths) == 0 {
		data, err := os.ReadFile(w.files[0].Name)
		write("appendonly.aof", data, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		write(filepath.Join("appendonlydir", filepath.Base(path)), data, err)
	}
}

// TestFilesOfOtherServers loads files written by older and newer servers.
func TestFilesOfOtherServers(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join(serverFiles, "*"))
	if err != nil || len(dirs) < 6 {
		t.Fatalf("%d servers have files in %s, want 6 or more: %v", len(dirs), serverFiles, err)
	}
	s := redistest.Own(t)
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "contents.txt"))
		require.OK(t)(err)
		want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		files := []File{openFile(filepath.Join(dir, "appendonly.aof"))}
		if _, err := os.Stat(filepath.Join(dir, "appendonlydir")); err == nil {
			if files, err = AppendOnlyFiles(filepath.Join(dir, "appendonlydir")); err != nil {
				t.Fatal(err)
			}
		}
		for name, files := range map[string][]File{"snapshot": {openFile(filepath.Join(dir, "dump.rdb"))}, "append-only file": files} {
			t.Run(filepath.Base(dir)+", "+name, func(t *testing.T) {
				emptyAll(t, s)
				compareFiles(t, s, files, want)
			})
		}
	}
}

// compareFiles loads files and compares the contents, except for features that one of the servers
// lacks.
func compareFiles(t *testing.T, s *redistest.Server, files []File, want []string) {
	t.Helper()
	report := loadFiles(t, s, files, Options{})
	got, want := contents(t, s), slices.Clone(want)
	total := len(want)
	remove := func(facts *[]string, prefix string) {
		*facts = slices.DeleteFunc(*facts, func(line string) bool { return strings.HasPrefix(line, prefix) })
	}
	has := func(facts []string, prefix string) bool {
		return slices.ContainsFunc(facts, func(line string) bool { return strings.HasPrefix(line, prefix) })
	}
	if before7(t) {
		remove(&want, "functions: ")
	}
	if !fieldsExpire(t) {
		remove(&want, "expiry: ")
	}
	if unknown := len(want) < total; (report.Errors > 0) != unknown {
		t.Errorf("%d errors, want errors: %v; failures: %+v", report.Errors, unknown, report.Failures)
	}
	for _, f := range report.Failures {
		if !strings.Contains(f.Error, "ERR unknown command") || !strings.HasPrefix(f.Text, "FUNCTION LOAD") && !strings.HasPrefix(f.Text, "HPEXPIREAT") {
			t.Errorf("failure %+v, want only unknown commands", f)
		}
	}
	if !has(got, "redis7: ") || !has(want, "redis7: ") {
		remove(&got, "redis7: ")
		remove(&want, "redis7: ")
	}
	same(t, got, want)
}

// quoted returns a value as one line.
func quoted(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []any:
		var parts []string
		for _, element := range v {
			parts = append(parts, quoted(element))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(value)
}
