// Package cli is the command line of retwis: one file a command. Arguments,
// environment and streams are passed in, so that a test can run the whole of
// it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Version string // empty: what the build knows
	Commit  string // empty: what the build knows
}

// Run runs a command and returns its exit code: 0 when all went well, 1 when
// something failed, 2 when the command was called in a way it does not know, and
// what its help says where that is more.
func Run(ctx context.Context, args []string, env Env) int {
	root := newRoot(env)
	root.SetArgs(args)
	// What is wrong before a command begins is wrong with how it was called.
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	cmd, err := root.ExecuteContextC(ctx)
	if cmd.Name() == "help" {
		cmd = root // whose help lists what there is
	}
	var usage *usageError
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(env.Stderr, "retwis: %s\n", oneLine(exit.err))
		}
		return exit.code
	case !began || errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "retwis: %v\nSee %q.\n", err, cmd.CommandPath()+" --help")
		return exitUsage
	case errors.Is(err, errTold):
		return exitFailure
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintf(env.Stderr, "retwis: %v\n", errStopped)
		return exitFailure
	}
	fmt.Fprintf(env.Stderr, "retwis: %s\n", oneLine(err))
	var hinted *hintedError
	if errors.As(err, &hinted) {
		fmt.Fprintln(env.Stderr, hinted.hint)
	}
	return exitFailure
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "retwis",
		Short: "A Twitter clone that keeps everything in Redis, and the patterns it is made of",
		Long: `Retwis is the well-known Twitter clone that keeps everything in Redis, built to
be run in earnest, and the patterns that it is made of, for use at a shell. The data is in a Redis or Valkey server, 6.2 or newer: one
that retwis starts for itself (valkey-server or redis-server on PATH, or the
program that RETWIS_REDIS_SERVER names), or one that runs elsewhere (--redis).`,
		Example: `  retwis serve --demo          look at it, filled with a made-up network
  retwis serve                 run it; the data is in ~/.local/share/retwis
  retwis serve --redis redis://db.example.com --addr :8080
  retwis lock backup -- ./backup.sh    one at a time, whatever machine it is on
  retwis load users.csv --do 'HSET user:{id} name {name}'`,
		Version:       buildInfo(env).Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	// Before any command is made: that of completion keeps the writer it finds.
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("retwis {{.Version}}\n")
	root.AddCommand(newServe(env), newSeed(env), newCheck(env), newRepairData(env), newLock(env), newLoad(env), newIndex(env), newSuggest(env), newGraph(env), newSpace(env), newModel(env), newVersion(env))
	for _, command := range root.Commands() {
		if command.Args == nil {
			command.Args = noArguments
		}
	}
	refuseUnknownWords(root)
	return root
}

// refuseUnknownWords makes wrong usage of what cobra would answer with a help
// text and exit code 0: "retwis completion bsh > FILE" is no success.
func refuseUnknownWords(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "help":
			command.Args = func(help *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil {
					return err
				}
				return about.ValidateArgs(rest)
			}
		case "completion":
			command.Args = unknownCommand
			command.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
			command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], like[0])
	}
	return fmt.Errorf("unknown command %q", args[0])
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, and %q is none", cmd.Name(), args[0])
	}
	return nil
}
