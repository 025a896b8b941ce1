package space

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"testing"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/require"
)

// offline returns an index without a server.
func offline(t rapid.TB, dims string) *Index {
	t.Helper()
	d, err := ParseDims(dims)
	require.OK(t)(err)
	x, err := New(offlineClient{}, "points", Options{Dims: d})
	require.OK(t)(err)
	return x
}

type offlineClient struct{ rueidis.Client }

func (offlineClient) Mode() rueidis.ClientMode { return rueidis.ClientModeStandalone }

// The point in the middle of the tutorial's box.
func TestTutorialBits(t *testing.T) {
	t.Parallel()
	x := offline(t, "x:int(0..400),y:int(0..400)")
	codes, err := x.reader.points.codes([]any{75, 200})
	got := x.reader.points.layout.text(x.reader.points.layout.interleave(codes))
	if want := "000111000011001010"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	m, err := x.reader.points.member("90", []any{75, 200})
	if want := "\x00\x70\xca90"; err != nil || m != want {
		t.Errorf("the member is %q, %v, want %q", m, err, want)
	}
	// The squares in which the last 2, 4, 6 and 8 bits are free.
	for _, c := range []struct {
		free           int
		x0, x1, y0, y1 uint64
	}{{2, 74, 75, 200, 201}, {4, 72, 75, 200, 203}, {6, 72, 79, 200, 207}, {8, 64, 79, 192, 207}} {
		z := x.reader.points.layout.interleave([]uint64{75, 200})
		low, high := make([]uint64, 2), make([]uint64, 2)
		x.reader.points.layout.deinterleave(low, []uint64{z[0] &^ lowBits(c.free)})
		x.reader.points.layout.deinterleave(high, []uint64{z[0] | lowBits(c.free)})
		if got := [4]uint64{low[0], high[0], low[1], high[1]}; got != [4]uint64{c.x0, c.x1, c.y0, c.y1} {
			t.Errorf("%d free bits: got %v, want %v", c.free, got, [4]uint64{c.x0, c.x1, c.y0, c.y1})
		}
	}
}

// anySpans generates the largest codes of up to limit dimensions of all widths.
func anySpans(limit int) *rapid.Generator[[]uint64] {
	return rapid.Custom(func(t *rapid.T) []uint64 {
		spans := make([]uint64, rapid.IntRange(1, limit).Draw(t, "n"))
		for i := range spans {
			spans[i] = rapid.Uint64Min(1).Draw(t, "span")>>rapid.IntRange(0, 63).Draw(t, "narrower") | 1
		}
		return spans
	})
}

// anyCodes draws a code of each dimension.
func anyCodes(t *rapid.T, spans []uint64) []uint64 {
	codes := make([]uint64, len(spans))
	for i, s := range spans {
		codes[i] = rapid.OneOf(rapid.Uint64Range(0, s), rapid.Just(s), rapid.Just(uint64(0))).Draw(t, "code")
	}
	return codes
}

// naiveInterleave interleaves codes, bit by bit as defined.
func naiveInterleave(spans, codes []uint64) string {
	var text []byte
	for level := range 64 {
		for d, s := range spans {
			if width := bits.Len64(s); level < width {
				text = append(text, '0'+byte(codes[d]>>(width-1-level)&1))
			}
		}
	}
	return string(text)
}

func TestWeave(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spans := anySpans(16).Draw(t, "spans")
		l := newLayout(spans)
		a, b := anyCodes(t, spans), anyCodes(t, spans)
		za, zb := l.interleave(a), l.interleave(b)
		if got, want := l.text(za), naiveInterleave(spans, a); got != want {
			t.Fatalf("%v of %v: got %s, want %s", a, spans, got, want)
		}
		decoded := make([]uint64, len(spans))
		if l.deinterleave(decoded, za); !slices.Equal(decoded, a) {
			t.Fatalf("%v is decoded as %v", a, decoded)
		}
		bytesA, bytesB := l.append(nil, za), l.append(nil, zb)
		if len(bytesA) != (len(l.bits)+7)/8 {
			t.Fatalf("%d bits in %d bytes", len(l.bits), len(bytesA))
		}
		if got, want := bytes.Compare(bytesA, bytesB), cmp.Compare(naiveInterleave(spans, a), naiveInterleave(spans, b)); got != want {
			t.Fatalf("the order of %v and %v is %d, want %d", a, b, got, want)
		}
		z := make([]uint64, l.words)
		if l.read(z, string(bytesA)+"id"); !slices.Equal(z, za) {
			t.Fatalf("%v is read as %v", za, z)
		}

		low, high := make([]uint64, len(a)), make([]uint64, len(a))
		inside := true
		c := anyCodes(t, spans)
		for d := range a {
			low[d], high[d] = min(a[d], b[d]), max(a[d], b[d])
			inside = inside && c[d] >= low[d] && c[d] <= high[d]
		}
		if got := l.within(l.interleave(c), l.interleave(low), l.interleave(high)); got != inside {
			t.Fatalf("%v within %v..%v: %v, want %v", c, low, high, got, inside)
		}
	})
}
