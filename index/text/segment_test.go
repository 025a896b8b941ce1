package text

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Segments have the ids that were encoded, in order, and find each of them.
func TestSegments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := sortedIDs(rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 500), rapid.Int64Range(1, MaxID), rapid.Int64Range(1<<40, 1<<40+1000)), 1, 200).Draw(t, "ids"))
		most := rapid.SampledFrom([]int{segmentHeader + 8, segmentHeader + 40, 8176}).Draw(t, "most")
		var got []int64
		chunks := encode(ids, 0, most)
		for i, c := range chunks {
			s, err := parseSegment(c.data)
			if err != nil || len(c.data) > most {
				t.Fatalf("%d bytes: %v", len(c.data), err)
			}
			limit := int64(MaxID)
			if i+1 < len(chunks) {
				limit = chunks[i+1].base - 1
			}
			if !s.valid(c.base, limit) {
				t.Fatal("a segment is not valid")
			}
			got = slices.AppendSeq(got, s.ids)
			checkSegment(t, s)
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("%v, expected %v", got, ids)
		}
		l := listOf(ids)
		if !l.valid(0) || !slices.Equal(l.ids(), ids) {
			t.Fatalf("%v, expected %v", l.ids(), ids)
		}
	})
}

// checkSegment compares last and fill with the ids of a segment.
func checkSegment(t *rapid.T, s segment) {
	ids := slices.Collect(s.ids)
	at := rapid.SampledFrom(ids).Draw(t, "id") + rapid.Int64Range(-70, 70).Draw(t, "distance")
	want := int64(-1)
	for _, id := range ids {
		if id <= at {
			want = id
		}
	}
	if got := s.last(at); got != want {
		t.Fatalf("the last id up to %d is %d, expected %d", at, got, want)
	}
	low := max(0, at-rapid.Int64Range(0, 300).Draw(t, "width"))
	if at < low {
		return
	}
	w := newWindow(low, at)
	s.fill(w, low, at)
	var got []int64
	for id := w.last(at); id >= 0; id = w.last(id - 1) {
		got = append(got, id)
	}
	slices.Reverse(got)
	inside := slices.DeleteFunc(ids, func(id int64) bool { return id < low || id > at })
	if !slices.Equal(got, inside) {
		t.Fatalf("from %d to %d: %v, expected %v", low, at, got, inside)
	}
}

// What is not a segment neither panics nor hangs.
func FuzzSegment(f *testing.F) {
	for _, c := range encode([]int64{1, 5, 900, 1 << 40}, 0, 100) {
		f.Add(c.data, int64(5))
	}
	f.Add("b"+idBytes(64)+"\x01\x80", int64(70))
	f.Add("o"+idBytes(MaxID)+strings.Repeat("\xff", 8), int64(MaxID))
	f.Fuzz(func(t *testing.T, data string, at int64) {
		if tail, err := parseTail(data); err == nil && tail.valid() && tail.String() != data {
			t.Fatalf("%q", data)
		}
		s, err := parseSegment(data)
		if err != nil {
			return
		}
		at = max(0, min(at, MaxID))
		low := max(0, at-1000)
		w := newWindow(low, at)
		s.fill(w, low, at)
		if id := s.last(at); s.valid(0, MaxID) && id >= low && w.last(at) != id {
			t.Fatalf("%q: the last id up to %d is %d in the segment and %d in the window", data, at, id, w.last(at))
		}
	})
}
