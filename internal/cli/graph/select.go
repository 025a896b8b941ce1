package graph

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// patternHelp describes the names in the arguments of select and count.
const patternHelp = `Names are taken literally. Write \* for the name *, and \?x for the name ?x, which would be
a variable in "graph query".`

func newSelect(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "select [flags] KEY SUBJECT PREDICATE OBJECT",
		Short: "Show the triples that match a pattern",
		Long: `Shows the triples with these parts; '*' matches any name. The triples are sorted by those
of subject, predicate and object that are '*', in this order, or as --order says. An order
must begin with the parts that are known.

` + patternHelp,
		Example: `  retwis graph select people matteo friend-of '*'
  retwis graph select people '*' '*' '*' --limit 10 --cursor    then the next 10 with --after CURSOR`,
		Args: shell.Arguments(4, 4, patternNote),
	})
	var page shell.PageFlags
	page.Add(c)
	order := c.AddChoice("order", "the order of the triples", "auto", "spo", "sop", "pso", "pos", "osp", "ops")
	var p graph.Pattern
	check := func(args []string) (err error) {
		if p, err = parsePattern(args); err == nil && order.Value != "auto" {
			p.Order = order.Value
		}
		return cmp.Or(err, page.Check())
	}
	return existing.BuildChecked(c, `print each triple as a line of JSON: {"s":…,"p":…,"o":…}`, check, func(ctx context.Context, g *graph.Graph, _ []string) error {
		out := c.NewPrinter()
		return shell.PrintAll(out, g.Select(ctx, p, page.Page), func(t graph.Triple) error { return printTriple(out, t, page.Cursor) })
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
		Long: `Counts the triples with these parts; '*' matches any name.

` + patternHelp,
		Example: `  retwis graph count people '*' likes beer`,
		Args:    shell.Arguments(4, 4, patternNote),
	})
	var p graph.Pattern
	check := func(args []string) (err error) {
		p, err = parsePattern(args)
		return err
	}
	return existing.BuildChecked(c, "print the number as JSON", check, func(ctx context.Context, g *graph.Graph, _ []string) error {
		n, err := g.Count(ctx, p)
		if err != nil {
			return err
		}
		return c.PrintCount(n)
	})
}

// patternNote follows the usage of select and count in an error.
const patternNote = ", each part a name or '*'"

// parsePattern parses the arguments SUBJECT PREDICATE OBJECT.
func parsePattern(args []string) (graph.Pattern, error) {
	var terms [3]graph.Term
	for i, arg := range args {
		if len(arg) > 1 && arg[0] == '?' {
			return graph.Pattern{}, shell.Usage(fmt.Errorf("%s is a variable, which only \"graph query\" accepts; write '*' for any name, or '\\%s' for this one", arg, arg))
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
