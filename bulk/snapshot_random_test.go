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

// TestRandomSnapshots makes a server write random data in random encodings, and loads them over
// other data: the digests must agree.
func TestRandomSnapshots(t *testing.T) {
	t.Parallel()
	from, to := redistest.Own(t, debugging(t)...), redistest.Own(t, debugging(t)...)
	source, target := from.Client(t), to.Client(t)
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
		load(t, from.URL(), encode(t, commands...), Options{})
		do(t, source, "SAVE")
		data, err := os.ReadFile(filepath.Join(from.Dir(), "dump.rdb"))
		require.OK(rt)(err)
		if rapid.Bool().Draw(rt, "empty") { // otherwise the data of the previous round is replaced
			do(t, target, "FLUSHALL")
		}
		report, err := loadURL(context.Background(), to.URL(), bytes.NewReader(data), Options{})
		if err != nil || report.Errors > 0 {
			rt.Fatalf("%v, %+v", err, report)
		}
		// Keys that are not in the snapshot stay: remove them.
		names, err := source.Do(context.Background(), source.B().Keys().Pattern("*").Build()).AsStrSlice()
		require.OK(rt)(err)
		do(t, target, append([]string{"EVAL", `local keep = {}
			for _, key in ipairs(ARGV) do keep[key] = true end
			for _, key in ipairs(redis.call('KEYS', '*')) do if not keep[key] then redis.call('DEL', key) end end`, "0"}, names...)...)
		if got, want := digest(t, target), digest(t, source); got != want {
			rt.Fatalf("digest %s, expected %s after %d commands", got, want, len(commands))
		}
	})
}

// randomCommand adds to one of a few keys.
func randomCommand(t *rapid.T, value *rapid.Generator[string], last *int) []any {
	kind := rapid.SampledFrom([]string{"SET", "RPUSH", "SADD", "ZADD", "HSET", "XADD", "PEXPIREAT", "XDEL"}).Draw(t, "kind")
	n := rapid.IntRange(0, 2).Draw(t, "key")
	key := fmt.Sprint(kind, n)
	values := func(of int) (all []any) {
		for range of * rapid.IntRange(1, 150).Draw(t, "count") {
			all = append(all, value.Draw(t, "value"))
		}
		return all
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
