package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The table of the page is what the program prints.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(nil, &out); err != nil {
		t.Fatal(err)
	}
	want, err := replaced(string(page), out.String())
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Errorf("docs/scaling.md has another table than\n%s\nwrite it again with make capacity", out.String())
	}
}

// The costs are the figures of docs/benchmarks.md, where they are measured there.
func TestCosts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Costs {
		if c.Otherwise != "" {
			continue
		}
		got, err := figure(string(text), c.Row, c.Column)
		if want := fmt.Sprintf("%g %s", c.Value, c.Unit); err != nil || got != want {
			t.Errorf("%s: docs/benchmarks.md says %q, and this program %q, %v", c.What, got, want, err)
		}
	}
}

// figure returns the cell of a table in the row that begins so.
func figure(page, row, column string) (string, error) {
	at := -1
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if i := slices.Index(cells, column); i >= 0 {
			at = i
		}
		if at > 0 && at < len(cells) && strings.HasPrefix(cells[0], row) {
			return cells[at], nil
		}
	}
	return "", fmt.Errorf("there is no row %q below a column %q", row, column)
}

// defaults is a site as the table assumes it.
func defaults(users float64) Site {
	s := Site{Users: users}
	s.inputs(flag.NewFlagSet("", flag.ContinueOnError))
	return s
}

// What limits changes with the site.
func TestFirst(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(s *Site){
		"for posts":     func(*Site) {},
		"for follows":   func(s *Site) { s.Years = 0 },
		"CPU":           func(s *Site) { s.Pushes, s.Years = 30_000, 0 },
		"`timeline`":    func(s *Site) { s.Posts = 40 },
		"of one author": func(s *Site) { s.Users *= 10; s.Posts, s.Star = 0.1, 0.9 },
	} {
		s := defaults(100e6)
		change(&s)
		if n := need(s); !strings.Contains(n.First, want) {
			t.Errorf("limited first by %q, want %q", n.First, want)
		}
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	small, large := need(defaults(1e6)), need(defaults(10e6))
	if small.Web != 2 || small.Workers != 0 || small.Masters < 3 {
		t.Errorf("a small site: %+v", small)
	}
	if ratio := large.RAM / small.RAM; ratio < 9.9 || ratio > 10.1 {
		t.Errorf("ten times the users take %.1f times the memory", ratio)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--users", "many"}, {"--users", "0"}, {"--active", "2"}, {"--peak", "NaN"}, {"more"}, {"--write", "missing.md"}} {
		if err := run(args, new(strings.Builder)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
