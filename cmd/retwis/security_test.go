package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// asvs lists the number of requirements of levels 1 and 2 in each section of ASVS 5.0.0. In each
// section, these requirements precede those of level 3.
const asvs = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2
4.1:3 4.2:1 4.3:2 4.4:4 5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4
7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1 9.1:3 9.2:4
10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1
12.1:3 12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7
16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2`

var (
	securityRow  = regexp.MustCompile(`(?m)^\| ((?:V?[0-9][0-9.]*(?:, )?)+) \|(.*)\|$`)
	quoted       = regexp.MustCompile("`([^`]+)`")
	testName     = regexp.MustCompile(`^Test[A-Z]\w*$`)
	pathName     = regexp.MustCompile(`^(?:cmd|internal|scripts|deploy|docs|e2e|bench|ratelimit)/[\w./-]+$`)
	testDeclared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestSecurityTable checks that docs/security.md lists every requirement once, and that the files
// and tests named there exist.
func TestSecurityTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := testsOfTheRepository(t)
	found := map[string]int{}
	for _, row := range securityRow.FindAllStringSubmatch(string(text), -1) {
		for _, number := range strings.Split(row[1], ", ") {
			found[strings.TrimPrefix(number, "V")]++
		}
		for _, name := range quoted.FindAllStringSubmatch(row[2], -1) {
			switch {
			case testName.MatchString(name[1]) && !declared[name[1]]:
				t.Errorf("%s: there is no test %s", row[1], name[1])
			case pathName.MatchString(name[1]):
				if _, err := os.Stat(filepath.Join("../..", name[1])); err != nil {
					t.Errorf("%s: %v", row[1], err)
				}
			}
		}
	}
	total := 0
	for _, section := range strings.Fields(asvs) {
		name, digits, _ := strings.Cut(section, ":")
		chapter, _, _ := strings.Cut(name, ".")
		var count int
		if _, err := fmt.Sscan(digits, &count); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			total++
			number := fmt.Sprintf("%s.%d", name, i+1)
			if n := found[number] + found[name] + found[chapter]; n != 1 {
				t.Errorf("requirement %s is in %d rows, want 1", number, n)
			}
		}
	}
	if total != 253 {
		t.Errorf("%d requirements, want 253", total)
	}
}

// testsOfTheRepository returns the names of all tests.
func testsOfTheRepository(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range testDeclared.FindAllStringSubmatch(string(text), -1) {
			all[name[1]] = true
		}
		return err
	})
	if err != nil || len(all) < 100 {
		t.Fatalf("found %d tests, want at least 100: %v", len(all), err)
	}
	return all
}
