package schema

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Unpack is the inverse of Pack, and does not panic on arbitrary bytes.
func TestUnpack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		x := &Index{Number: rapid.IntRange(1, 1<<40).Draw(r, "number")}
		due := rapid.Int64Range(0, 253402300799999).Draw(r, "due")
		var entries []Entry
		var want []IndexValue
		for range rapid.IntRange(0, 40).Draw(r, "entries") {
			value := strings.Repeat("v", rapid.IntRange(0, MaxIndexed).Draw(r, "length"))
			entries, want = append(entries, Entry{x, value}), append(want, IndexValue{x.Number, value})
		}
		c := Pack(due, entries)
		gotDue, got, err := Unpack(c)
		if err != nil || gotDue != due || !slices.Equal(got, want) {
			r.Fatalf("Unpack = %d, %v, %v; want %d, %v", gotDue, got, err, due, want)
		}
		cut := rapid.IntRange(0, len(c)-1).Draw(r, "cut")
		if _, _, err := Unpack(c[:cut]); err == nil {
			r.Fatalf("Unpack accepts the truncated content %q", c[:cut])
		}
		_, _, _ = Unpack(Content(rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")))
		_, _, _ = Unpack(c[:cut] + Content(rapid.SliceOf(rapid.Byte()).Draw(r, "more bytes")))
	})
}
