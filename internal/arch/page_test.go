package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var (
	tableRow    = regexp.MustCompile(`(?m)^\| (\d) \| (.*?) \|`)
	packageName = regexp.MustCompile("`([^`]+)`")
)

// The page for those who change the code has the same table as this package.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]int{}
	for _, row := range tableRow.FindAllStringSubmatch(string(text), -1) {
		level, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range packageName.FindAllStringSubmatch(row[2], -1) {
			page[name[1]] = level
		}
	}
	if want := Retwis().Levels; !maps.Equal(page, want) {
		t.Errorf("docs/architecture.md has the levels\n%v\nand this package\n%v", page, want)
	}
}
