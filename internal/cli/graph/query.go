package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

func newQuery(env shell.Env) *cobra.Command {
	var flags commonFlags
	var explain, distinct bool
	var limit int
	var only []string
	var memory shell.ByteSize = 64 << 20
	cmd := &cobra.Command{
		Use:   "query [flags] KEY QUERY",
		Short: "Answer a question of several patterns that share variables",
		Long: `Shows what can stand for the variables of a question so that all of its patterns are
there. A pattern is three words, with a dot that stands alone between patterns:
  ?x             a variable
  beer           a name; "ice cream" one with blanks, \" and \\ are " and \ in it
  *              anything
  friend-of*1..3 as a predicate, a path of 1 to 3 steps; *2 two, *2.. two or more,
                 + one or more, * none or more
  ^friend-of     as a predicate, from object to subject
  <http://a/b>   terms of N-Triples are names with their brackets and quotes:
                 "text"@en; a literal without a language is "\"text\""
There may be filters between patterns: "?x != ?y" and "?x = beer" compare names as they
are; "?n > 10", "<", "<=" and ">=" compare numbers by value and other names as text, and
never one with the other; "?x ~ ^b" is a regular expression. What looks like a filter or
a path of another language is refused; in double quotes it is a name.

It begins with the pattern that has fewest triples, and goes on along the variables.
--explain shows how, and answers nothing. The answers are in no order. A question
without variables is answered by yes or no.`,
		Example: `  retwis graph query people '?x likes beer . ?x lives-in barcelona . matteo friend-of ?x'
  retwis graph query people 'matteo friend-of*1..3 ?x . ?x likes "ice cream" . ?x != matteo' --json
  retwis graph query people '?x age ?n . ?n >= 18 . ?n < 30'
  retwis graph query people '?x friend-of ?y . ?y lives-in palermo' --select x --distinct --limit 10`,
		Args: shell.Arguments(2, 2, "retwis graph query KEY QUERY, with the query in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := graph.Parse(args[1])
			if err != nil {
				return shell.Usage(errors.New(shell.OneLine(err)))
			}
			q.Limit, q.Distinct, q.Select, q.Memory = limit, distinct, only, int64(memory)
			return flags.open(cmd, env, args[0], nil, func(ctx context.Context, g *graph.Graph) error {
				if explain {
					return flags.explain(cmd, ctx, g, q)
				}
				err := flags.answer(cmd, ctx, g, q)
				if errors.Is(err, graph.ErrMemory) {
					return shell.Hint(err, "Ask for less, or raise --memory.")
				}
				return err
			})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 0, "show so many answers at most; 0: all")
	cmd.Flags().StringSliceVar(&only, "select", nil, "the `VARIABLES` to show, with commas (default: all)")
	cmd.Flags().BoolVar(&distinct, "distinct", false, "show each answer once")
	cmd.Flags().BoolVar(&explain, "explain", false, "show how it would be answered")
	cmd.Flags().Var(&memory, "memory", "how much --distinct and paths may remember")
	flags.add(cmd, env, `print each answer as a line of JSON: {"x":…}`)
	return cmd
}

// answer prints the answers to a query.
func (flags *commonFlags) answer(cmd *cobra.Command, ctx context.Context, g *graph.Graph, q graph.Query) error {
	out := newRows(cmd, flags.json)
	n := 0
	for b, err := range g.Query(ctx, q) {
		if err != nil {
			return cmp.Or(err, out.end())
		}
		vars := b.Vars()
		var head, cells []string
		for _, v := range vars {
			head, cells = append(head, "?"+v), append(cells, b.Get(v))
		}
		if len(vars) == 0 {
			cells = []string{"yes"}
		}
		if n++; n == 1 && len(vars) > 1 && !flags.json {
			err = out.table.Add(head...)
		}
		if err = cmp.Or(err, out.print(b, cells...)); err != nil {
			return err
		}
	}
	if n == 0 && len(q.Vars()) == 0 && !flags.json {
		return cmp.Or(out.table.Add("no"), out.end())
	}
	return out.end()
}

// explain prints how a query would be answered.
func (flags *commonFlags) explain(cmd *cobra.Command, ctx context.Context, g *graph.Graph, q graph.Query) error {
	plan, err := g.Explain(ctx, q)
	if err != nil {
		return err
	}
	if !flags.json {
		_, err = fmt.Fprint(cmd.OutOrStdout(), plan)
		return err
	}
	e := shell.NewEncoder(cmd.OutOrStdout())
	for _, s := range plan.Steps {
		err := e.Encode(struct {
			Pattern string `json:"pattern"`
			Count   int64  `json:"count"`
			How     string `json:"how"`
		}{s.Pattern.String(), s.Count, s.How})
		if err != nil {
			return err
		}
	}
	return nil
}
