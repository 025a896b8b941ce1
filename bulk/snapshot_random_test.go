package bulk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
)

// TestRandomSnapshots loads snapshots of random data in random encodings over other data, and
// compares the digests.
func TestRandomSnapshots(t *testing.T) {
	t.Parallel()
	sourceServer, targetServer := redistest.Own(t, debugging(t)...), redistest.Own(t, debugging(t)...)
	source, target := sourceServer.Client(t), targetServer.Client(t)
	value := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return strconv.FormatInt(rapid.Int64().Draw(t, "number"), 10) }),
		rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(-5000, 5000).Draw(t, "small")) }),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes")) }),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.StringN(1, 20, -1).Draw(t, "part"), rapid.IntRange(1, 700).Draw(t, "times"))
		}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		do(t, source, "FLUSHALL")
		for _, setting := range []string{
			"hash-max-ziplist-entries", "zset-max-ziplist-entries", "list-max-ziplist-size", "set-max-intset-entries", "stream-node-max-entries",
		} {
			do(t, source, "CONFIG", "SET", setting, strconv.Itoa(rapid.SampledFrom([]int{1, 5, 300}).Draw(rt, setting)))
		}
		do(t, source, "CONFIG", "SET", "rdbcompression", rapid.SampledFrom([]string{"yes", "no"}).Draw(rt, "compression"))
		var commands [][]any
		last := 0
		for range rapid.IntRange(0, 30).Draw(rt, "commands") {
			commands = append(commands, randomCommand(rt, value, &last))
		}
		load(t, sourceServer.URL(), encode(t, commands...), Options{})
		do(t, source, "SAVE")
		data, err := os.ReadFile(filepath.Join(sourceServer.Dir(), "dump.rdb"))
		require.OK(rt)(err)
		if rapid.Bool().Draw(rt, "empty") { // otherwise the data of the previous round is replaced
			do(t, target, "FLUSHALL")
		}
		report, err := loadURL(context.Background(), targetServer.URL(), bytes.NewReader(data), Options{})
		if err != nil || report.Errors > 0 {
			rt.Fatalf("load: %v, want no errors; report: %+v", err, report)
		}
		// Remove the keys that are not in the snapshot.
		names, err := source.Do(context.Background(), source.B().Keys().Pattern("*").Build()).AsStrSlice()
		require.OK(rt)(err)
		do(t, target, append([]string{"EVAL", `local keep = {}
			for _, key in ipairs(ARGV) do keep[key] = true end
			for _, key in ipairs(redis.call('KEYS', '*')) do if not keep[key] then redis.call('DEL', key) end end`, "0"}, names...)...)
		if got, want := digest(t, target), digest(t, source); got != want {
			rt.Fatalf("digest %s, want %s after %d commands", got, want, len(commands))
		}
	})
}

// randomCommand returns a random command for one of a few keys. last is the last ID of a stream
// entry.
func randomCommand(t *rapid.T, value *rapid.Generator[string], last *int) []any {
	kind := rapid.SampledFrom([]string{"SET", "RPUSH", "SADD", "ZADD", "HSET", "XADD", "PEXPIREAT", "XDEL"}).Draw(t, "kind")
	n := rapid.IntRange(0, 2).Draw(t, "key")
	key := fmt.Sprint(kind, n)
	values := func(multiple int) (values []any) {
		for range multiple * rapid.IntRange(1, 150).Draw(t, "count") {
			values = append(values, value.Draw(t, "value"))
		}
		return values
	}
	switch kind {
	case "SET":
		return []any{kind, key, value.Draw(t, "value")}
	case "ZADD":
		args := []any{kind, key}
		for _, member := range values(1) {
			score := rapid.Float64().Draw(t, "score")
			if score == 0 {
				score = 0 // a server drops the sign of -0 in a small sorted set
			}
			args = append(args, score, member)
		}
		return args
	case "XADD":
		*last++
		return append([]any{kind, key, fmt.Sprint(*last, "-0")}, values(2)...)
	case "XDEL":
		return []any{kind, fmt.Sprint("XADD", n), fmt.Sprint(rapid.IntRange(1, 30).Draw(t, "id"), "-0")}
	case "PEXPIREAT":
		return []any{kind, fmt.Sprint(rapid.SampledFrom([]string{"SET", "RPUSH", "SADD", "ZADD", "HSET", "XADD"}).Draw(t, "of"), n), future + n}
	case "HSET":
		return append([]any{kind, key}, values(2)...)
	}
	return append([]any{kind, key}, values(1)...)
}
