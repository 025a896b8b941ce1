package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"retwis/internal/cli/shell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run runs a command and returns its exit code and output.
func run(t *testing.T, getenv func(string) string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	code = Run(t.Context(), args, Env{Getenv: getenv, Stdout: &out, Stderr: &err, Version: "v1.2.3", Commit: "abc"})
	return code, out.String(), err.String()
}

func TestVersionFromLinker(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, nil, "version")
	if code != shell.ExitOK || !strings.HasPrefix(out, "retwis v1.2.3\ncommit: abc\n") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// commands returns all commands except cobra's own.
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := make(map[string]*cobra.Command)
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			return
		}
		all[strings.TrimPrefix(cmd.CommandPath(), "retwis ")] = cmd
		for _, child := range cmd.Commands() {
			add(child)
		}
	}
	add(newRoot(Env{Getenv: func(string) string { return "" }}))
	return all
}

// The help of each flag of a site command names its variable, unless the flag changes what the
// command does.
func TestHelpNamesEveryVariable(t *testing.T) {
	t.Parallel()
	all := commands(t)
	for name, actions := range map[string][]string{"serve": nil, "seed": nil, "check": {"repair", "delete-files"}} {
		all[name].LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			if named := strings.Contains(f.Usage, " ["+shell.Variable(f.Name)+"]"); named == slices.Contains(actions, f.Name) {
				t.Errorf("%s --%s: %q names its variable: %v", name, f.Name, f.Usage, named)
			}
		})
	}
}

// Each command has help that fits a terminal, with examples.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	for name, cmd := range commands(t) {
		if name == "version" {
			continue
		}
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s: part of the help is empty", name)
		}
		if !strings.Contains(cmd.Example, "retwis "+strings.TrimPrefix(name, "retwis")) {
			t.Errorf("%s has no example: %s", name, cmd.Example)
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 92 {
				t.Errorf("%s: line too long: %s", name, line)
			}
		}
	}
}

// A flag has the same meaning and the same help text in all subcommands of the site, and in all
// subcommands of the toolkit.
func TestFlagsAgree(t *testing.T) {
	t.Parallel()
	exceptions := []string{"json", "from", "format", "limit"} // flags that describe what the command reads or prints
	first := make(map[string]*pflag.Flag)
	for name, cmd := range commands(t) {
		if !strings.Contains(name, " ") { // not a subcommand of a noun
			continue
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := cmd.Parent().GroupID + " --" + f.Name
			g, ok := first[key]
			if !ok {
				first[key] = f
				return
			}
			if f.Name == "help" || slices.Contains(exceptions, f.Name) {
				return
			}
			if f.Usage != g.Usage || f.Shorthand != g.Shorthand || f.Value.Type() != g.Value.Type() {
				t.Errorf("%s --%s: %q, but another command has %q", name, f.Name, f.Usage, g.Usage)
			}
		})
		if cmd.Flags().Lookup("redis") == nil {
			t.Errorf("%s has no --redis", name)
		}
	}
}

// A variable has the same meaning in every command, because all commands read the settings of the
// service.
func TestVariablesAgree(t *testing.T) {
	t.Parallel()
	exceptions := map[string]string{
		"RETWIS_REDIS":    "the database, which retwis lock needs only without servers",
		"RETWIS_JSON":     "what is printed as JSON",
		"RETWIS_RATE":     "how fast a command works: no setting of the site",
		"RETWIS_PICTURES": "the file of the pictures that backup writes and restore reads",
	}
	first := make(map[string]string)
	for name, cmd := range commands(t) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			variable := shell.Variable(f.Name)
			if !strings.HasSuffix(f.Usage, " ["+variable+"]") || exceptions[variable] != "" {
				return
			}
			if other, ok := first[variable]; ok && other != f.Usage {
				t.Errorf("%s --%s: %q, but another command has %q", name, f.Name, f.Usage, other)
			}
			first[variable] = f.Usage
		})
	}
}

// An interrupted command prints only that it was interrupted.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	code := Run(ctx, []string{"check", "--redis", "redis://127.0.0.1:1"}, Env{
		Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &stderr,
	})
	if code != shell.ExitFailure || stderr.String() != "retwis: stopped before finishing\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// A flag overrides its variable, even if the variable's value is invalid.
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
	if code != shell.ExitUsage || strings.Contains(stderr, "RETWIS_USERS") {
		t.Errorf("with the flag: exit code %d, stderr %q", code, stderr)
	}
}
