package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"
)

// Ten thousand names have ten thousand pictures, small and without what could collide or
// run in a page.
func TestDrawnIsDistinct(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{}
	longest := 0
	for i := range 10_000 {
		name := fmt.Sprint("user", i)
		svg := Drawn(name)
		sum := sha256.Sum256(svg)
		if other, found := seen[sum]; found {
			t.Errorf("%s looks like %s", name, other)
		}
		seen[sum] = name
		longest = max(longest, len(svg))
		if i%100 > 0 {
			continue
		}
		if !bytes.Equal(svg, Drawn(strings.ToUpper(name))) {
			t.Errorf("%s looks different in capitals", name)
		}
		parse := xml.NewDecoder(bytes.NewReader(svg))
		for {
			token, err := parse.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if element, ok := token.(xml.StartElement); ok {
				for _, attr := range element.Attr {
					if attr.Name.Local == "id" || attr.Name.Local == "style" {
						t.Errorf("%s has a %s", name, attr.Name.Local)
					}
				}
			}
		}
	}
	if longest > 1000 {
		t.Errorf("%d bytes", longest)
	}
}

// The PNG is the same when it is turned by half, as the shapes are.
func TestDrawnPNG(t *testing.T) {
	t.Parallel()
	for i := range 50 {
		name := fmt.Sprint("user", i)
		img, err := png.Decode(bytes.NewReader(DrawnPNG(name, side)))
		if err != nil || img.Bounds().Dx() != side {
			t.Fatal(err)
		}
		for y := tile / 2; y < side; y += tile {
			for x := tile / 2; x < side; x += tile {
				r, g, b, _ := img.At(x, y).RGBA()
				ar, ag, ab, _ := img.At(side-1-x, side-1-y).RGBA()
				if abs(int(r>>8)-int(ar>>8)) > 9 || abs(int(g>>8)-int(ag>>8)) > 9 || abs(int(b>>8)-int(ab>>8)) > 9 {
					t.Errorf("%s is not the same at %d, %d when turned by half", name, x, y)
				}
			}
		}
	}
}
