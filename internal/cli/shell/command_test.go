package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"retwis/index"
)

// runTest runs one command of a program and returns its exit code and output.
func runTest(ctx context.Context, cmd func(env Env) *cobra.Command, env Env, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	env.Stdout, env.Stderr = &out, &errs
	root := Group(&cobra.Command{Use: "program", SilenceErrors: true, SilenceUsage: true}, cmd(env))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	ran, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = Usage(err)
	}
	code = PrintError(ctx, &errs, ran.CommandPath(), err)
	return code, out.String(), errs.String()
}

// Flags come from the command line, or from their variables if they have one.
func TestCommandVariables(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		return map[string]string{
			"RETWIS_REDIS": "redis://db", "RETWIS_JSON": "true", "RETWIS_COLOUR": "blue",
			"RETWIS_TOOLKIT_REDIS": "redis://tools", "RETWIS_TOOLKIT_ALLOW_SITE": "true",
		}[name]
	}
	for name, test := range map[string]struct {
		fromEnv, toolkit bool
		args             []string
		want             string
	}{
		"the toolkit":  {fromEnv: true, toolkit: true, want: "redis://tools false red"},
		"only redis":   {want: "redis://db false red"},
		"all but json": {fromEnv: true, want: "redis://db false blue"},
		"flags win":    {fromEnv: true, args: []string{"--redis", "redis://other", "--colour=red", "--json"}, want: "redis://other true red"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show := func(env Env) *cobra.Command {
				c := New(env, &cobra.Command{Use: "show"})
				colour := c.AddChoice("colour", "the colour", "red", "blue")
				c.AddJSON("print JSON")
				c.AddRedis()
				if test.fromEnv {
					c.FromEnv("json")
				}
				return c.Build(func(context.Context, []string) error {
					if c.allowSite {
						return errors.New("a variable allows the use of the database of a site")
					}
					_, err := fmt.Fprintf(c.Stdout, "%s %t %s", c.Redis, c.JSON, colour)
					return err
				})
			}
			code, out, stderr := runTest(t.Context(), show, Env{Getenv: getenv, Toolkit: test.toolkit}, append([]string{"show"}, test.args...)...)
			if code != ExitOK || out != test.want {
				t.Errorf("exit code %d, output %q, want %q, stderr %q", code, out, test.want, stderr)
			}
		})
	}
}

// A command name that other tools use leads to a suggestion of the retwis command.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	child := func(name string) *cobra.Command {
		return &cobra.Command{Use: name, RunE: func(*cobra.Command, []string) error { return nil }}
	}
	parent := Group(&cobra.Command{Use: "noun"}, child("get"), child("remove"), child("select"))
	for name, want := range map[string]string{
		"del":   `unknown command "del"; did you mean "remove"?`,
		"query": `unknown command "query"; did you mean "select"?`,
		"gte":   `unknown command "gte"; did you mean "get"?`,
		"ls":    `unknown command "ls"`,
	} {
		if err := UnknownCommand(parent, []string{name}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := UnknownCommand(parent, nil); err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	get := func(env Env) *cobra.Command {
		c := New(env, &cobra.Command{Use: "get [flags] KEY [ID]", Args: Arguments(1, 2, ", please")})
		c.AddJSON("print JSON")
		return c.Build(func(context.Context, []string) error { return nil })
	}
	for args, want := range map[string]string{
		"get":       "retwis: missing argument: program get KEY [ID], please\nSee \"program get --help\".\n",
		"get a":     "",
		"get a b":   "",
		"get a b c": "retwis: unexpected argument \"c\": program get KEY [ID], please\nSee \"program get --help\".\n",
		"gett":      "retwis: unknown command \"gett\"; did you mean \"get\"?\nSee \"program --help\".\n",
	} {
		_, _, stderr := runTest(t.Context(), get, Env{}, strings.Fields(args)...)
		if stderr != want {
			t.Errorf("%q: %q, want %q", args, stderr, want)
		}
	}
}

// The error of a command determines its exit code and what is printed.
func TestPrintError(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	failure := errors.New("store: no route to db")
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		want string
	}{
		"success":         {code: ExitOK},
		"failure":         {err: failure, code: ExitFailure, want: "retwis: no route to db\n"},
		"hint":            {err: fmt.Errorf("open: %w", Hint(failure, "Start it.")), code: ExitFailure, want: "retwis: open: store: no route to db\nStart it.\n"},
		"wrong usage":     {err: Usage(errors.New("--rate: too much")), code: ExitUsage, want: "retwis: --rate: too much\nSee \"program --help\".\n"},
		"exit code":       {err: Exit(75, failure), code: 75, want: "retwis: no route to db\n"},
		"exit code alone": {err: Exit(3, nil), code: 3},
		"reported":        {err: errors.Join(ErrReported), code: ExitFailure},
		"stopped":         {ctx: stopped, err: fmt.Errorf("read: %w", context.Canceled), code: ExitFailure, want: "retwis: stopped before finishing\n"},
		"not stopped":     {err: context.Canceled, code: ExitFailure, want: "retwis: context canceled\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := test.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			var stderr bytes.Buffer
			if code := PrintError(ctx, &stderr, "program", test.err); code != test.code || stderr.String() != test.want {
				t.Errorf("exit code %d, want %d; %q, want %q", code, test.code, stderr.String(), test.want)
			}
		})
	}
}

// IDs that are not found are reported; the others are shown.
func TestShowEach(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := testCommand(&out)
	show := func(id string) error {
		switch id {
		case "missing":
			return fmt.Errorf("index: %w: id %q", index.ErrNotFound, id)
		case "broken":
			return errors.New("no route")
		}
		_, err := fmt.Fprintln(&out, id)
		return err
	}
	if err := c.ShowEach([]string{"a", "missing", "b"}, show); !errors.Is(err, ErrReported) {
		t.Error(err)
	}
	if want := "a\nretwis: not found: id \"missing\"\nb\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
	if err := c.ShowEach([]string{"broken", "a"}, show); err == nil || errors.Is(err, ErrReported) {
		t.Error(err)
	}
}
