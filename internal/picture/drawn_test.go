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

// Ten thousand names have distinct, small pictures. A sample of the pictures has no id or style
// attributes, which could conflict with the page.
func TestDrawnIsDistinct(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{}
	longest := 0
	for i := range 10_000 {
		name := fmt.Sprint("user", i)
		svg := Drawn(name)
		sum := sha256.Sum256(svg)
		if other, found := seen[sum]; found {
			t.Errorf("%s and %s have the same picture", name, other)
		}
		seen[sum] = name
		longest = max(longest, len(svg))
		if i%100 > 0 {
			continue
		}
		if !bytes.Equal(svg, Drawn(strings.ToUpper(name))) {
			t.Errorf("%s has another picture in capitals", name)
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
						t.Errorf("the picture of %s has the attribute %s", name, attr.Name.Local)
					}
				}
			}
		}
	}
	if longest > 1000 {
		t.Errorf("the longest picture has %d bytes, want at most 1000", longest)
	}
}
