package codec

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Segments contain the encoded IDs in order. Last and Fill find the IDs.
func TestSegments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := Sorted(rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 500), rapid.Int64Range(1, MaxID), rapid.Int64Range(1<<40, 1<<40+1000)), 1, 200).Draw(t, "ids"))
		maxSize := rapid.SampledFrom([]int{SegmentHeader + 8, SegmentHeader + 40, 8176}).Draw(t, "max size")
		var got []int64
		chunks := Encode(ids, 0, maxSize)
		for i, c := range chunks {
			s, err := ParseSegment(c.Data)
			if err != nil || len(c.Data) > maxSize {
				t.Fatalf("a segment of %d bytes, want at most %d: %v", len(c.Data), maxSize, err)
			}
			limit := int64(MaxID)
			if i+1 < len(chunks) {
				limit = chunks[i+1].Base - 1
			}
			if !s.Valid(c.Base, limit) {
				t.Fatalf("the segment %q is not valid", c.Data)
			}
			got = slices.AppendSeq(got, s.IDs)
			checkSegment(t, s)
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("segments contain %v, want %v", got, ids)
		}
		l := ListOf(ids)
		if !l.Valid(0) || !slices.Equal(l.IDs(), ids) {
			t.Fatalf("the list contains %v, want %v", l.IDs(), ids)
		}
	})
}

// checkSegment compares Last and Fill with the ids of a segment.
func checkSegment(t *rapid.T, s Segment) {
	ids := slices.Collect(s.IDs)
	at := rapid.SampledFrom(ids).Draw(t, "id") + rapid.Int64Range(-70, 70).Draw(t, "distance")
	want := int64(-1)
	for _, id := range ids {
		if id <= at {
			want = id
		}
	}
	if got := s.Last(at); got != want {
		t.Fatalf("the last ID up to %d is %d, want %d", at, got, want)
	}
	low := max(0, at-rapid.Int64Range(0, 300).Draw(t, "width"))
	if at < low {
		return
	}
	w := NewWindow(low, at)
	s.Fill(w, low, at)
	var got []int64
	for id := w.Last(at); id >= 0; id = w.Last(id - 1) {
		got = append(got, id)
	}
	slices.Reverse(got)
	inside := slices.DeleteFunc(ids, func(id int64) bool { return id < low || id > at })
	if !slices.Equal(got, inside) {
		t.Fatalf("IDs from %d to %d: %v, want %v", low, at, got, inside)
	}
}

// Invalid segments cause neither a panic nor an endless loop.
func FuzzSegment(f *testing.F) {
	for _, c := range Encode([]int64{1, 5, 900, 1 << 40}, 0, 100) {
		f.Add(c.Data, int64(5))
	}
	f.Add("b"+Bytes(64)+"\x01\x80", int64(70))
	f.Add("o"+Bytes(MaxID)+strings.Repeat("\xff", 8), int64(MaxID))
	f.Fuzz(func(t *testing.T, data string, at int64) {
		if tail, err := ParseTail(data); err == nil && tail.Valid() && tail.String() != data {
			t.Fatalf("the tail %q is formatted as %q", data, tail.String())
		}
		s, err := ParseSegment(data)
		if err != nil {
			return
		}
		at = max(0, min(at, MaxID))
		low := max(0, at-1000)
		w := NewWindow(low, at)
		s.Fill(w, low, at)
		if id := s.Last(at); s.Valid(0, MaxID) && id >= low && w.Last(at) != id {
			t.Fatalf("%q: the last ID up to %d is %d in the segment and %d in the window", data, at, id, w.Last(at))
		}
	})
}
