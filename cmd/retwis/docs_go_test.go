package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A goBlock is a Go code block of a page. It is either a program, which a command on the page may
// run, or a fragment, which must compile.
type goBlock struct {
	line int
	code string
}

func (b goBlock) program() bool { return strings.HasPrefix(b.code, "package main\n") }

func goBlocks(text string) []goBlock {
	var all []goBlock
	inside := false
	for i, line := range strings.SplitAfter(text, "\n") {
		switch {
		case line == "```go\n":
			all = append(all, goBlock{line: i + 2})
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			all[len(all)-1].code += line
		}
	}
	return all
}

// goCommand returns a go command that sees the files of overlay in the repository. The keys of
// overlay are paths relative to the top of the repository.
func goCommand(dir string, overlay map[string]string, args ...string) (*exec.Cmd, error) {
	top, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for path, content := range overlay {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(top, path)] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", append([]string{args[0], "-overlay", file}, args[1:]...)...)
	cmd.Dir = top
	return cmd, nil
}

// goRun runs the page's program. If words end with "< FILE", the program reads the file.
func (r *reader) goRun(words []string) (string, error) {
	var input io.Reader
	if i := slices.Index(words, "<"); i >= 0 && i+2 == len(words) {
		file, err := os.Open(filepath.Join(r.home, words[i+1]))
		if err != nil {
			return "", err
		}
		defer file.Close()
		words, input = words[:i], file
	}
	for _, b := range r.blocks {
		if !b.program() {
			continue
		}
		cmd, err := goCommand(r.t.TempDir(), map[string]string{filepath.Join(words[2], "main.go"): b.code}, words[1:]...)
		if err != nil {
			return "", err
		}
		cmd.Stdin = input
		output, err := cmd.CombinedOutput()
		return r.translateBack(string(output)), err
	}
	return "", fmt.Errorf("the page has no Go program")
}

// packages maps the names of packages that fragments may use without an import to import paths.
var packages = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "strings": "strings", "time": "time", "rueidis": "github.com/redis/rueidis",
	"redlock": "retwis/redlock", "bulk": "retwis/bulk", "index": "retwis/index", "suggest": "retwis/index/suggest",
	"graph": "retwis/index/graph", "maintain": "retwis/maintain", "space": "retwis/index/space", "text": "retwis/index/text", "model": "retwis/model",
	"ratelimit": "retwis/ratelimit", "http": "net/http", "strconv": "strconv",
}

var (
	qualifier    = regexp.MustCompile(`\b([a-z]+)\.[A-Z]`)
	typeStart    = regexp.MustCompile(`^(type |func \()`)
	compileError = regexp.MustCompile(`(?m)^.*snippet(\d+)\.go:(\d+):\d+: (.*)$`)
	// allowedError matches the compiler errors about what a fragment may omit.
	allowedError = regexp.MustCompile(`declared and not used|missing return|^undefined: (file|bill|err|client|handle|use|w|address)$|too many errors|is not used$`)
)

// splitTypes splits code into the type and method declarations, which stay at the top level of a
// file, and the remaining lines.
func splitTypes(code string) (types, rest string) {
	declares := false
	for line := range strings.SplitAfterSeq(code, "\n") {
		begins := typeStart.MatchString(line)
		if declares = declares || begins; declares {
			types += line
		} else {
			rest += line
		}
		declares = declares && !strings.HasPrefix(line, "}") && !(begins && strings.HasSuffix(line, "}\n"))
	}
	return types, rest
}

// snippet returns a Go file with the declarations in types and a function whose body is lines.
func snippet(number int, types, lines string) string {
	used := map[string]bool{}
	for _, found := range qualifier.FindAllStringSubmatch(types+lines, -1) {
		used[found[1]] = true
	}
	file := fmt.Sprintf("package snippet%d\n", number)
	for name, path := range packages {
		if used[name] || name == "context" || name == "rueidis" {
			file += fmt.Sprintf("import %q\n", path)
		}
	}
	return file + types + "\nfunc page(ctx context.Context, client rueidis.Client) error {\n" + lines + "}\n"
}

// The Go code on the pages compiles, except for declarations that the pages omit.
func TestGoOnPages(t *testing.T) {
	t.Parallel()
	overlay := map[string]string{}
	var blocks []string
	args := []string{"build", "-gcflags=-e"}
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		types := "" // declared on the page so far
		for _, b := range goBlocks(string(text)) {
			declared, lines := splitTypes(b.code)
			types += declared
			if b.program() {
				continue // run by goRun
			}
			n := len(blocks)
			dir := fmt.Sprintf("snippets/%d", n)
			overlay[fmt.Sprintf("%s/snippet%d.go", dir, n)] = snippet(n, types, lines)
			args = append(args, "./"+dir)
			blocks = append(blocks, fmt.Sprintf("%s:%d", filepath.Base(path), b.line))
		}
	}
	if len(blocks) < 4 {
		t.Fatalf("found only these blocks: %v", blocks)
	}
	cmd, err := goCommand(t.TempDir(), overlay, args...)
	if err != nil {
		t.Fatal(err)
	}
	output, _ := cmd.CombinedOutput() // fails because of omitted declarations
	for _, found := range compileError.FindAllStringSubmatch(string(output), -1) {
		if !allowedError.MatchString(found[3]) {
			var n int
			_, _ = fmt.Sscan(found[1], &n)
			t.Errorf("the block at %s: %s", blocks[n], found[3])
		}
	}
	if !strings.Contains(string(output), "declared and not used") {
		t.Errorf("the fragments were not compiled:\n%s", output)
	}
}
