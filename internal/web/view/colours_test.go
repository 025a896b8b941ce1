package view

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The contrast of text is that of WCAG AA, 4.5 to 1, in both schemes.
func TestContrast(t *testing.T) {
	t.Parallel()
	light, dark := schemes(t)
	for name, vars := range map[string]map[string]string{"light": light, "dark": dark} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]string{
				{"text", "page"},
				{"text", "card"},
				{"quiet", "page"},
				{"quiet", "card"},
				{"accent", "page"},
				{"accent", "card"},
				{"accent", "soft"},
				{"accent-text", "accent"},
				{"wrong", "card"},
				{"like", "card"},
				{"like", "soft"},
				{"text", "soft"},
				{"wrong", "soft"},
			} {
				if got := contrast(hexColour(t, vars[pair[0]]), hexColour(t, vars[pair[1]])); got < 4.5 {
					t.Errorf("--%s on --%s: %.2f to 1", pair[0], pair[1], got)
				}
			}
		})
	}
}

var property = regexp.MustCompile(`--([a-z-]+): ([^;]+);`)

func sheet(t *testing.T) string {
	t.Helper()
	css, err := os.ReadFile("../static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	return string(css)
}

// schemes are the custom properties of both colour schemes.
func schemes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	blocks := strings.SplitN(sheet(t), ":root {", 3)
	if len(blocks) != 3 {
		t.Fatal("the stylesheet has not two blocks of colours")
	}
	read := func(block string) map[string]string {
		vars := map[string]string{}
		block, _, _ = strings.Cut(block, "}")
		for _, found := range property.FindAllStringSubmatch(block, -1) {
			vars[found[1]] = found[2]
		}
		return vars
	}
	return read(blocks[1]), read(blocks[2])
}

// colour is red, green and blue, from 0 to 1.
type colour [3]float64

func hexColour(t *testing.T, text string) colour {
	t.Helper()
	var r, g, b uint8
	if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &r, &g, &b); err != nil {
		t.Fatalf("%q is no colour: %v", text, err)
	}
	return colour{float64(r) / 255, float64(g) / 255, float64(b) / 255}
}

// contrast is the ratio that WCAG 2 defines, from 1 to 21.
func contrast(a, b colour) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c colour) float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
