// Package outside tests the module from outside: imported by the program of
// another module, and copied under another module path.
package outside

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// top returns the directory of the module.
func top(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a command and returns its output. A workspace that the caller chose
// does not count.
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
	builds  []string // each the lines of a shell
}

var block = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top(t), "docs", "import.md"))
	if err != nil {
		t.Fatal(err)
	}
	var p page
	for _, found := range block.FindAllStringSubmatch(string(text), -1) {
		switch code := found[2]; {
		case found[1] == "go":
			p.program = code
		case found[1] == "":
			p.output = code
		case strings.HasPrefix(code, "go mod init"):
			p.builds = append(p.builds, code)
		}
	}
	if p.program == "" || p.output == "" || len(p.builds) != 2 {
		t.Fatalf("docs/import.md has changed its form: %+v", p)
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
			// The checksums of the clone save looking them up, so that the test
			// needs no network beyond what the build of this module needs.
			sums, err := os.ReadFile(filepath.Join(top(t), "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "go.sum"), string(sums))
			run(t, dir, "/bin/sh", "-ec", strings.ReplaceAll(commands, "../retwis", top(t)))
			if got := run(t, dir, "./yours", url); got != p.output {
				t.Errorf("the program printed\n%s\nand the page says\n%s", got, p.output)
			}
		})
	}
}

// renamed is the path that the module is given.
const renamed = "example.com/you/retwis"

// With the tag long the module is built, all examples run and the nested modules are
// vetted; otherwise all imports are resolved and the examples of one package run.
func TestRename(t *testing.T) {
	t.Parallel()
	redistest.Require(t)
	old := modulePath(t, top(t))
	dir := filepath.Join(t.TempDir(), "copy")
	original := copyModule(t, top(t), dir)
	run(t, dir, "make", "rename-module", "MODULE="+renamed)

	if got := modulePath(t, dir); got != renamed {
		t.Fatalf("the module is %q, want %q", got, renamed)
	}
	for _, nested := range []string{"bench", "e2e"} {
		if got, want := modulePath(t, filepath.Join(dir, nested)), renamed+"/"+nested; got != want {
			t.Errorf("the module of %s is %q, want %q", nested, got, want)
		}
	}
	wantNoneLeft(t, dir, old)
	run(t, dir, "go", "list", "-deps", "-test", "./...")
	examples := []string{"./index/suggest"}
	if redistest.Long {
		run(t, dir, "go", "build", "./...")
		examples = []string{"./redlock/...", "./bulk/...", "./index/...", "./model/..."}
		for _, nested := range []string{"bench", "e2e"} {
			run(t, filepath.Join(dir, nested), "go", "vet", "./...")
		}
		if unformatted := run(t, dir, "gofmt", "-l", "."); unformatted != "" {
			t.Errorf("not formatted:\n%s", unformatted)
		}
	}
	output := run(t, dir, append([]string{"go", "test", "-v", "-run", "^Example"}, examples...)...)
	if !strings.Contains(output, "--- PASS: Example") {
		t.Errorf("no example ran:\n%s", output)
	}

	// Once more, from a path with dots in it, back to where it was.
	run(t, dir, "make", "rename-module", "MODULE="+old)
	wantSame(t, original, dir)
}

func TestRenameRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "copy")
	original := copyModule(t, top(t), dir)
	for _, path := range []string{"", "a b", "/retwis", "example.com//retwis", "example.com/retwis/", `x"`, "a/../b", modulePath(t, dir)} {
		if output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts", "rename-module"), path).CombinedOutput(); err == nil {
			t.Errorf("%q is taken for a module path:\n%s", path, output)
		}
	}
	wantSame(t, original, dir)
}

func modulePath(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}

// wantNoneLeft looks for the old path in imports and in what go.mod says.
func wantNoneLeft(t *testing.T, dir, old string) {
	t.Helper()
	imported := regexp.MustCompile("[\"`]" + regexp.QuoteMeta(old) + `/\w+`)
	required := regexp.MustCompile(`(?m)^(module|replace|require)?\s*` + regexp.QuoteMeta(old) + `[ /\n]`)
	for name, text := range files(t, dir) {
		left := imported
		switch filepath.Ext(name) {
		case ".mod":
			left = required
		case ".go", ".templ", ".md":
		default:
			continue
		}
		if found := left.Find(text); found != nil {
			t.Errorf("%s still has %s", name, found)
		}
	}
}

func wantSame(t *testing.T, original map[string][]byte, dir string) {
	t.Helper()
	now := files(t, dir)
	for name, text := range original {
		if !bytes.Equal(text, now[name]) {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// files reads the module in a directory, without what is built or downloaded.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if slices.Contains([]string{".git", "bin", "dist", "e2e/node_modules"}, filepath.ToSlash(name)) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			all[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// copyModule copies the module and returns the files of the copy.
func copyModule(t *testing.T, from, to string) map[string][]byte {
	t.Helper()
	all := files(t, from)
	for name, text := range all {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
