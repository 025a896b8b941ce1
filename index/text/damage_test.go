package text

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/index/text/internal/codec"
	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
)

// repaired repairs an index from the documents, or rebuilds the index if Repair requires it. It
// fails the test unless all results are correct afterwards.
func (m *model) repaired(t rapid.TB) {
	t.Helper()
	report, err := m.x.Repair(context.Background(), m.source(), maintain.Options{Examples: 100})
	switch {
	case errors.Is(err, index.ErrCorrupt) && strings.Contains(err.Error(), "use Rebuild") || errors.Is(err, index.ErrNotFound):
		if _, err := m.x.Rebuild(context.Background(), *m.source(), maintain.Options{}); err != nil {
			t.Fatalf("Rebuild: %v", err)
		}
	case err != nil || report.Repaired == 0:
		t.Fatalf("Repair: %v, %+v", err, report)
	}
	m.verify(t)
	if !m.correct(t) {
		t.Fatalf("a query returns wrong results after Repair: %+v", report)
	}
}

// Verify finds each kind of damage, and Repair or Rebuild corrects it.
func TestDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	do := func(args ...string) {
		t.Helper()
		require.OK(t)(client.Do(t.Context(), client.B().Arbitrary(args...).Build()).Error())
	}
	get := func(args ...string) []string {
		t.Helper()
		all, err := client.Do(t.Context(), client.B().Arbitrary(args...).Build()).AsStrSlice()
		if err != nil || len(all) == 0 {
			t.Fatalf("%q: %q, %v, want a reply", args, all, err)
		}
		return all
	}
	kinds := map[string]func(n names){
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
		"a word listed wrongly":       func(n names) { do("ZADD", n.list, "0", "7all") },
		"a strange key":               func(n names) { do("SET", n.prefix+"rare:x", "x") },
	}
	some := []string{ // at least one case for each kind of key
		"a lost segment", "a lost tail", "an unsorted tail", "lost rare terms", "another document's term",
		"a damaged record", "a record of nothing", "a damaged segment", "a lost list of words", "a strange key",
	}
	for _, name := range redistest.Cases(some, slices.Sorted(maps.Keys(kinds))) {
		m := filled(t, client, "{"+name+"}", Options{})
		kinds[name](m.x.store.keys[0].forGeneration("0", false))
		report, err := m.x.Verify(t.Context(), m.source(), maintain.Options{})
		if err != nil || report.Problems() == 0 {
			t.Errorf("%s: Verify: %v, %+v, want problems", name, err, report)
			continue
		}
		if again, err := m.x.Verify(t.Context(), m.source(), maintain.Options{}); err != nil || again.Problems() != report.Problems() {
			t.Errorf("%s: second Verify: %v, %+v, want %+v", name, err, again, report)
		}
		m.correct(t) // must not panic or hang
		if err := m.x.Put(t.Context(), 77_777, Document{Text: "all w0 w1 v3 u3"}); err == nil {
			m.documents[77_777] = Document{Text: "all w0 w1 v3 u3"}
		} else if !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("%s: Put: %v, want nil or ErrCorrupt", name, err)
		}
		m.repaired(t)
	}
}
