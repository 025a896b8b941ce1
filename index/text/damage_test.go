package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/text/internal/codec"
	"retwis/internal/redistest"
	"retwis/maintain"
)

// repaired repairs an index with the documents, and fails unless all is right then.
func (m *model) repaired(t rapid.TB) {
	t.Helper()
	report, err := m.x.Repair(context.Background(), m.source(), maintain.Options{Examples: 100})
	if err != nil || report.Repaired == 0 {
		t.Fatalf("Repair: %v, %+v", err, report)
	}
	m.verify(t)
	if !m.right(t) {
		t.Fatalf("after Repair a query is wrong: %+v", report)
	}
}

// Each kind of damage is found by Verify and corrected by Repair.
func TestDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	do := func(words ...string) {
		t.Helper()
		if err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).Error(); err != nil {
			t.Fatal(words, err)
		}
	}
	get := func(words ...string) []string {
		t.Helper()
		all, err := client.Do(t.Context(), client.B().Arbitrary(words...).Build()).AsStrSlice()
		if err != nil || len(all) == 0 {
			t.Fatal(words, all, err)
		}
		return all
	}
	for name, damage := range map[string]func(n names){
		"a lost directory":            func(n names) { do("DEL", n.dir("all")) },
		"a lost segment":              func(n names) { do("HDEL", n.seg("all"), get("HKEYS", n.seg("all"))[0]) },
		"lost segments":               func(n names) { do("DEL", n.seg("all")) },
		"a lost tail":                 func(n names) { do("DEL", n.tail("all")) },
		"an odd tail":                 func(n names) { do("APPEND", n.tail("w0"), "abc") },
		"a short tail":                func(n names) { do("SET", n.tail("w0"), "12345678") },
		"an unsorted tail":            func(n names) { do("APPEND", n.tail("w1"), codec.Bytes(1)) },
		"an id too many":              func(n names) { do("APPEND", n.tail("w1"), codec.Bytes(MaxID)) },
		"a tail of another type":      func(n names) { do("DEL", n.tail("all")); do("LPUSH", n.tail("all"), "x") },
		"segments of a wrong type":    func(n names) { do("DEL", n.seg("all")); do("SET", n.seg("all"), "x") },
		"a directory of a wrong type": func(n names) { do("DEL", n.dir("all")); do("SET", n.dir("all"), "x") },
		"rare terms of a wrong type":  func(n names) { do("DEL", n.rare("u3")); do("SET", n.rare("u3"), "x") },
		"lost rare terms":             func(n names) { do("DEL", n.rare("u3")) },
		"an odd rare term":            func(n names) { do("HSET", n.rare("u3"), "u3", "abc") },
		"a rare term with a tail":     func(n names) { do("HSET", n.rare("all"), "all", codec.Bytes(2)) },
		"a rare term elsewhere":       func(n names) { do("HSET", n.rareOf((n.bucket("u3")+1)%n.rares), "u3", codec.Bytes(2)) },
		"another document's term":     func(n names) { do("HSET", n.rare("other"), "other", codec.Bytes(2)) },
		"a lost record":               func(n names) { key, field := n.ids(2); do("HDEL", key, field) },
		"lost records":                func(n names) { key, _ := n.ids(2); do("DEL", key) },
		"a damaged record":            func(n names) { key, field := n.ids(2); do("HSET", key, field, "abc") },
		"records of a wrong type":     func(n names) { key, _ := n.ids(2); do("DEL", key); do("SET", key, "x") },
		"a record of nothing":         func(n names) { key, _ := n.ids(2); do("HSET", key, "999", removed) },
		"an overlapping segment": func(n names) {
			do("ZADD", n.dir("all"), "5", "5")
			do("HSET", n.seg("all"), "5", codec.Encode([]int64{7, 900}, 5, 100)[0].Data)
		},
		"another document's id in segments without a tail": func(n names) {
			do("DEL", n.tail("=from:0"))
			do("HSET", n.seg("=from:0"), "0", codec.Encode([]int64{8, 9}, 0, 100)[0].Data)
		},
		"another document's id in segments, and a lost hash of rare terms": func(n names) {
			do("DEL", n.tail("=from:0"), n.seg("=from:0"), n.rare("=from:0"))
			do("HSET", n.seg("=from:0"), "0", codec.Encode([]int64{8, 10}, 0, 100)[0].Data)
		},
		"a segment that is too large": func(n names) { do("HSET", n.seg("all"), "0", "b"+codec.Bytes(0)+strings.Repeat("\x01", 50)) },
		"a damaged segment":           func(n names) { do("HSET", n.seg("all"), "0", "x") },
		"a wrong position":            func(n names) { do("ZADD", n.dir("all"), "3", "0") },
		"a lost list of words":        func(n names) { do("DEL", n.list) },
		"a list of a wrong type":      func(n names) { do("DEL", n.list); do("SET", n.list, "x") },
		"a word that is not there":    func(n names) { do("ZADD", n.list, "0", "1nothing") },
		"a strange key":               func(n names) { do("SET", n.prefix+"rare:x", "x") },
	} {
		m := filled(t, client, "{"+name+"}", Options{})
		damage(m.x.store.keys[0].of("0", false))
		report, err := m.x.Verify(t.Context(), m.source(), maintain.Options{})
		if err != nil || report.Problems() == 0 {
			t.Errorf("%s: %v, %+v", name, err, report)
			continue
		}
		m.right(t) // neither panics nor hangs
		if err := m.x.Put(t.Context(), 77_777, Document{Text: "all w0 w1 v3 u3"}); err == nil {
			m.documents[77_777] = Document{Text: "all w0 w1 v3 u3"}
		} else if !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		m.repaired(t)
	}
}

// Random damage: what Verify finds right is right, and Repair makes all of it right.
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
		if err != nil {
			t.Fatal(err)
		}
		right := m.right(t)
		if report.Problems() == 0 && !right {
			t.Fatal("a query is wrong, and Verify finds nothing")
		}
		if report.Problems() > 0 {
			m.repaired(t)
		}
	})
}

// damageKey changes a random key.
func damageKey(t *rapid.T, client rueidis.Client, x *Index) {
	ctx := context.Background()
	do := func(words ...string) string {
		text, _ := client.Do(ctx, client.B().Arbitrary(words...).Build()).ToString()
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
