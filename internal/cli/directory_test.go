package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// createCommands are the commands that create a missing database.
var createCommands = []string{
	"serve", "restore", "seed", "import-2009", "user create", "site set", "load", "lock",
	"graph put", "graph rebuild", "index create", "index put", "index rebuild", "space create", "space put", "space rebuild",
	"suggest add", "suggest set", "suggest rebuild", "text put", "text rebuild", "random put", "recent put", "ring put", "ratelimit take",
}

// sampleArguments holds arguments for commands that validate their arguments, or that read standard
// input when called without any.
var sampleArguments = map[string][]string{
	"backup":         {"FILE"},
	"block add":      {"word", "casino"},
	"block remove":   {"word", "casino"},
	"graph remove":   {"k", os.DevNull},
	"graph query":    {"k", "?a knows ?b"},
	"ratelimit show": {"k=5/1m"},
	"report decide":  {"post:1", "dismiss"},
	"suggest sweep":  {"--below", "2", "k"},
	"user export":    {"ada", "FILE"},
	"user delete":    {"ada", "--yes"},
	"user role":      {"ada", "member"},
}

// Every command that does not create a database refuses a directory without one and leaves the
// directory unchanged.
func TestWrongDirectory(t *testing.T) {
	t.Parallel()
	seen := 0
	for path, cmd := range commands(t) {
		name := strings.TrimPrefix(path, "retwis ")
		if cmd.Flags().Lookup("redis") == nil || slices.Contains(createCommands, name) {
			continue
		}
		seen++
		args, ok := sampleArguments[name]
		if !ok {
			args = requiredArguments(cmd.Use)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRefused(t, append(strings.Fields(name), args...))
		})
	}
	if seen < 60 {
		t.Errorf("%d commands were tested, want at least 60", seen)
	}
}

// requiredArguments returns placeholder values for the required arguments of a command.
func requiredArguments(use string) (args []string) {
	for _, word := range strings.Fields(use)[1:] {
		switch {
		case strings.HasPrefix(word, "["):
		case word == "NUMBER":
			args = append(args, "1")
		default:
			args = append(args, strings.ToLower(strings.TrimSuffix(word, "...")))
		}
	}
	return args
}

// checkRefused checks that a command refuses a missing directory and a directory without a
// database.
func checkRefused(t *testing.T, args []string) {
	dir := t.TempDir()
	missing, empty := filepath.Join(dir, "typo"), filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		if arg == "FILE" {
			args[i] = filepath.Join(dir, "file")
		}
	}
	for _, db := range []string{missing, empty} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), append(slices.Clone(args), "--redis", "embedded:"+db), Env{
			Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		})
		if want := "retwis: there is no database in " + db + "\n"; code != 1 || !strings.HasPrefix(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, output %s%s", args, code, &out, &errs)
		}
	}
	found, err := os.ReadDir(empty)
	if _, statErr := os.Stat(missing); err != nil || len(found) > 0 || !os.IsNotExist(statErr) {
		t.Errorf("%s changed a directory: %v, %v, %v", args, found, err, statErr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "file*")); len(left) > 0 {
		t.Errorf("%s created %s", args, left)
	}
}
