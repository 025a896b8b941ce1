//go:build programs

// Package outside tests the module from the outside: imported by a program of another module, and
// copied to another module path.
package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// top returns the root directory of the module.
func top(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command without GOWORK and MAKEFLAGS, and returns the output.
func run(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=", "MAKEFLAGS=")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, output)
	}
	return string(output)
}

// page is docs/import.md: a program, its output, and how another module builds it.
type page struct {
	program string
	output  string
	builds  []string // shell scripts
}

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top(t), "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	var p page
	for _, m := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		switch code := m[2]; {
		case m[1] == "go":
			p.program = code
		case m[1] == "":
			p.output = code
		case strings.HasPrefix(code, "go mod init"):
			p.builds = append(p.builds, code)
		}
	}
	if p.program == "" || p.output == "" || len(p.builds) != 2 {
		t.Fatalf("docs/import.md has an unexpected structure: %+v", p)
	}
	return p
}

func TestImport(t *testing.T) {
	t.Parallel()
	p := readPage(t)
	for name, commands := range map[string]string{"replace": p.builds[0], "workspace": p.builds[1]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := redistest.DB(t).URL()
			dir := filepath.Join(t.TempDir(), "yours")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "main.go"), p.program)
			// With the checksums of this module, the go command needs no network to look up
			// checksums.
			sums, err := os.ReadFile(filepath.Join(top(t), "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "go.sum"), string(sums))
			run(t, dir, "/bin/sh", "-ec", strings.ReplaceAll(commands, "../retwis", top(t)))
			if got := run(t, dir, "./yours", url); got != p.output {
				t.Errorf("the program printed\n%s\nbut the page shows\n%s", got, p.output)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
