package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// installed maps files of the repository to their paths in the package. A relative path is relative
// to the documentation directory of the package.
var installed = map[string]string{
	"deploy/systemd/retwis.service":        "/usr/lib/systemd/system/retwis.service",
	"deploy/systemd/retwis.socket":         "/usr/lib/systemd/system/retwis.socket",
	"deploy/systemd/retwis-backup.service": "/usr/lib/systemd/system/retwis-backup.service",
	"deploy/systemd/retwis-backup.timer":   "/usr/lib/systemd/system/retwis-backup.timer",
	"CHANGELOG.md":                         "changelog.gz",
}

// link matches a Markdown link or image: its text, which can span lines, and its target.
var link = regexp.MustCompile(`(!?)\[([^\[\]]*)\]\(([^()\s]*)\)`)

// docs copies the documentation to the directory of a package and adapts its links. Links to files
// that the package lacks become plain text.
func docs(repository, dir string) error {
	pages := map[string]string{"SECURITY.md": ""}
	found, err := filepath.Glob(filepath.Join(repository, "docs", "*.md"))
	if err != nil {
		return err
	}
	for _, file := range found {
		pages[path.Join("docs", filepath.Base(file))] = ""
	}
	for page := range pages {
		text, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			return err
		}
		moved := link.ReplaceAllStringFunc(string(text), func(found string) string {
			parts := link.FindStringSubmatch(found)
			if to, ok := target(page, parts[3], pages); ok && parts[1] == "" {
				return "[" + parts[2] + "](" + to + ")"
			}
			return parts[2]
		})
		if err := os.WriteFile(filepath.Join(dir, path.Base(page)), []byte(moved), 0o644); err != nil {
			return fmt.Errorf("write a document: %w", err)
		}
	}
	return nil
}

// target maps the target of a link on a page to its path in the package. It returns false if the
// package does not contain the file.
func target(page, to string, pages map[string]string) (string, bool) {
	if strings.Contains(to, ":") || strings.HasPrefix(to, "#") {
		return to, true
	}
	file, fragment, _ := strings.Cut(to, "#")
	if fragment != "" {
		fragment = "#" + fragment
	}
	file = path.Join(path.Dir(page), file)
	if _, ok := pages[file]; ok {
		return path.Base(file) + fragment, true
	}
	if installedPath, ok := installed[file]; ok {
		return installedPath, true
	}
	if example, ok := strings.CutPrefix(file, "deploy/"); ok {
		return "examples/" + example, true
	}
	return "", false
}
