package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
	if code != exitOK || !strings.HasPrefix(out, "retwis v1.2.3\ncommit: abc\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// Each flag says in the help by which variable it can be set, and has a word
// on what it is.
func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	root := newRoot(Env{Getenv: func(string) string { return "" }})
	for _, name := range []string{"serve", "seed", "check"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s has no long help or no example", name)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !strings.Contains(f.Usage, " ["+variable(f.Name)+"]") {
				t.Errorf("%s --%s: %q does not name its variable", name, f.Name, f.Usage)
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
	if code != exitFailure || stderr.String() != "retwis: stopped before it was done\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the port is taken":               errors.New("the port is taken"),
		"no directory":                    errors.New("store: no directory"),
		"redis://db: no route":            errors.New("store: redisserver: redis://db: no route"),
		"it failed; and could not be put": errors.Join(errors.New("social: it failed"), errors.New("store: and could not be put")),
		"open: store: as it is":           fmt.Errorf("open: %w", errors.New("store: as it is")),
	} {
		if got := oneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
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
	if code != exitUsage || !strings.Contains(stderr, `invalid value "a lot" of the variable RETWIS_USERS`) {
		t.Errorf("without the flag: exit code %d, stderr %q", code, stderr)
	}
	code, _, stderr = run(t, getenv, "seed", "--redis", "nothing", "--users", "3")
	if code != exitFailure || strings.Contains(stderr, "RETWIS_USERS") {
		t.Errorf("with the flag: exit code %d, stderr %q", code, stderr)
	}
}
