//go:build long && programs

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

// renamed is the new path of the module.
const renamed = "example.com/you/retwis"

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
	run(t, dir, "go", "build", "./...")
	for _, nested := range []string{"bench", "e2e"} {
		run(t, filepath.Join(dir, nested), "go", "vet", "./...")
	}
	if unformatted := run(t, dir, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("not formatted:\n%s", unformatted)
	}
	output := run(t, dir, "go", "test", "-v", "-run", "^Example", "./redlock/...", "./bulk/...", "./index/...", "./model/...")
	if !strings.Contains(output, "--- PASS: Example") {
		t.Errorf("no example ran:\n%s", output)
	}

	// Rename the copy back to the original path.
	run(t, dir, "make", "rename-module", "MODULE="+old)
	wantSame(t, original, dir)
}

func TestRenameRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "copy")
	original := copyModule(t, top(t), dir)
	for _, path := range []string{"", "a b", "/retwis", "example.com//retwis", "example.com/retwis/", `x"`, "a/../b", modulePath(t, dir)} {
		if output, err := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts", "rename-module"), path).CombinedOutput(); err == nil {
			t.Errorf("rename-module accepted the path %q:\n%s", path, output)
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

// wantNoneLeft checks that neither imports nor go.mod files contain the old path.
func wantNoneLeft(t *testing.T, dir, old string) {
	t.Helper()
	imported := regexp.MustCompile("[\"`]" + regexp.QuoteMeta(old) + `/\w+`)
	required := regexp.MustCompile(`(?m)^(module|replace|require)?\s*` + regexp.QuoteMeta(old) + `[ /\n]`)
	for name, text := range files(t, dir) {
		pattern := imported
		switch filepath.Ext(name) {
		case ".mod":
			pattern = required
		case ".go", ".templ", ".md":
		default:
			continue
		}
		if found := pattern.Find(text); found != nil {
			t.Errorf("%s still has %s", name, found)
		}
	}
}

// wantSame checks that the files below dir are unchanged.
func wantSame(t *testing.T, original map[string][]byte, dir string) {
	t.Helper()
	got := files(t, dir)
	for name, text := range original {
		if !bytes.Equal(text, got[name]) {
			t.Errorf("%s has changed", name)
		}
	}
}

// files returns the files of the module in dir by relative path, except for built and downloaded
// files.
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
