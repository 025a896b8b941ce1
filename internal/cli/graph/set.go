package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

func newSet(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "set [flags] KEY SUBJECT PREDICATE OBJECT...",
		Short: "Make objects the only ones of a subject and a predicate",
		Long: `Makes the objects the only ones that the subject has with the predicate: puts those that
are new and removes all others in one step, so that nobody finds a part of them. Objects
that stay are not touched. A graph that does not exist is created.

It puts at most 100 objects, and removes at most 100; if there are more to remove it
changes nothing. "graph remove --where" removes any number, in steps.`,
		Example: `  retwis graph set people ada age 37
  retwis graph set people ada likes tea "ice cream"`,
		Args: shell.Arguments(4, -1, ""),
	})
	var declared declaration
	declared.add(c)
	c.Creates = true
	return declared.noun().Build(c, "print the numbers as JSON", func(ctx context.Context, g *graph.Graph, args []string) error {
		added, removed, err := g.Set(ctx, args[0], args[1], args[2:]...)
		if errors.Is(err, graph.ErrTooMany) {
			return shell.Hint(err, fmt.Sprintf("Remove them with %q.", "retwis graph remove KEY --where 'SUBJECT PREDICATE ?x'"))
		}
		if err != nil {
			return err
		}
		return printSet(c, added, removed)
	})
}

func printSet(c *shell.Command, added, removed int) (err error) {
	if c.JSON {
		_, err = fmt.Fprintf(c.Stdout, "{\"added\":%d,\"removed\":%d}\n", added, removed)
	} else {
		_, err = fmt.Fprintf(c.Stdout, "added: %d, removed: %d\n", added, removed)
	}
	return err
}
