// Package graph has the commands of retwis graph.
package graph

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/index/graph"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "graph",
		Short: "Keep facts of three parts, and find them by any part",
		Long: `Keeps facts of a subject, a predicate and an object in one sorted set, each in
all six orders of its parts (a hexastore), and finds them by whatever parts are
known, or by several patterns that share variables.`,
		Example: `  retwis graph put people friends.tsv
  retwis graph match people matteo friend-of '*'
  retwis graph query people '?x likes beer . ?x lives-in barcelona . matteo friend-of ?x'
  retwis graph export people --format nt > people.nt`,
	}, newPut(env), newDel(env), newMatch(env), newQuery(env), newExport(env),
		newVerify(env, false), newVerify(env, true), newRebuild(env))
}

// commonFlags are those of every command of a graph.
type commonFlags struct {
	redis *string
	json  bool
}

func (flags *commonFlags) add(cmd *cobra.Command, env shell.Env, json string) {
	cmd.Flags().SortFlags = false
	if json != "" {
		cmd.Flags().BoolVar(&flags.json, "json", false, json)
	}
	flags.redis = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, "json", "compact", "partitions", "format", "limit", "offset", "reverse", "order", "count",
		"select", "distinct", "explain", "memory", "rate", "examples")
}

// open runs do with the graph at a key. declared is how one is made that is not
// there yet; nil: it has to be.
func (flags *commonFlags) open(cmd *cobra.Command, env shell.Env, key string, declared *graph.Options, do func(context.Context, *graph.Graph) error) error {
	return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
		g, err := graph.Open(ctx, db.Client(), key)
		switch {
		case errors.Is(err, index.ErrNotFound) && declared == nil:
			return shell.Hint(err, fmt.Sprintf("Make it with %q.", "retwis graph put "+key))
		case errors.Is(err, index.ErrNotFound), err == nil && declared != nil && *declared != (graph.Options{}):
			g, err = graph.New(db.Client(), key, *declared)
			g, err = shell.AsDeclared(ctx, g, err)
		}
		if err != nil {
			return err
		}
		return do(ctx, g)
	})
}

func newMatch(env shell.Env) *cobra.Command {
	var flags commonFlags
	var count bool
	var page index.Page
	var order *shell.Choice
	cmd := &cobra.Command{
		Use:   "match [flags] KEY SUBJECT PREDICATE OBJECT",
		Short: "Show the triples of which some parts are known",
		Long: `Shows the triples that have these parts; '*' stands for any. They come in the order
of subject, predicate and object as far as these are open, or in another one with
--order, which begins with the parts that are known.

A name is taken as it is; \* is the name *, and \?x the name ?x, as variables are for
"graph query".`,
		Example: `  retwis graph match people matteo friend-of '*'
  retwis graph match people '*' likes beer --count
  retwis graph match people '*' '*' '*' --limit 10 --json`,
		Args: shell.Arguments(4, 4, "retwis graph match KEY SUBJECT PREDICATE OBJECT, each a name or '*'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args[1:] {
				if len(arg) > 1 && arg[0] == '?' {
					return shell.Usage(fmt.Errorf("%s is a variable, which is for \"graph query\"; write '*' for any name, or '\\%s' for this one", arg, arg))
				}
			}
			p := graph.Pattern{S: nameOrAny(args[1]), P: nameOrAny(args[2]), O: nameOrAny(args[3])}
			if order.Value != "auto" {
				p.Order = graph.Order(order.Value)
			}
			return flags.open(cmd, env, args[0], nil, func(ctx context.Context, g *graph.Graph) error {
				if count {
					return flags.count(cmd, ctx, g, p)
				}
				out := newRows(cmd, flags.json)
				for t, err := range g.Select(ctx, p, page) {
					if err == nil {
						err = out.print(struct {
							S string `json:"s"`
							P string `json:"p"`
							O string `json:"o"`
						}(t), t.S, t.P, t.O)
					}
					if err != nil {
						return cmp.Or(err, out.end())
					}
				}
				return out.end()
			})
		},
	}
	cmd.Flags().IntVarP(&page.Limit, "limit", "n", 0, "show so many at most; 0: all")
	cmd.Flags().IntVar(&page.Offset, "offset", 0, "pass over so many first")
	cmd.Flags().BoolVar(&page.Reverse, "reverse", false, "show the last first")
	cmd.Flags().BoolVar(&count, "count", false, "show only how many there are")
	order = shell.AddChoice(cmd, "order", "in which order to show them", "auto", "spo", "sop", "pso", "pos", "osp", "ops")
	flags.add(cmd, env, `print each triple as a line of JSON: {"s":…,"p":…,"o":…}`)
	return cmd
}

// nameOrAny reads an argument of match.
func nameOrAny(arg string) graph.Term {
	if arg == "*" {
		return graph.Term{}
	}
	if name := strings.TrimLeft(arg, `\`); name == "*" || strings.HasPrefix(name, "?") { // \* is *, \\* is \*
		arg = strings.TrimPrefix(arg, `\`)
	}
	return graph.Name(arg)
}

// count prints how many triples a pattern has.
func (flags *commonFlags) count(cmd *cobra.Command, ctx context.Context, g *graph.Graph, p graph.Pattern) error {
	n, err := g.Count(ctx, p)
	if err != nil {
		return err
	}
	if flags.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Count int64 `json:"count"`
		}{n})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), n)
	return err
}

// rows prints results, aligned for people or as JSON.
type rows struct {
	out   *bufio.Writer
	json  *json.Encoder // nil: for people
	table shell.Table
}

func newRows(cmd *cobra.Command, asJSON bool) *rows {
	r := &rows{out: bufio.NewWriter(cmd.OutOrStdout())}
	r.table.Out = r.out
	if asJSON {
		r.json = shell.NewEncoder(r.out)
	}
	return r
}

// print prints a result: as JSON v, for people cells.
func (r *rows) print(v any, cells ...string) error {
	if r.json != nil {
		return r.json.Encode(v)
	}
	return r.table.Add(cells...)
}

func (r *rows) end() error { return cmp.Or(r.table.Flush(), r.out.Flush()) }
