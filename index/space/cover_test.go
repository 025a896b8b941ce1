package space

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// piecesIn returns the pieces of the curve within a box. It checks every number of the curve.
func piecesIn(l *layout, low, high []uint64) [][2]uint64 {
	var all [][2]uint64
	codes := make([]uint64, len(low))
	for z := range uint64(1) << len(l.bits) {
		l.deinterleave(codes, []uint64{z})
		inside := true
		for d := range codes {
			inside = inside && codes[d] >= low[d] && codes[d] <= high[d]
		}
		switch n := len(all); {
		case !inside:
		case n > 0 && all[n-1][1] == z-1:
			all[n-1][1] = z
		default:
			all = append(all, [2]uint64{z, z})
		}
	}
	return all
}

// The ranges of cover contain the box, and read at most 2% more numbers than necessary.
func TestCoverIsOptimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		widths := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 3).Draw(t, "widths")
		spans := make([]uint64, len(widths))
		for d, w := range widths {
			spans[d] = 1<<w - 1
		}
		l := newLayout(spans)
		a, b := anyCodes(t, spans), anyCodes(t, spans)
		low, high := make([]uint64, len(a)), make([]uint64, len(a))
		for d := range a {
			low[d], high[d] = min(a[d], b[d]), max(a[d], b[d])
		}
		n := rapid.IntRange(1, 40).Draw(t, "n")
		pieces := piecesIn(&l, low, high)
		var gaps []uint64
		for i := 1; i < len(pieces); i++ {
			gaps = append(gaps, pieces[i][0]-pieces[i-1][1]-1)
		}
		slices.Sort(gaps)
		minimum := uint64(0) // of the numbers that n ranges must read
		for _, p := range pieces {
			minimum += p[1] - p[0] + 1
		}
		for i := range max(0, len(gaps)-(n-1)) {
			minimum += gaps[i]
		}

		ranges := l.cover(low, high, n)
		if len(ranges) > n {
			t.Fatalf("%d ranges, want at most %d", len(ranges), n)
		}
		total, end := uint64(0), uint64(0)
		for i, s := range ranges {
			from, to := s.low[0], s.high[0]
			if to < from || i > 0 && from <= end {
				t.Fatalf("the ranges are not in ascending order: %v", ranges)
			}
			end = to
			total += to - from + 1
			if !slices.ContainsFunc(pieces, func(p [2]uint64) bool { return p[0] == from || from > p[0] && from <= p[1] }) {
				t.Fatalf("the range %d..%d does not begin in the box", from, to)
			}
		}
		for _, p := range pieces {
			if !slices.ContainsFunc(ranges, func(s span) bool { return s.low[0] <= p[0] && s.high[0] >= p[1] }) {
				t.Fatalf("the piece %v is in none of the ranges %v", p, ranges)
			}
		}
		if total > minimum+uint64(float64(minimum)*0.02) {
			t.Fatalf("%d ranges read %d numbers, the minimum is %d", len(ranges), total, minimum)
		}
	})
}

// For boxes of any number of dimensions and any width, every point in the box is in a range.
func TestCoverContainsBox(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spans := anySpans(16).Draw(t, "spans")
		l := newLayout(spans)
		a, b := anyCodes(t, spans), anyCodes(t, spans)
		low, high := make([]uint64, len(a)), make([]uint64, len(a))
		for d := range a {
			low[d], high[d] = min(a[d], b[d]), max(a[d], b[d])
		}
		ranges := l.cover(low, high, 32)
		if len(ranges) > 32 {
			t.Fatalf("%d ranges, want at most 32", len(ranges))
		}
		for i, s := range ranges {
			if slices.Compare(s.low, s.high) > 0 || i > 0 && slices.Compare(ranges[i-1].high, s.low) >= 0 {
				t.Fatalf("range %d is not in ascending order: %v..%v", i, s.low, s.high)
			}
		}
		for range 20 {
			c := make([]uint64, len(a))
			for d := range c {
				c[d] = rapid.Uint64Range(low[d], high[d]).Draw(t, "code")
			}
			z := l.interleave(c)
			if !slices.ContainsFunc(ranges, func(s span) bool { return slices.Compare(s.low, z) <= 0 && slices.Compare(z, s.high) <= 0 }) {
				t.Fatalf("%v is in no range", c)
			}
		}
	})
}

// tutorialSquares implements the tutorial's method: equal squares with sides of 2^exp, and one
// range per square.
func tutorialSquares(l *layout, low, high []uint64, exp int) (names []string, ranges [][2]string) {
	for x := low[0] >> exp; x <= high[0]>>exp; x++ {
		for y := low[1] >> exp; y <= high[1]>>exp; y++ {
			first := l.interleave([]uint64{x << exp, y << exp})
			last := []uint64{first[0] | lowBits(2*exp)}
			names = append(names, fmt.Sprintf("%d,%d", x, y))
			ranges = append(ranges, [2]string{l.text(first), l.text(last)})
		}
	}
	return names, ranges
}

// The tutorial's box 50,100..100,300, and the squares of 64 that it visits.
func TestTutorialBox(t *testing.T) {
	t.Parallel()
	x := offline(t, "x:int(0..400),y:int(0..400)")
	low, high := []uint64{50, 100}, []uint64{100, 300}
	names, squares := tutorialSquares(&x.reader.points.layout, low, high, 6)
	if want := []string{"0,1", "0,2", "0,3", "0,4", "1,1", "1,2", "1,3", "1,4"}; !slices.Equal(names, want) {
		t.Errorf("got the squares %v, want %v", names, want)
	}
	for i, want := range map[int][2]string{
		0: {"000001000000000000", "000001111111111111"},
		5: {"000110000000000000", "000110111111111111"},
		7: {"010010000000000000", "010010111111111111"},
	} {
		if squares[i] != want {
			t.Errorf("square %s: got %v, want %v", names[i], squares[i], want)
		}
	}
	// The same number of ranges from cover reads a third less.
	read := 0.0
	for _, s := range x.reader.points.layout.cover(low, high, 8) {
		read += s.length
	}
	squaresRead := read / x.reader.points.layout.length([]uint64{0}, []uint64{lowBits(12)})
	if squaresRead > 8*0.67 {
		t.Errorf("8 ranges read as much as %.1f squares, want at most %.1f", squaresRead, 8*0.67)
	}
}

func BenchmarkCover(b *testing.B) {
	for _, c := range []struct {
		name      string
		spans     []uint64
		low, high []uint64
	}{
		{"square", []uint64{1<<28 - 1, 1<<28 - 1}, []uint64{12345678, 98765432}, []uint64{22345678, 108765432}},
		{"thin", []uint64{1<<28 - 1, 1<<28 - 1}, []uint64{12345678, 98765432}, []uint64{112345678, 98865432}},
		{"cube", []uint64{1<<20 - 1, 1<<20 - 1, 1<<20 - 1}, []uint64{123456, 234567, 345678}, []uint64{223456, 334567, 445678}},
		{"sixteen", slices.Repeat([]uint64{1<<64 - 1}, 16), slices.Repeat([]uint64{1 << 60}, 16), slices.Repeat([]uint64{1<<63 + 12345}, 16)},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := newLayout(c.spans)
			for range b.N {
				l.cover(c.low, c.high, 32)
			}
		})
	}
}
