package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"retwis/internal/cli/shell"

	"github.com/spf13/pflag"
)

// run runs a command as a person would, and returns what it wrote.
func run(t *testing.T, getenv func(string) string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	code = Run(t.Context(), args, Env{Getenv: getenv, Stdout: &out, Stderr: &err, Version: "v1.2.3", Commit: "abc"})
	return code, out.String(), err.String()
}

func TestVersionIsTheLinkers(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, nil, "version")
	if code != shell.ExitOK || !strings.HasPrefix(out, "retwis v1.2.3\ncommit: abc\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// Each flag says in the help by which variable it can be set, unless it changes what
// the command does.
func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	root := newRoot(Env{Getenv: func(string) string { return "" }})
	for name, actions := range map[string][]string{"serve": nil, "seed": nil, "check": {"repair", "remove-legacy", "yes"}} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no long help or no example", name)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if named := strings.Contains(f.Usage, " ["+shell.Variable(f.Name)+"]"); named == slices.Contains(actions, f.Name) {
				t.Errorf("%s --%s: %q: names its variable: %v", name, f.Name, f.Usage, named)
			}
		})
	}
}

// A command that is stopped says that and no more.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	code := Run(ctx, []string{"check", "--redis", "redis://127.0.0.1:1"}, Env{
		Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &stderr,
	})
	if code != shell.ExitFailure || stderr.String() != "retwis: stopped before it was done\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// A flag given wins over its variable, whatever that says.
func TestFlagWinsOverVariable(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		if name == "RETWIS_USERS" {
			return "a lot"
		}
		return ""
	}
	code, _, stderr := run(t, getenv, "seed", "--redis", "nothing")
	if code != shell.ExitUsage || !strings.Contains(stderr, `invalid value "a lot" of the variable RETWIS_USERS`) {
		t.Errorf("without the flag: exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr = run(t, getenv, "seed", "--redis", "nothing", "--users", "3")
	if code != shell.ExitFailure || strings.Contains(stderr, "RETWIS_USERS") {
		t.Errorf("with the flag: exit code %d, stderr %q", code, stderr)
	}
}
