// Package cli is the command line of retwis: one file a command. Arguments,
// environment and streams are passed in, so that a test can run the whole of
// it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes that scripts can rely on.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// Env is what a command sees of the world.
type Env struct {
	Getenv  func(string) string
	Stdout  io.Writer
	Stderr  io.Writer
	Version string // empty: what the build knows
}

// Run runs a command and returns its exit code.
func Run(ctx context.Context, args []string, env Env) int {
	root := newRoot(env)
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	var wrong *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent):
		return exitFailure
	case errors.As(err, &wrong):
		fmt.Fprintf(env.Stderr, "retwis: %v\n%s", err, wrong.hint())
		return exitUsage
	default:
		fmt.Fprintf(env.Stderr, "retwis: %s\n", plainWords(err))
		return exitFailure
	}
}

// errSilent is a failure that has been told already.
var errSilent = errors.New("failed")

// usageError is a command that was called in a way it does not know.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) hint() string  { return fmt.Sprintf("See %q.\n", e.command+" --help") }

// plainWords drops the names of packages from the front of an error.
func plainWords(err error) string {
	text := err.Error()
	for {
		head, rest, ok := strings.Cut(text, ": ")
		switch head {
		case "store", "redisserver", "social", "web", "seed":
		default:
			ok = false
		}
		if !ok {
			return text
		}
		text = rest
	}
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "retwis",
		Short: "A Twitter clone that keeps everything in Redis",
		Long: `Retwis is the well-known Twitter clone that keeps everything in Redis, built
to be run in earnest. It needs a Redis or Valkey server (6.2 or newer) on this
machine, which it starts by itself, or one that runs elsewhere.`,
		Example: `  retwis serve --demo          look at it, filled with a made-up network
  retwis serve                 run it; the data is in ~/.local/share/retwis
  retwis serve --redis redis://db.example.com --addr :8080`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:          unknownCommand,

		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{cmd.CommandPath(), err}
	})
	root.AddCommand(newServe(env), newSeed(env), newCheck(env), newVersion(env))
	for _, command := range root.Commands() {
		command.Args = noArguments
	}
	return root
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		err = fmt.Errorf("%w; did you mean %q?", err, like[0])
	}
	return &usageError{cmd.CommandPath(), err}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{cmd.CommandPath(), fmt.Errorf("%q: %s takes flags only", args[0], cmd.Name())}
	}
	return nil
}
