package hll

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A sketch counts what PFCOUNT counts, alone and merged, in both encodings.
func TestCountsAsTheServer(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx, b := t.Context(), client.B()
	var union Sketch
	var keys []string
	total := 0
	for _, n := range []int{0, 1, 2, 5, 40, 300, 3_000, 50_000} {
		key := "people:" + strconv.Itoa(n)
		keys = append(keys, key)
		for first := 0; first < n; first += 1000 {
			var elements []string
			for i := first; i < min(n, first+1000); i++ {
				elements = append(elements, strconv.Itoa(total+i/2)) // each twice
			}
			if err := client.Do(ctx, b.Pfadd().Key(key).Element(elements...).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
		total += n / 4 // sets overlap
		var stored string
		if n > 0 {
			var err error
			if stored, err = client.Do(ctx, b.Get().Key(key).Build()).ToString(); err != nil {
				t.Fatal(err)
			}
		}
		var one Sketch
		for what, c := range map[string]struct {
			sketch *Sketch
			keys   []string
		}{"alone": {&one, []string{key}}, "merged": {&union, keys}} {
			if err := c.sketch.Merge(stored); err != nil {
				t.Fatal(err)
			}
			want, err := client.Do(ctx, b.Pfcount().Key(c.keys...).Build()).AsInt64()
			if got := c.sketch.Count(); err != nil || math.Abs(got-float64(want)) > 0.500001 {
				t.Errorf("%d elements, %s: %g, want %d (%v)", n, what, got, want, err)
			}
		}
	}
}

func TestMergeRefusesOtherStrings(t *testing.T) {
	t.Parallel()
	header := "HYLL\x01" + strings.Repeat("\x00", 11)
	for name, stored := range map[string]string{
		"a text": "hello, this is no sketch", "a short one": "HYLL", "no registers": header,
		"another encoding": "HYLL\x02" + strings.Repeat("\x00", 11), "half a run": header + "\x40",
		"too many": header + "\x7f\xff\x80", "too few": header + "\x7f\xfe",
		"a short dense one": "HYLL\x00" + strings.Repeat("\x00", 11+100),
	} {
		if err := new(Sketch).Merge(stored); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := new(Sketch).Merge(header + "\x7f\xff"); err != nil {
		t.Error(err)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("HYLL\x01" + strings.Repeat("\x00", 11) + "\x7f\xff")
	f.Add("HYLL\x00" + strings.Repeat("\x00", 11+registers*bits/8))
	f.Fuzz(func(t *testing.T, stored string) {
		var s Sketch
		if s.Merge(stored) == nil && (math.IsNaN(s.Count()) || s.Count() < 0) {
			t.Fatal(s.Count())
		}
	})
}
