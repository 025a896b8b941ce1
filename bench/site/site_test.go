package site

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"retwis/bench/measure"
)

// The pages have the sizes that docs/benchmarks.md gives. Times and ids on them make a few bytes
// of difference.
func TestSizes(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "bench") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := startSite(t.Context(), measure.Options{Dir: dir, Users: measure.Defaults.Users}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	sizes, err := s.save(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range viewed {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %s \| ([\d,]+) `, regexp.QuoteMeta(page.name))).FindStringSubmatch(string(doc))
		if row == nil {
			t.Errorf("docs/benchmarks.md has no %q", page.name)
			continue
		}
		documented, err := strconv.Atoi(strings.ReplaceAll(row[1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		if off := documented - sizes[i]; off*off > sizes[i]*sizes[i]/2500 {
			t.Errorf("%s has %d bytes; docs/benchmarks.md says %d: make bench ARGS='--only site'", page.name, sizes[i], documented)
		}
	}
}
