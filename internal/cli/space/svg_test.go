package space

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"retwis/index/space"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestPicture(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), redistest.DB(t).Client(t)
	for i, dims := range []string{"x:int(0..400),y:int(0..400)", "geo", "a:float(-1..1),t:time(2020-01-01..2030-01-01),c:int(0..9)"} {
		parsed, err := space.ParseDims(dims)
		if err != nil {
			t.Fatal(err)
		}
		x, err := space.New(c, fmt.Sprint("picture", i), space.Options{Dims: parsed})
		if err != nil {
			t.Fatal(err)
		}
		least, greatest := make([]any, len(parsed)), make([]any, len(parsed))
		for d, dim := range x.Dims() {
			least[d], greatest[d] = dim.Min, dim.Max
		}
		for id, point := range map[string][]any{"least": least, "greatest": greatest} {
			if err := x.Put(ctx, id, point...); err != nil {
				t.Fatal(err)
			}
		}
		e, err := x.Explain(ctx, make(space.Box, len(parsed)))
		if err != nil {
			t.Fatal(err)
		}
		var picture bytes.Buffer
		if err := drawSVG(&picture, x, e); err != nil {
			t.Fatal(err)
		}
		elements := map[string]int{}
		for d := xml.NewDecoder(strings.NewReader(picture.String())); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", dims, err)
			}
			if s, ok := token.(xml.StartElement); ok {
				for _, a := range s.Attr {
					if a.Name.Local == "class" {
						elements[a.Value]++
					}
				}
			}
		}
		if elements["box"] != 1 || elements["in"] != 2 || elements["square"] != 2 || elements["soft"] < 10 {
			t.Errorf("%s: the picture has %v", dims, elements)
		}
		for _, odd := range []string{"NaN", "Inf", "%!"} {
			if strings.Contains(picture.String(), odd) {
				t.Errorf("%s: the picture has %s", dims, odd)
			}
		}
	}
	// A box that nothing can be in.
	dims, err := space.ParseDims("x:int(0..400),y:int(0..400)")
	if err != nil {
		t.Fatal(err)
	}
	x, err := space.New(c, "nothing", space.Options{Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	e, err := x.Explain(ctx, space.Box{{Min: 500, Max: 600}, {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := drawSVG(io.Discard, x, e); err != nil {
		t.Error(err)
	}
}
