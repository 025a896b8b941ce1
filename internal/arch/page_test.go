package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	tableRow    = regexp.MustCompile(`(?m)^\| (\d) \| (.*?) \|`)
	packageName = regexp.MustCompile("`([^`]+)`")
)

// docs/architecture.md lists the same levels as Retwis.
func TestArchitecturePage(t *testing.T) {
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
		t.Errorf("levels in docs/architecture.md:\n%v\nwant:\n%v", page, want)
	}
}

// The section "Finding your way" of CONTRIBUTING.md names each package of the application.
func TestContributingListsPackages(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Finding your way")
	section, _, _ = strings.Cut(section, "What to touch for")
	for _, part := range []string{"internal/social", "internal/web"} {
		entries, err := os.ReadDir(filepath.Join(root, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := "`" + part + "/" + entry.Name() + "`"
			if entry.IsDir() && entry.Name() != "testdata" && !strings.HasSuffix(entry.Name(), "test") && !strings.Contains(section, name) {
				t.Errorf("CONTRIBUTING.md: section \"Finding your way\" does not list %s", name)
			}
		}
	}
}
