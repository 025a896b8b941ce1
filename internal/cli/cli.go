// Package cli is the retwis command line. Its subpackages, one per noun, provide the commands.
// Arguments, environment and streams are parameters, so a test can run the whole program.
package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"retwis/internal/cli/backup"
	"retwis/internal/cli/block"
	"retwis/internal/cli/collection"
	"retwis/internal/cli/doctor"
	"retwis/internal/cli/graph"
	"retwis/internal/cli/index"
	"retwis/internal/cli/invite"
	"retwis/internal/cli/load"
	"retwis/internal/cli/lock"
	"retwis/internal/cli/model"
	"retwis/internal/cli/post"
	"retwis/internal/cli/ratelimit"
	"retwis/internal/cli/report"
	"retwis/internal/cli/search"
	"retwis/internal/cli/serve"
	"retwis/internal/cli/shell"
	"retwis/internal/cli/site"
	"retwis/internal/cli/space"
	"retwis/internal/cli/suggest"
	"retwis/internal/cli/tag"
	"retwis/internal/cli/text"
	"retwis/internal/cli/user"
)

// Run runs a command and returns its exit code: 0 for success, 1 for a failure, 2 for wrong usage,
// or another code that the command's help documents.
func Run(ctx context.Context, args []string, env Env) int {
	if len(args) > 0 && args[0] == lock.GuardCommand {
		return lock.Guard(env, args[1:])
	}
	help := &checkedWriter{Writer: env.Stdout}
	root := newRoot(env)
	root.SetOut(help)
	root.SetArgs(args)
	// An error before the command starts is a usage error.
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	cmd, err := root.ExecuteContextC(ctx)
	if cmd.Name() == "help" {
		cmd = root // root's help lists the commands
	}
	if err != nil && !started {
		err = shell.Usage(err)
	}
	if err == nil {
		err = help.err
	}
	return shell.PrintError(ctx, env.Stderr, cmd.CommandPath(), err)
}

// checkedWriter keeps the first write error. Cobra ignores write errors when it prints help,
// completions and the version.
type checkedWriter struct {
	io.Writer
	err error
}

// Write implements [io.Writer].
func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("cannot write: %w", err)
	}
	return n, err
}

// Command returns the command tree without running it, for generating manual pages.
func Command(env Env) *cobra.Command { return newRoot(env) }

// Env is the environment of a command.
type Env = shell.Env

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "retwis",
		Short: "A social network that keeps everything in Redis, and its toolkit for Redis",
		Long: `Retwis is a social network that keeps everything in Redis, and a toolkit of the patterns
it is built on: locks, mass insertion, indexes, completion, full-text search, graphs,
points, rings, capped lists, random draws, models and rate limits.

The data is in a Redis or Valkey server, version 6.2 or newer: one that retwis starts
itself (valkey-server or redis-server on PATH, or the program named by
RETWIS_REDIS_SERVER), or one that you run (--redis).`,
		Example: `  retwis serve --demo                  try the site, with sample users and posts
  retwis serve                         serve it, with the data in ~/.local/share/retwis
  retwis serve --redis redis://db.example.com --addr :8080
  retwis lock backup -- ./backup.sh    run it on one machine at a time
  retwis load users.csv --do 'HSET user:{id} name {name}'`,
		Version:       buildInfo(env).Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          shell.UnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	// The completion command keeps the writer that root has when the command is created.
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(shell.FlagError)
	root.SetVersionTemplate("retwis {{.Version}}\n")
	root.AddGroup(&cobra.Group{ID: "site", Title: "The site:"}, &cobra.Group{ID: "toolkit", Title: "The toolkit:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = group
			root.AddCommand(command)
		}
	}
	add("site", serve.Commands(env)...)
	add("site", user.New(env), user.NewImport(env), post.New(env), search.New(env), tag.New(env), block.New(env), doctor.New(env), invite.New(env), site.New(env))
	add("site", backup.Commands(env, buildInfo(env).Version)...)
	add("site", report.Commands(env)...)
	tools := env
	tools.Toolkit = true
	add("toolkit", lock.New(tools), load.New(tools), index.New(tools), suggest.New(tools), text.New(tools), graph.New(tools), space.New(tools))
	add("toolkit", collection.Commands(tools)...)
	add("toolkit", model.New(tools), ratelimit.New(tools))
	root.AddCommand(newVersion(env))
	refuseUnknownArguments(root)
	return root
}

// refuseUnknownArguments turns arguments for which cobra would print help and exit with 0, such as
// "retwis completion bsh", into usage errors.
func refuseUnknownArguments(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "help":
			command.Args = func(help *cobra.Command, args []string) error {
				cmd, rest, err := root.Find(args)
				if err != nil {
					return err
				}
				return cmd.ValidateArgs(rest)
			}
		case "completion":
			command.Args = shell.UnknownCommand
			command.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
			command.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
