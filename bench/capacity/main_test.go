package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPage checks that docs/scaling.md has the tables that the program prints.
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
		t.Errorf("docs/scaling.md is out of date: run make capacity; want\n%s", out.String())
	}
}

// TestCosts checks the costs that come from docs/benchmarks.md.
func TestCosts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Costs {
		if c.Source != "" {
			continue
		}
		got, err := tableCell(string(text), c.Row, c.Column)
		if want := fmt.Sprintf("%g %s", c.Value, c.Unit); err != nil || got != want {
			t.Errorf("%s: docs/benchmarks.md has %q, the program has %q, %v", c.What, got, want, err)
		}
	}
}

// tableCell returns the table cell below column in the row whose name starts with row.
func tableCell(page, row, column string) (string, error) {
	index := -1
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if i := slices.Index(cells, column); i >= 0 {
			index = i
		}
		if index > 0 && index < len(cells) && strings.HasPrefix(cells[0], row) {
			return cells[index], nil
		}
	}
	return "", fmt.Errorf("no row %q with a column %q", row, column)
}

// defaults returns a site with the default assumptions of the flags.
func defaults(users float64) Site {
	s := Site{Users: users}
	s.inputs(flag.NewFlagSet("", flag.ContinueOnError))
	return s
}

// TestBottleneck checks that the first bottleneck depends on the usage of the site.
func TestBottleneck(t *testing.T) {
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
		if n := need(s); !strings.Contains(n.Bottleneck, want) {
			t.Errorf("the first bottleneck is %q, want %q", n.Bottleneck, want)
		}
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	small, large := need(defaults(1e6)), need(defaults(10e6))
	if small.Web != 2 || small.Workers != 0 || small.Masters < 3 {
		t.Errorf("need of a million users = %+v, want 2 web processes, no workers and at least 3 masters", small)
	}
	if ratio := large.RAM / small.RAM; ratio < 9.9 || ratio > 10.1 {
		t.Errorf("ten times the users need %.1f times the memory, want 10", ratio)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--users", "many"}, {"--users", "0"}, {"--active", "2"}, {"--peak", "NaN"}, {"more"}, {"--write", "missing.md"}} {
		if err := run(args, new(strings.Builder)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
