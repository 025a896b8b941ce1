package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRetwis checks this module. It opens every Go file and directory itself, so that a change to
// any of them invalidates the cached test result.
func TestRetwis(t *testing.T) {
	t.Parallel()
	violations, err := Check(filepath.Join("..", ".."), Retwis())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range violations {
		t.Error(line)
	}
}

// testArchitecture returns a small architecture that sets every field.
func testArchitecture() Architecture {
	return Architecture{
		Levels:      map[string]int{"cmd": 3, "internal/web": 2, "internal/seed": 2, "tool": 1, "index": 1, "index/...": 1, "internal/store": 0},
		Siblings:    [][2]string{{"index/...", "index"}},
		TestSupport: []string{"internal/support"},
		Pure:        1,
		Impure:      []string{"net/http", "flag"},
		Forbidden:   map[string][]string{"tool": {"example.com/redis"}},
		Reserved:    map[string][]string{"Organs": {"internal/web"}},
		SharedTests: []string{"tool", "index", "index/..."},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"import of a lower level": {files: map[string]string{
			"cmd/main.go":               imports("m/internal/web", "net/http", "flag"),
			"internal/web/web.go":       imports("m/internal/store", "m/tool", "net/http"),
			"index/graph/deep/graph.go": imports("m/index"),
		}},
		"import of a higher level": {
			files: map[string]string{"internal/store/store.go": imports("fmt", "m/tool")},
			want:  []string{"internal/store/store.go:3: internal/store on level 0 imports tool on level 1"},
		},
		"import of a sibling": {
			files: map[string]string{"internal/web/web.go": imports("m/internal/seed")},
			want:  []string{"internal/web/web.go:2: internal/web imports its sibling internal/seed on level 2"},
		},
		"import of a sibling subpackage": {
			files: map[string]string{
				"index/a/a.go":   imports("m/index/b"),
				"index/index.go": imports("m/index/a"),
			},
			want: []string{
				"index/a/a.go:2: index/a imports its sibling index/b on level 1",
				"index/index.go:2: index imports its sibling index/a on level 1",
			},
		},
		"no level": {
			files: map[string]string{"util/util.go": imports(), "cmd/main.go": imports("m/util"), "main.go": imports()},
			want: []string{
				"cmd/main.go:2: cmd imports util, which has no level",
				"main.go:1: . has no level; add it to the table in internal/arch",
				"util/util.go:1: util has no level; add it to the table in internal/arch",
			},
		},
		"nested module": {
			files: map[string]string{"bench/go.mod": "module m/bench\n", "bench/main.go": imports("m/internal/web"), "cmd/main.go": imports("m/bench")},
			want:  []string{"cmd/main.go:2: cmd imports bench, which has no level"},
		},
		"import below the highest pure level": {files: map[string]string{"tool/tool.go": imports("m/internal/store")}},
		"test support in tests": {files: map[string]string{
			"tool/tool_test.go":           imports("m/internal/support", "m/tool", "net/http"),
			"internal/support/support.go": imports("m/internal/store", "net/http", "flag"),
		}},
		"test that imports a higher level": {
			files: map[string]string{"tool/tool_test.go": imports("m/cmd")},
			want:  []string{"tool/tool_test.go:2: tool on level 1 imports cmd on level 3"},
		},
		"shared tests": {files: map[string]string{
			"tool/tool_test.go":   imports("m/index/graph"),
			"index/graph/a.go":    imports(),
			"index/index_test.go": imports("m/tool"),
		}},
		"forbidden import": {
			files: map[string]string{"tool/tool.go": imports("example.com/redis/client"), "tool/tool_test.go": imports("example.com/redis")},
			want:  []string{"tool/tool.go:2: tool must not import example.com/redis/client"},
		},
		"reserved method": {
			files: map[string]string{
				"internal/web/web.go": "package p\nvar _ = x.Organs\n",
				"tool/tool_test.go":   "package p\nfunc f() { x.Organs() }\n",
			},
			want: []string{"tool/tool_test.go:2: tool must not use Organs; only internal/web may"},
		},
		"test support outside tests": {
			files: map[string]string{"cmd/main.go": imports("m/internal/support")},
			want:  []string{"cmd/main.go:2: cmd imports internal/support, which is for tests only"},
		},
		"impure import": {
			files: map[string]string{"tool/tool.go": imports("net/http/httptest", "flag", "net")},
			want: []string{
				"tool/tool.go:2: tool is on level 1 and must not import net/http/httptest",
				"tool/tool.go:3: tool is on level 1 and must not import flag",
			},
		},
		"init functions and uninitialized globals": {
			files: map[string]string{
				"tool/tool.go": "package p\nfunc init() {}\nvar x int\nvar a, b = 1, 2\n//go:embed x\nvar e string\n" +
					"var (\n\t//go:embed y\n\tf string\n\tg int\n)\ntype t struct{}\nfunc (t) init() { var local int; _ = local }\n",
				"internal/web/web.go": "package p\nfunc init() {}\nvar x int\n",
			},
			want: []string{
				"tool/tool.go:2: tool is on level 1 and must not have an init function",
				"tool/tool.go:3: tool is on level 1 and must not have an uninitialized global: x",
				"tool/tool.go:10: tool is on level 1 and must not have an uninitialized global: g",
			},
		},
		"build tags": {
			files: map[string]string{"internal/store/s_plan9.go": "//go:build never\n\n" + imports("m/cmd")},
			want:  []string{"internal/store/s_plan9.go:4: internal/store on level 0 imports cmd on level 3"},
		},
		"directories the go command ignores": {files: map[string]string{
			"testdata/x/x.go": "not Go", "_old/x.go": "not Go", ".git/x.go": "not Go", "cmd/testdata/x.go": imports("m/none"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Check(tree(t, test.files), testArchitecture())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestCheckCannotRead(t *testing.T) {
	t.Parallel()
	if _, err := Check(t.TempDir(), testArchitecture()); err == nil {
		t.Error("no error for a directory without go.mod")
	}
	if _, err := Check(tree(t, map[string]string{"cmd/main.go": "package"}), testArchitecture()); err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("file that is not Go: %v, want an error that names main.go", err)
	}
}

// imports returns a source file with one import per line, starting on line 2.
func imports(paths ...string) string {
	text := "package p\n"
	for _, path := range paths {
		text += "import _ \"" + path + "\"\n"
	}
	return text
}

// tree writes a module named m with the given files and returns the module's directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "// a comment\nmodule m\n\ngo 1.25\n")
	for name, text := range files {
		write(name, text)
	}
	return root
}
