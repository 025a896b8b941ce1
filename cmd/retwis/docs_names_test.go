package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	flagRow  = regexp.MustCompile("(?m)^\\| (`--.*?) \\|")
	flagName = regexp.MustCompile(`--[a-z][a-z-]*`)
	helpFlag = regexp.MustCompile(`(?m)^ +(?:-., )?(--[a-z][a-z-]*)`)
)

// TestDocumentsNameEveryFlag compares the table of flags in docs/operations.md with "retwis serve
// --help".
func TestDocumentsNameEveryFlag(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n### Flags of `retwis serve`\n")
	text, _, _ = strings.Cut(text, "\n#")
	help, err := exec.CommandContext(t.Context(), "retwis", "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	documented, want := []string{}, []string{}
	for _, row := range flagRow.FindAllStringSubmatch(text, -1) {
		documented = append(documented, flagName.FindAllString(row[1], -1)...)
	}
	for _, flag := range helpFlag.FindAllStringSubmatch(string(help), -1) {
		if flag[1] != "--help" {
			want = append(want, flag[1])
		}
	}
	slices.Sort(documented)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(documented, want) {
		t.Errorf("docs/operations.md lists\n%q\nretwis serve --help lists\n%q", documented, want)
	}
}

var (
	keyDeclared   = regexp.MustCompile(`(?m)^\s+\w+\s+= "([a-z_]+:?)"$`)
	keyDocumented = regexp.MustCompile("(?m)^\\| (`[a-z_]+.*?) \\| (?:string|hash|list|set|sorted set|stream) \\|")
	keyName       = regexp.MustCompile("`([a-z_]+:?)(?:<.id>|<link>|<tag>|<bucket>|<n>|\\{post:<pid>\\}|\\{user:<uid>\\}|\\{<name>\\}:<hour>|<kind>:<hour>)?`")
)

// TestDocumentsNameEveryKey compares docs/keys.md with the keys that layout.go declares.
func TestDocumentsNameEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../internal/social/storage/layout.go")
	if err != nil {
		t.Fatal(err)
	}
	var documented, want []string
	for _, row := range keyDocumented.FindAllStringSubmatch(string(text), -1) {
		for _, key := range keyName.FindAllStringSubmatch(row[1], -1) {
			documented = append(documented, key[1])
		}
	}
	for _, key := range keyDeclared.FindAllStringSubmatch(string(code), -1) {
		want = append(want, key[1])
	}
	slices.Sort(documented)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(documented, want) {
		t.Errorf("docs/keys.md lists\n%q\nlayout.go declares\n%q", documented, want)
	}
}
