package space

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"retwis/index"
	"retwis/internal/redistest"
)

// The squares of a range are the cells that it consists of, next to each other.
func TestSquares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spans := anySpans(16).Draw(t, "spans")
		l := newLayout(spans)
		a, b := l.interleave(anyCodes(t, spans)), l.interleave(anyCodes(t, spans))
		if slices.Compare(a, b) > 0 {
			a, b = b, a
		}
		n := 0
		length := 0.0
		last := slices.Clone(a)
		for first, free := range l.squares(a, b) {
			if trailingZeros(first) < free {
				t.Fatalf("%v is not a cell of %d bits", first, free)
			}
			if n > 0 {
				next := slices.Clone(last)
				for i := len(next) - 1; i >= 0; i-- {
					if next[i]++; next[i] != 0 {
						break
					}
				}
				if !slices.Equal(next, first) {
					t.Fatalf("%v comes after %v", first, last)
				}
			} else if !slices.Equal(first, a) {
				t.Fatalf("the first is %v, not %v", first, a)
			}
			copy(last, first)
			for i := range last {
				last[i] |= lowBits(free - 64*(l.words-1-i))
			}
			if free < len(l.bits) && trailingZeros(first) > free {
				twice := slices.Clone(first)
				for i := range twice {
					twice[i] |= lowBits(free + 1 - 64*(l.words-1-i))
				}
				if slices.Compare(twice, b) <= 0 {
					t.Fatalf("a cell of %d bits at %v could be greater", free, first)
				}
			}
			length += l.length(first, last)
			n++
		}
		if want := l.length(a, b); !slices.Equal(last, b) || length < want*(1-1e-9) || length > want*(1+1e-9) {
			t.Fatalf("%d squares end at %v, not %v", n, last, b)
		}
	})
}

// A Plane has the box, the squares and the points.
func TestPlane(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	for i, dims := range []string{"x:int(0..400),y:int(0..400)", "geo", "a:float(-1..1),t:time(2020-01-01..2030-01-01),c:int(0..9)"} {
		x := newIndex(t, c, fmt.Sprint("plane", i), dims, Options{})
		box := make(Box, len(x.reader.points.axes))
		for n := range 200 {
			values := make([]any, len(x.reader.points.axes))
			for d := range values {
				p := place{code: x.reader.points.axes[d].span / 200 * uint64(n*(d+3)%200)}
				if x.reader.points.axes[d].Type == Float {
					values[d] = float64(n)/100 - 1
				} else {
					values[d] = x.reader.points.axes[d].value(p)
				}
				box[d] = Side{x.reader.points.axes[d].Min, nil}
			}
			if err := x.Put(ctx, fmt.Sprint(n), values...); err != nil {
				t.Fatal(err)
			}
		}
		e, err := x.Explain(ctx, box)
		if err != nil {
			t.Fatal(err)
		}
		if e.Returned != 200 || len(e.Ranges) != 1 || e.FalsePositives() != 0 || e.Expected != 0 {
			t.Errorf("%s: %d returned of %d, %d ranges, expected %v", dims, e.Returned, e.Read, len(e.Ranges), e.Expected)
		}
		p, err := e.Plane(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		area := 0.0
		for r := range p.Squares() {
			area += (r.Right - r.Left) * (r.Top - r.Bottom)
			if r.Left < 0 || r.Right > p.Across.Size*2 || r.Bottom < 0 || r.Left >= r.Right || r.Bottom >= r.Top {
				t.Fatalf("%s: a square is %+v", dims, r)
			}
		}
		if box := (p.Boxes[0].Right - p.Boxes[0].Left) * (p.Boxes[0].Top - p.Boxes[0].Bottom); area < box*(1-1e-9) {
			t.Errorf("%s: the squares have the area %g, the box %g", dims, area, box)
		}
		if len(p.Inside) != 200 || len(p.Outside) != 0 || len(p.Sample) != 200 || p.Inside[0].Across < p.Boxes[0].Left || p.Inside[0].Across > p.Boxes[0].Right {
			t.Errorf("%s: %d inside, %d outside, %d sampled", dims, len(p.Inside), len(p.Outside), len(p.Sample))
		}
		if first, last := p.Up.Value(0), p.Up.Value(p.Up.Size); fmt.Sprint(first, last) != fmt.Sprint(p.Up.Min, p.Up.Max) {
			t.Errorf("%s: up from %v to %v, expected %v to %v", dims, first, last, p.Up.Min, p.Up.Max)
		}
	}
	line := newIndex(t, c, "line", "x:int(0..9)", Options{})
	e, err := line.Explain(ctx, Box{{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Plane(0, 1); !errors.Is(err, index.ErrValue) {
		t.Errorf("a plane of a line: %v", err)
	}
	// Nothing there, and nothing that could be.
	for _, box := range []Box{{{500, 600}, {}}, {{7, 7}, {7, 7}}} {
		x := newIndex(t, c, "nothing", "x:int(0..400),y:int(0..400)", Options{})
		e, err := x.Explain(ctx, box)
		if err != nil || e.Read != 0 || e.FalsePositives() != 0 {
			t.Errorf("%+v, %v", e, err)
		}
		if p, err := e.Plane(0, 1); err != nil || len(p.Inside) != 0 {
			t.Error(p, err)
		}
	}
}
