package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Ten thousand names have ten thousand distinct pictures, small and without anything that could
// collide or execute in a page.
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
