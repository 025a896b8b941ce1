package page

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestColumns checks that the page has each table that the program prints, with the same columns.
func TestColumns(t *testing.T) {
	t.Parallel()
	printed, found := printedHeads(t), map[string]bool{}
	for pattern, position := range printed {
		if regexp.MustCompile(pattern).MatchString(readPage(t)) {
			found[position] = true
		}
	}
	for pattern, position := range printed {
		if !found[position] {
			t.Errorf("%s prints a table that docs/benchmarks.md does not have: %s\nrun the benchmark again", position, pattern)
		}
	}
	if n := strings.Count(readPage(t), "\n| ---"); n < len(printed) {
		t.Errorf("the page has %d tables, the program prints %d", n, len(printed))
	}
}

// TestNoOtherTables checks that the program prints each table of the page.
func TestNoOtherTables(t *testing.T) {
	t.Parallel()
	printed := slices.Collect(maps.Keys(printedHeads(t)))
	previous := ""
	for line := range strings.Lines(readPage(t)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| ---") && !slices.ContainsFunc(printed, func(p string) bool { return regexp.MustCompile(p).MatchString(previous) }) {
			t.Errorf("no part prints a table with these columns: %s", previous)
		}
		previous = line
	}
}

// TestStamps checks that each heading is followed by the date and commit of the measurement.
func TestStamps(t *testing.T) {
	t.Parallel()
	page := readPage(t)
	stamp := regexp.MustCompile(`^\n\nMeasured on \d+ [A-Z][a-z]+ \d{4} at commit [0-9a-f]{8}[ .]`)
	for _, at := range headings.FindAllStringIndex(page, -1) {
		if !stamp.MatchString(page[at[1]:]) {
			t.Errorf("%s: no date and commit of the measurement", page[at[0]:at[1]])
		}
	}
	got, err := Stamp(t.Context(), time.Now())
	if err != nil || !stamp.MatchString("\n\n"+got) {
		t.Errorf("Stamp = %q, %v; want a line that matches %s", got, err, stamp)
	}
	if text := Stamped("## A\n\none\n\n### B\n", got); text != "## A\n\n"+got+"\n\none\n\n### B\n" {
		t.Errorf("Stamped = %q, want the stamp below the first heading only", text)
	}
}

// printedHeads returns a pattern for the first line of each table that the program prints, with the
// source position that prints it.
func printedHeads(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	heads := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if columns := columnsOf(n); columns != nil {
				heads[pattern(columns)] = fmt.Sprint(set.Position(n.Pos()))
			}
			return true
		})
	}
	return heads
}

// columnsOf returns the columns in a call of measure.Head or in a measure.Table.
func columnsOf(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if ok && called.Sel.Name == "Head" && !n.Ellipsis.IsValid() {
			return n.Args[1:]
		}
	case *ast.KeyValueExpr:
		list, ok := n.Value.(*ast.CompositeLit)
		if ok && fmt.Sprint(n.Key) == "Head" {
			return list.Elts
		}
	}
	return nil
}

// cellPattern returns a pattern for the text of a string literal, or for any cell if e is another
// expression.
func cellPattern(e ast.Expr) string {
	if literal, ok := e.(*ast.BasicLit); ok {
		if text, err := strconv.Unquote(literal.Value); err == nil {
			return regexp.QuoteMeta(text)
		}
	}
	return `[^|]*`
}

// pattern returns a pattern for a table header with the given columns.
func pattern(columns []ast.Expr) string {
	p := "(?m)^"
	for _, c := range columns {
		p += `\| *` + cellPattern(c) + " *"
	}
	return p + `\|$`
}
