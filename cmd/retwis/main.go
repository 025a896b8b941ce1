// Command retwis serves the social network, maintains its database and provides the toolkit on the
// command line. See retwis --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"retwis/internal/cli"
	"retwis/internal/cli/shell"
)

// version and commit are set by the linker; see the Makefile.
var version, commit string

func main() {
	signals := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(os.Interrupt) { // ignored if a script runs "retwis serve &"
		signals = append(signals, os.Interrupt)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	getenv, err := shell.WithEnvFile(os.LookupEnv)
	if err != nil {
		os.Exit(shell.PrintError(ctx, os.Stderr, "retwis", err))
	}
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Env{
		Getenv: getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version, Commit: commit,
	}))
}
