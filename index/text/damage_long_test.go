//go:build long

package text

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// After random damage, an index without problems in Verify returns correct results, and Repair
// makes all results correct.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx, n := context.Background(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := filled(t, client, fmt.Sprint("{random", n, "}"), Options{Partitions: rapid.SampledFrom([]int{1, 2}).Draw(t, "partitions")})
		for range rapid.IntRange(1, 4).Draw(t, "damages") {
			damageKey(t, client, m.x)
		}
		report, err := m.x.Verify(ctx, m.source(), maintain.Options{})
		require.OK(t)(err)
		correct := m.correct(t)
		if report.Problems() == 0 && !correct {
			t.Fatal("a query returns wrong results, but Verify finds no problem")
		}
		if report.Problems() > 0 {
			m.repaired(t)
		}
	})
}

// damageKey damages a random key of an index.
func damageKey(t *rapid.T, client rueidis.Client, x *Index) {
	ctx := context.Background()
	do := func(args ...string) string {
		text, _ := client.Do(ctx, client.B().Arbitrary(args...).Build()).ToString()
		return text
	}
	part := rapid.IntRange(0, len(x.store.keys)-1).Draw(t, "part")
	pattern := x.store.keys[part].Index + rapid.SampledFrom([]string{".0.rare*", ".0.tail*", ".0.dir*", ".0.seg*", ".0.ids*"}).Draw(t, "keys")
	keys, err := client.Do(ctx, client.B().Keys().Pattern(pattern).Build()).AsStrSlice()
	if err != nil || len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	key := rapid.SampledFrom(keys).Draw(t, "key")
	bytes := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
	switch kind := do("TYPE", key); {
	case rapid.IntRange(0, 4).Draw(t, "all") == 0:
		do("DEL", key)
	case rapid.IntRange(0, 6).Draw(t, "type") == 0:
		do("DEL", key)
		do(rapid.SampledFrom([]string{"SET", "LPUSH", "SADD"}).Draw(t, "with"), key, bytes)
	case kind == "string":
		text := do("GET", key)
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		do("SETRANGE", key, strconv.Itoa(at), bytes)
	case kind == "hash":
		field := do("HRANDFIELD", key)
		value := do("HGET", key, field)
		at := rapid.IntRange(0, len(value)).Draw(t, "at")
		value = rapid.SampledFrom([]string{value[:at], value[:at] + bytes, bytes, value + value}).Draw(t, "value")
		do("HSET", key, rapid.SampledFrom([]string{field, "0", "5"}).Draw(t, "field"), value)
	case kind == "zset":
		member := rapid.SampledFrom([]string{do("ZRANDMEMBER", key), bytes, "7"}).Draw(t, "member")
		do("ZADD", key, strconv.Itoa(rapid.IntRange(-1, 200).Draw(t, "score")), member)
	}
}
