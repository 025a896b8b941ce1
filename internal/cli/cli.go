// Package cli is the command line of retwis. It assembles the commands, each noun
// in a package below. Arguments, environment and streams are passed in, so that a
// test can run the whole program.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"retwis/internal/cli/graph"
	"retwis/internal/cli/index"
	"retwis/internal/cli/load"
	"retwis/internal/cli/lock"
	"retwis/internal/cli/model"
	"retwis/internal/cli/serve"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/space"
	"retwis/internal/cli/suggest"
)

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
	if err != nil && !began {
		err = shell.Usage(err)
	}
	return shell.PrintError(ctx, env.Stderr, cmd.CommandPath(), err)
}

// Env is what a command sees of the world.
type Env = shell.Env

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
		Args:          shell.UnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	// Before any command is made: that of completion keeps the writer it finds.
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("retwis {{.Version}}\n")
	root.AddCommand(serve.New(env), serve.NewSeed(env), serve.NewCheck(env), serve.NewRepairData(env), lock.New(env), load.New(env), index.New(env), suggest.New(env), graph.New(env), space.New(env), model.New(env), newVersion(env))
	for _, command := range root.Commands() {
		if command.Args == nil {
			command.Args = shell.NoArguments
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
			command.Args = shell.UnknownCommand
			command.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
			command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
