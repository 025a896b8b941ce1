package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index/graph"
	"retwis/internal/cli/shell"
)

// queryFlags are the flags of retwis graph query.
type queryFlags struct {
	limit, offset     int
	variables         []string
	orderBy           []string
	distinct, explain bool
	memory            shell.ByteSize
}

func newQuery(env shell.Env) *cobra.Command {
	c := shell.New(env, &cobra.Command{
		Use:   "query [flags] KEY QUERY",
		Short: "Query a graph by several patterns that share variables",
		Long: `Shows the values of the variables with which all patterns of a query match. A pattern
is three words; a dot between spaces separates patterns:
  ?x             a variable
  beer           a name; quote a name with spaces, "ice cream", and write \" and \\
                 for " and \ in it
  *              anything
  friend-of*1..3 as a predicate, a path of 1 to 3 steps; *2 two, *2.. two or more,
                 + one or more, * none or more; one end must be a name, or a variable
                 of another pattern
Filters can stand between patterns: "?n > 10", and "<", "<=", ">=", "=" and "!=" compare
numbers by value and other names as text; a number and a text differ, and neither is less.
"?x ~ ^b" is a regular expression. A filter or path in the syntax of another query language
is refused; in double quotes it is a name.

A query starts with the pattern that matches the fewest triples, and follows the
variables from there. --explain shows the plan instead of answers. The order of answers is
undefined without --order-by, which sorts numbers by value, then texts. It reads all
answers, and keeps the first --offset plus --limit of them in memory. A query without
variables is answered with yes or no.`,
		Example: `  retwis graph query people '?x likes beer . ?x lives-in barcelona . matteo friend-of ?x'
  retwis graph query people 'matteo friend-of*1..3 ?x . ?x likes "ice cream" . ?x != matteo' --json
  retwis graph query people '?x age ?n . ?n >= 18 . ?n < 30' --order-by 'n desc,x' --limit 10
  retwis graph query people '?x friend-of ?y . ?y lives-in palermo' --select x --distinct --limit 10`,
		Args: shell.Arguments(2, 2, ", with the query in quotes"),
	})
	flags := queryFlags{memory: 64 << 20}
	f := c.Flags()
	f.IntVarP(&flags.limit, "limit", "n", 0, "show at most this many results; 0 for all")
	f.IntVar(&flags.offset, "offset", 0, "skip this many results first")
	c.AddOrderBy(&flags.orderBy)
	f.StringSliceVar(&flags.variables, "select", nil, "the `VARIABLES` to show, separated by commas (default: all)")
	f.BoolVar(&flags.distinct, "distinct", false, "show each answer once")
	f.BoolVar(&flags.explain, "explain", false, "show the plan instead of answers")
	f.Var(&flags.memory, "memory", "how much memory --distinct, --order-by and paths may use")
	var q graph.Query
	check := func(args []string) (err error) {
		q, err = flags.parse(args[0])
		return err
	}
	return existing.BuildChecked(c, `print each answer as a line of JSON: {"x":…}`, check, func(ctx context.Context, g *graph.Graph, _ []string) error {
		if flags.explain {
			return explain(ctx, c, g, q)
		}
		err := answer(ctx, c, g, q)
		if errors.Is(err, graph.ErrMemory) {
			return shell.Hint(err, flags.memoryHint())
		}
		return err
	})
}

// parse parses a query and applies the flags.
func (f *queryFlags) parse(text string) (graph.Query, error) {
	q, err := graph.Parse(text)
	if err != nil {
		return q, shell.Usage(errors.New(shell.OneLine(err)))
	}
	q.Limit, q.Offset, q.Distinct, q.Memory = f.limit, f.offset, f.distinct, int64(f.memory)
	q.Select = trimMarks(f.variables)
	q.OrderBy, err = sortKeys(f.orderBy)
	return q, err
}

// memoryHint returns the hint for a query that needs too much memory.
func (f *queryFlags) memoryHint() string {
	if len(f.orderBy) > 0 && f.limit == 0 {
		return "Set --limit, make the query narrower, or raise --memory."
	}
	return "Make the query narrower, or raise --memory."
}

// trimMarks returns variables without their question marks.
func trimMarks(variables []string) []string {
	var all []string
	for _, v := range variables {
		all = append(all, strings.TrimPrefix(v, "?"))
	}
	return all
}

// sortKeys parses the values of --order-by, such as "n desc".
func sortKeys(texts []string) ([]graph.SortKey, error) {
	var keys []graph.SortKey
	for _, text := range texts {
		words := strings.Fields(text)
		switch {
		case len(words) == 1 || len(words) == 2 && words[1] == "asc":
			keys = append(keys, graph.Asc(strings.TrimPrefix(words[0], "?")))
		case len(words) == 2 && words[1] == "desc":
			keys = append(keys, graph.Desc(strings.TrimPrefix(words[0], "?")))
		default:
			return nil, shell.Usage(fmt.Errorf("--order-by %q must be a variable, or a variable and \"desc\"", text))
		}
	}
	return keys, nil
}

// answer prints the answers to a query.
func answer(ctx context.Context, c *shell.Command, g *graph.Graph, q graph.Query) error {
	out := c.NewPrinter()
	n := 0
	for b, err := range g.Query(ctx, q) {
		if err != nil {
			return cmp.Or(err, out.End())
		}
		vars := b.Vars()
		var header, cells []string
		object := shell.Object{}
		for _, v := range vars {
			header, cells = append(header, "?"+v), append(cells, b.Get(v))
			object = append(object, shell.Field{Name: v, Value: b.Get(v)})
		}
		if len(vars) == 0 {
			cells = []string{"yes"}
		}
		if n++; n == 1 && len(vars) > 1 {
			err = out.Row(header...)
		}
		if err = cmp.Or(err, out.Print(object, cells...)); err != nil {
			return err
		}
	}
	if n == 0 && len(q.Vars()) == 0 {
		return cmp.Or(out.Row("no"), out.End())
	}
	return out.End()
}

// explain prints the plan of a query.
func explain(ctx context.Context, c *shell.Command, g *graph.Graph, q graph.Query) error {
	plan, err := g.Explain(ctx, q)
	if err != nil {
		return err
	}
	if !c.JSON {
		_, err = fmt.Fprint(c.Stdout, plan)
		return err
	}
	e := shell.NewEncoder(c.Stdout)
	for _, s := range plan.Steps {
		err := e.Encode(shell.Object{{Name: "pattern", Value: s.Pattern.String()}, {Name: "count", Value: s.Count}, {Name: "how", Value: s.How}})
		if err != nil {
			return err
		}
	}
	if len(plan.OrderBy) == 0 {
		return nil
	}
	var keys []string
	for _, k := range plan.OrderBy {
		keys = append(keys, k.String())
	}
	return e.Encode(struct {
		OrderBy []string `json:"order_by"`
		Keep    int      `json:"keep,omitempty"`
	}{keys, plan.Keep})
}
