package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// patternHelp explains the three arguments of select and count.
const patternHelp = `A name is taken as it is; \* is the name *, and \?x the name ?x, which is a variable in
"graph query".`

func newSelect(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "select [flags] KEY SUBJECT PREDICATE OBJECT",
		Short: "Show the triples that match a pattern",
		Long: `Shows the triples with these parts; '*' matches any. They come in the order of subject,
predicate and object as far as these are open, or in another order with --order, which
must begin with the parts that are known.

` + patternHelp,
		Example: `  retwis graph select people matteo friend-of '*'
  retwis graph select people '*' '*' '*' --limit 10 --cursor    then the next 10 with --after CURSOR`,
		Args: shell.Arguments(4, 4, patternNote),
	})
	var page shell.PageFlags
	page.Add(c)
	order := c.AddChoice("order", "in which order to show them", "auto", "spo", "sop", "pso", "pos", "osp", "ops")
	c.AddJSON(`print each triple as a line of JSON: {"s":…,"p":…,"o":…}`)
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		p, err := parsePattern(args[1:])
		if err != nil {
			return err
		}
		if err := page.Check(); err != nil {
			return err
		}
		if order.Value != "auto" {
			p.Order = graph.Order(order.Value)
		}
		return withGraph(ctx, c, args[0], func(g *graph.Graph) error {
			out := c.NewPrinter()
			for t, err := range g.Select(ctx, p, page.Page) {
				if err == nil {
					err = printTriple(out, t, page.Cursor)
				}
				if err != nil {
					return errors.Join(err, out.End())
				}
			}
			return out.End()
		})
	})
}

func printTriple(out *shell.Printer, t graph.Triple, cursor bool) error {
	object, cells := shell.Object{{Name: "s", Value: t.S}, {Name: "p", Value: t.P}, {Name: "o", Value: t.O}}, []string{t.S, t.P, t.O}
	if cursor {
		object, cells = append(object, shell.Field{Name: "cursor", Value: t.Cursor()}), append(cells, t.Cursor())
	}
	return out.Print(object, cells...)
}

func newCount(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "count [flags] KEY SUBJECT PREDICATE OBJECT",
		Short: "Count the triples that match a pattern",
		Long: `Counts the triples with these parts; '*' matches any.

` + patternHelp,
		Example: `  retwis graph count people '*' likes beer`,
		Args:    shell.Arguments(4, 4, patternNote),
	})
	c.AddJSON("print the number as JSON")
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		p, err := parsePattern(args[1:])
		if err != nil {
			return err
		}
		return withGraph(ctx, c, args[0], func(g *graph.Graph) error {
			n, err := g.Count(ctx, p)
			if err != nil {
				return err
			}
			return c.PrintCount(n)
		})
	})
}

// patternNote follows the usage of select and count in an error.
const patternNote = ", each part a name or '*'"

// parsePattern reads the arguments SUBJECT PREDICATE OBJECT.
func parsePattern(args []string) (graph.Pattern, error) {
	var terms [3]graph.Term
	for i, arg := range args {
		if len(arg) > 1 && arg[0] == '?' {
			return graph.Pattern{}, shell.Usage(fmt.Errorf("%s is a variable, which is for \"graph query\"; write '*' for any name, or '\\%s' for this one", arg, arg))
		}
		terms[i] = parseTerm(arg)
	}
	return graph.Pattern{S: terms[0], P: terms[1], O: terms[2]}, nil
}

func parseTerm(arg string) graph.Term {
	if arg == "*" {
		return graph.Term{}
	}
	if name := strings.TrimLeft(arg, `\`); name == "*" || strings.HasPrefix(name, "?") { // \* is *, \\* is \*
		arg = strings.TrimPrefix(arg, `\`)
	}
	return graph.Name(arg)
}
