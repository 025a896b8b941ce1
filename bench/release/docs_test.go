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
		t.Fatalf("found %d pages, %v; want at least 10", len(pages), err)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(found[3], "#")
			if target == "" || strings.Contains(target, ":") || target == "changelog.gz" {
				continue
			}
			links++
			file := filepath.Join(dir, target)
			if example, ok := strings.CutPrefix(target, "examples/"); ok {
				file = filepath.Join("../../deploy", example)
			} else if unit, ok := strings.CutPrefix(target, "/usr/lib/systemd/system/"); ok {
				file = filepath.Join("../../deploy/systemd", unit)
			}
			if _, err := os.Stat(file); err != nil || strings.HasPrefix(target, "..") {
				t.Errorf("%s: the link to %s is broken: %v", filepath.Base(page), found[3], err)
			}
		}
	}
	if links < 40 {
		t.Errorf("checked %d links, want at least 40", links)
	}
	text, err := os.ReadFile(filepath.Join(dir, "operations.md"))
	if err != nil || !strings.Contains(string(text), "](SECURITY.md)") || !strings.Contains(string(text), "](examples/proxy)") {
		t.Errorf("operations.md has no links to SECURITY.md and examples/proxy: %v", err)
	}
}
