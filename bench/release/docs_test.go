package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs checks that every link in the packaged documentation leads to a file in the package.
func TestDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := docs("../..", dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			to, _, _ := strings.Cut(found[3], "#")
			if to == "" || strings.Contains(to, ":") || to == "changelog.gz" {
				continue
			}
			links++
			from := filepath.Join(dir, to)
			if example, ok := strings.CutPrefix(to, "examples/"); ok {
				from = filepath.Join("../../deploy", example)
			} else if unit, ok := strings.CutPrefix(to, "/usr/lib/systemd/system/"); ok {
				from = filepath.Join("../../deploy/systemd", unit)
			}
			if _, err := os.Stat(from); err != nil || strings.HasPrefix(to, "..") {
				t.Errorf("%s: a link to %s: %v", filepath.Base(page), found[3], err)
			}
		}
	}
	if links < 40 {
		t.Errorf("%d links", links)
	}
	text, err := os.ReadFile(filepath.Join(dir, "operations.md"))
	if err != nil || !strings.Contains(string(text), "](SECURITY.md)") || !strings.Contains(string(text), "](examples/proxy)") {
		t.Errorf("operations.md: %v", err)
	}
}
