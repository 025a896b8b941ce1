package search

import (
	"math"
	"testing"
	"time"
)

// Weights are continuous from one hour to the next, and halve after halfLife hours.
func TestWeights(t *testing.T) {
	t.Parallel()
	for ago := range 20 {
		end, start := clock{part: 1}.weight(ago), clock{part: 0}.weight(ago+1)
		if math.Abs(end-start) > 1e-9 {
			t.Errorf("%d hours ago: %g at the end of an hour, %g at the beginning of the next", ago, end, start)
		}
		at := clock{part: 0.3}
		if got := at.weight(ago+1+halfLife) / at.weight(ago+1); math.Abs(got-0.5) > 1e-9 {
			t.Errorf("ratio of weights after a half-life: %g, want 0.5", got)
		}
	}
	at := clockAt(time.Unix(7200+900, 0), 2)
	if at.part != 0.25 {
		t.Errorf("part at a quarter past the hour: %g, want 0.25", at.part)
	}
}

// TestScore compares the scores of pairs of subjects.
func TestScore(t *testing.T) {
	t.Parallel()
	at := clock{part: 0.5}
	scoreOf := func(change func(c *counts)) float64 {
		var c counts
		change(&c)
		return score(c.roughWeight(at), c.weightedBefore(at))
	}
	every := func(n float64) func(c *counts) {
		return func(c *counts) {
			for ago := range c {
				c[ago] = n
			}
			c[0] *= at.part
		}
	}
	for _, c := range []struct {
		name             string
		greater, smaller func(c *counts)
	}{
		{"more people", func(c *counts) { c[1] = 40 }, func(c *counts) { c[1] = 20 }},
		{"more recent", func(c *counts) { c[0] = 20 }, func(c *counts) { c[6] = 20 }},
		{"new, and constantly popular", func(c *counts) { c[0] = 10 }, every(5000)},
		{
			"new, and more popular than the day before", func(c *counts) { c[2] = 40 },
			func(c *counts) { every(50)(c); c[2] = 80 },
		},
		{"more popular than before, and new", func(c *counts) { every(100)(c); c[1], c[2], c[3] = 300, 300, 300 }, func(c *counts) { c[1] = 15 }},
		{
			"popular in the evening only", func(c *counts) { c[3], c[27] = 60, 10 },
			func(c *counts) { c[3], c[27] = 60, 60 },
		},
		{"five people, and one every hour", func(c *counts) { c[1] = 5 }, func(c *counts) {
			for ago := range dayHours {
				c[ago] = 1
			}
		}},
	} {
		if greater, smaller := scoreOf(c.greater), scoreOf(c.smaller); greater <= smaller {
			t.Errorf("%s: scores %g and %g, want the first to be greater", c.name, greater, smaller)
		}
	}
	if got := scoreOf(every(5000)); got > 0 {
		t.Errorf("score of a constantly popular subject: %g, want at most 0", got)
	}
}

func TestNormalLink(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://Example.COM":                              "https://example.com/",
		"https://example.com:443/":                         "https://example.com/",
		"http://example.com:80/A?b=1#c":                    "http://example.com/A?b=1",
		"http://example.com:8080/":                         "http://example.com:8080/",
		"https://example.com/?utm_source=x&a=1&fbclid":     "https://example.com/?a=1",
		"https://example.com/?utm_source=x":                "https://example.com/",
		"https://example.com/?b=2&a=1":                     "https://example.com/?b=2&a=1",
		"https://example.com/%61":                          "https://example.com/%61",
		"https:///nothing":                                 "",
		"https://example.com/" + string(make([]byte, 400)): "",
	} {
		if got := normalLink(address); got != want {
			t.Errorf("normalLink(%q) = %q, want %q", address, got, want)
		}
	}
	if twice := normalLink(normalLink("HTTPS://Example.com?utm_x&A")); twice != "https://example.com/?A" {
		t.Errorf("normalLink applied twice = %q", twice)
	}
}
