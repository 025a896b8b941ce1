// Package index has the commands of retwis index.
package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/cli/shell"
	"retwis/internal/store"
)

func New(env shell.Env) *cobra.Command {
	return shell.Group(&cobra.Command{
		Use:   "index",
		Short: "Find ids by the values of columns, in order",
		Long: `Keeps ids in the order of one or more columns, and finds those with some values in
them: a room and a range of prices, a prefix, a span of time. An index is put from
CSV and remembers its columns. What is put again moves.`,
		Example: `  printf 'id,room,price\n90,56,28.44\n' | retwis index put rooms --columns 'room:int,price:decimal(2)'
  retwis index query rooms room=56 price=10..30
  retwis index verify rooms --from 'room:*'`,
	}, newPut(env), newAdopt(env), newQuery(env), newGet(env), newRemove(env),
		newVerify(env, false), newVerify(env, true), newRebuild(env))
}

// commonFlags are those that every command of an index has.
type commonFlags struct {
	redis *string
	json  bool
}

func (flags *commonFlags) add(cmd *cobra.Command, env shell.Env, json string) {
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&flags.json, "json", false, json)
	flags.redis = shell.RedisFlag(cmd)
	shell.FromEnv(cmd, env.Getenv, "json", "columns", "numeric", "partitions", "limit", "offset", "reverse", "after", "cursor", "count", "from", "rate", "examples")
}

// open runs do with the index at a key, which has to be there.
func (flags *commonFlags) open(cmd *cobra.Command, env shell.Env, key string, do func(context.Context, ordered, *store.Store) error) error {
	return shell.WithStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
		x, err := openOrdered(ctx, db.Client(), key)
		if errors.Is(err, index.ErrNotFound) {
			return shell.Hint(err, fmt.Sprintf("Make it with %q.", "retwis index put "+key+" --columns …"))
		}
		if err != nil {
			return err
		}
		return do(ctx, x, db)
	})
}

// openOrdered returns the index at a key, be it a Composite or a Numeric.
func openOrdered(ctx context.Context, client rueidis.Client, key string) (ordered, error) {
	d, err := index.Declared(ctx, client, key)
	if err != nil {
		return nil, err
	}
	switch d.Kind {
	case "composite":
		x, err := index.OpenComposite(ctx, client, key)
		return composite{x}, err
	case "numeric":
		if x, err := index.OpenNumeric[int64](ctx, client, key); err == nil {
			return numeric[int64]{x}, nil
		}
		x, err := index.OpenNumeric[float64](ctx, client, key)
		return numeric[float64]{x}, err
	case "suggest", "graph", "space":
		return nil, fmt.Errorf("%w: %q is %s: use retwis %s", index.ErrDeclared, key, d, d.Kind)
	}
	return nil, fmt.Errorf("%w: %q is %s", index.ErrDeclared, key, d)
}

// newColumns are the flags that declare an index which is not there yet.
type newColumns struct {
	columns    string
	numeric    bool
	partitions int
}

func (n *newColumns) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&n.columns, "columns", "", "the `COLUMNS` of a new index, as in 'room:int,price:decimal(2),name:string desc'")
	f.BoolVar(&n.numeric, "numeric", false, "keep the one int or float column as the score of a sorted set")
	f.IntVar(&n.partitions, "partitions", 1, "of a new index: over how many slots of a Cluster it is spread")
}

// make returns the index at a key: as it is declared, or as the flags declare it.
func (n *newColumns) make(ctx context.Context, client rueidis.Client, key string, changed func(string) bool) (ordered, error) {
	if n.columns == "" {
		x, err := openOrdered(ctx, client, key)
		if errors.Is(err, index.ErrNotFound) {
			return nil, shell.Usage(fmt.Errorf("there is no index %q yet: declare it with --columns, as in --columns 'room:int,price:decimal(2)'", key))
		}
		for _, name := range []string{"numeric", "partitions"} {
			if changed(name) {
				return nil, shell.Usage(fmt.Errorf("--%s belongs to --columns", name))
			}
		}
		return x, err
	}
	columns, err := index.ParseColumns(n.columns)
	if err != nil {
		return nil, shell.Usage(fmt.Errorf("--columns: %s", shell.OneLine(err)))
	}
	x, err := n.declared(client, key, columns)
	return shell.AsDeclared(ctx, x, err)
}

func (n *newColumns) declared(client rueidis.Client, key string, columns []index.Column) (ordered, error) {
	if !n.numeric {
		x, err := index.NewComposite(client, key, index.Options{Columns: columns, Partitions: n.partitions})
		return composite{x}, err
	}
	plain := len(columns) == 1 && (columns[0] == index.Column{Name: columns[0].Name, Type: columns[0].Type, Digits: columns[0].Digits})
	opt := index.NumericOptions{Name: columns[0].Name, Partitions: n.partitions}
	switch {
	case plain && columns[0].Type == index.Int && columns[0].String() == opt.Name+":int":
		x, err := index.NewNumeric[int64](client, key, opt)
		return numeric[int64]{x}, err
	case plain && columns[0].Type == index.Float:
		x, err := index.NewNumeric[float64](client, key, opt)
		return numeric[float64]{x}, err
	}
	return nil, fmt.Errorf("--numeric takes one column, NAME:int or NAME:float, not %q", n.columns)
}
