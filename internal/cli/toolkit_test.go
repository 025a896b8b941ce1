package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"retwis/internal/cli/shell"
	"retwis/internal/redistest"
)

// siteArguments holds arguments for commands that need more than their usage shows. The keys are
// keys of a site.
var siteArguments = map[string][]string{
	"lock":            {"tasks", "--", "true"},
	"load":            {"testdata/commands.txt"},
	"index create":    {"users", "--columns", "n:int"},
	"index put":       {"users", "--columns", "n:int", "testdata/commands.txt"},
	"index adopt":     {"followers:1", "--columns", "n:int"},
	"graph remove":    {"users", "testdata/commands.txt"},
	"graph query":     {"users", "?a ?b ?c"},
	"suggest set":     {"users", "a", "1"},
	"suggest sweep":   {"users", "--below", "1"},
	"ratelimit reset": {"post"},
	"ratelimit show":  {"post=2/1h"},
	"ratelimit take":  {"post=2/1h"},
}

// argumentsOf returns arguments for a command, derived from its usage.
func argumentsOf(use string) (args []string) {
	for _, word := range strings.Fields(use)[1:] {
		switch word, _ = strings.CutSuffix(word, "..."); {
		case strings.HasPrefix(word, "["):
		case word == "KEY" || word == "NAME":
			args = append(args, "users")
		case strings.Contains(word, "="):
			args = append(args, "x=1")
		default:
			args = append(args, "1")
		}
	}
	return args
}

// Each toolkit command refuses a database that holds a site before it reads or changes any of the
// site's keys.
func TestToolkitRefusesSite(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	env := func(string) string { return "" }
	if code, _, stderr := run(t, env, "seed", "--redis", db.URL(), "--users", "3", "--follows", "3", "--posts", "3"); code != 0 {
		t.Fatalf("seed: exit code %d, %s", code, stderr)
	}
	before := keysOf(t, db)
	for name, cmd := range commands(t) {
		group, _, _ := strings.Cut(name, " ")
		if top := commands(t)[group]; top == nil || top.GroupID != "toolkit" || cmd.HasSubCommands() {
			continue
		}
		args, ok := siteArguments[name]
		if !ok {
			args = argumentsOf(cmd.Use)
		}
		args = slices.Concat(strings.Fields(name), []string{"--redis", db.URL()}, args)
		code, stdout, stderr := run(t, env, args...)
		if code != shell.ExitUsage || stdout != "" || !strings.Contains(stderr, "holds a site") {
			t.Errorf("retwis %s: exit code %d, stdout %q, stderr %q", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	code, _, stderr := run(t, env, "lock", "--node", db.URL(), "--break", "next_post_id")
	if code != shell.ExitUsage || !strings.Contains(stderr, "server 1 of --node holds a site") {
		t.Errorf("lock --node: exit code %d, stderr %q", code, stderr)
	}
	if !maps.Equal(before, keysOf(t, db)) {
		t.Error("the site has changed")
	}
}

// keysOf returns the keys of a database with their dumped values.
func keysOf(t *testing.T, db *redistest.Database) map[string]string {
	t.Helper()
	client, all := db.Client(t), map[string]string{}
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) == 0 {
		t.Fatalf("KEYS = %q, %v", keys, err)
	}
	for _, key := range keys {
		if all[key], err = client.Do(t.Context(), client.B().Dump().Key(key).Build()).ToString(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
