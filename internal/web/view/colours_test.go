package view

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The contrast of text is at least that of WCAG AA, 4.5:1, in both color schemes.
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
				{"accent-text", "accent-strong"},
				{"danger", "card"},
				{"danger", "page"},
				{"like", "card"},
				{"text", "soft"},
				{"warn", "warn-soft"},
				{"text", "marked"},
			} {
				if got := contrast(hexColour(t, vars[pair[0]]), hexColour(t, vars[pair[1]])); got < 4.5 {
					t.Errorf("--%s on --%s: contrast %.2f, want at least 4.5", pair[0], pair[1], got)
				}
			}
		})
	}
}

func sheet(t *testing.T) string {
	t.Helper()
	css, err := os.ReadFile("../static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	return string(css)
}

var colourToken = regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)

// schemes returns the colors of both color schemes.
func schemes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	light, dark = map[string]string{}, map[string]string{}
	for _, found := range colourToken.FindAllStringSubmatch(sheet(t), -1) {
		light[found[1]], dark[found[1]] = found[2], found[3]
	}
	return light, dark
}

// Colors, text sizes, distances and radii are set by tokens only.
func TestTokens(t *testing.T) {
	t.Parallel()
	css := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(sheet(t), "")
	_, css, _ = strings.Cut(css, "\n}\n") // skip the definitions of the tokens
	declaration := regexp.MustCompile(`([a-z-]+):\s*([^;{}]+);`)
	token := regexp.MustCompile(`var\(--[a-z0-9-]+\)|calc\([^;]*\)|max\([^;]*\)|min\([^;]*\)|env\([^)]*\)`)
	literal := regexp.MustCompile(`[0-9.]+(px|rem|em)\b`)
	colour := regexp.MustCompile(`#[0-9a-f]{3,8}\b|\b(rgb|hsl)a?\(`)
	n := 0
	for _, found := range declaration.FindAllStringSubmatch(css, -1) {
		name, value := found[1], found[2]
		n++
		if colour.MatchString(value) && !strings.HasPrefix(name, "--") && name != "page" && name != "quiet" {
			t.Errorf("%s: %s: the colour is not a token", name, value)
		}
		rest := token.ReplaceAllString(value, "")
		switch {
		case name == "font-size" && literal.MatchString(rest):
			t.Errorf("%s: %s: the size is not a token", name, value)
		case strings.HasSuffix(name, "radius") && literal.MatchString(rest):
			t.Errorf("%s: %s: the radius is not a token", name, value)
		case name == "gap", strings.HasPrefix(name, "padding"), strings.HasPrefix(name, "margin"):
			for _, literalValue := range literal.FindAllString(rest, -1) {
				if !strings.HasSuffix(literalValue, "em") || strings.HasSuffix(literalValue, "rem") {
					if literalValue != "2px" && literalValue != "5rem" && literalValue != "5.5rem" {
						t.Errorf("%s: %s: the distance %s is not a token", name, value, literalValue)
					}
				}
			}
		}
	}
	if n < 300 {
		t.Fatalf("%d declarations, want at least 300", n)
	}
}

// colour holds red, green and blue, from 0 to 1.
type colour [3]float64

func hexColour(t *testing.T, text string) colour {
	t.Helper()
	var r, g, b uint8
	if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &r, &g, &b); err != nil {
		t.Fatalf("%q is not a colour: %v", text, err)
	}
	return colour{float64(r) / 255, float64(g) / 255, float64(b) / 255}
}

// contrast returns the contrast ratio defined by WCAG 2, from 1 to 21.
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
