package main

import (
	"fmt"
	"math"
	"os"
	"strings"

	"retwis/bench/measure"
)

// table returns a Markdown table with a column per site.
func table(needs []Need) string {
	var b strings.Builder
	for i, row := range needs[0].Rows {
		cells := []string{row[0]}
		for _, n := range needs {
			cells = append(cells, n.Rows[i][1])
		}
		if i == 0 {
			measure.Head(&b, cells...)
		} else {
			measure.Row(&b, cells...)
		}
	}
	return b.String()
}

// costs returns a Markdown table of the measured costs.
func costs() string {
	var b strings.Builder
	b.WriteString("| what | cost | measured |\n| --- | ---: | --- |\n")
	for _, c := range Costs {
		source := c.Source
		if source == "" {
			source = fmt.Sprintf("[benchmarks](benchmarks.md), “%s”", c.Column)
		}
		fmt.Fprintf(&b, "| %s | %g %s | %s |\n", c.What, c.Value, c.Unit, source)
	}
	return b.String()
}

// number formats n with at least two significant digits.
func number(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.2g", n)
	}
	return measure.Thousands(int(math.RoundToEven(n)))
}

// replaced returns the page with its tables replaced.
func replaced(page, capacity string) (string, error) {
	for name, table := range map[string]string{"capacity": capacity, "costs": costs()} {
		begin, end := "<!-- "+name+": written by bench/capacity -->\n", "<!-- end of "+name+" -->\n"
		before, remainder, ok := strings.Cut(page, begin)
		_, after, found := strings.Cut(remainder, end)
		if !ok || !found {
			return "", fmt.Errorf("the page lacks the markers of a table: %q", begin)
		}
		page = before + begin + table + end + after
	}
	return page, nil
}

func write(path string, needs []Need) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := replaced(string(text), table(needs))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

func years(n float64) string {
	if n == 1 {
		return "a year"
	}
	return fmt.Sprintf("%g years", n)
}
