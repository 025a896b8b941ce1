package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/cli/shell"
)

// declaration holds the flags that declare a new index.
type declaration struct {
	columns    string
	numeric    bool
	partitions int
}

// Add implements shell.Declaration.
func (d *declaration) Add(c *shell.Command) {
	f := c.Flags()
	f.StringVar(&d.columns, "columns", "", "the `COLUMNS` of a new index, as in 'room:int,price:decimal(2),name:string desc'")
	f.BoolVar(&d.numeric, "numeric", false, "on creation, with one int or float column: store the value as the score of a sorted set")
	c.AddPartitions(&d.partitions)
}

// Open implements shell.Declaration.
func (d *declaration) Open(ctx context.Context, client rueidis.Client, key string, changed func(string) bool) (shell.Entries, error) {
	if d.columns == "" {
		x, err := open(ctx, client, key)
		if errors.Is(err, index.ErrNotFound) {
			return nil, shell.Usage(fmt.Errorf("index %q does not exist yet: declare it with --columns, as in --columns 'room:int,price:decimal(2)'", key))
		}
		for _, name := range []string{"numeric", "partitions"} {
			if changed(name) {
				return nil, shell.Usage(fmt.Errorf("--%s needs --columns", name))
			}
		}
		return x, err
	}
	columns, err := index.ParseColumns(d.columns)
	if err != nil {
		return nil, shell.Usage(fmt.Errorf("--columns: %s", shell.OneLine(err)))
	}
	return d.declare(ctx, client, key, columns)
}

func (d *declaration) declare(ctx context.Context, client rueidis.Client, key string, columns []index.Column) (shell.Entries, error) {
	if !d.numeric {
		x, err := index.NewComposite(client, key, index.Options{Columns: columns, Partitions: d.partitions})
		x, err = shell.CheckDeclared(ctx, x, err)
		return newComposite(x), err
	}
	c := columns[0]
	plain := len(columns) == 1 && c == index.Column{Name: c.Name, Type: c.Type, Digits: c.Digits}
	opt := index.NumericOptions{Name: c.Name, Partitions: d.partitions}
	switch {
	case plain && c.Type == index.Int && c.String() == opt.Name+":int":
		x, err := index.NewNumeric[int64](client, key, opt)
		x, err = shell.CheckDeclared(ctx, x, err)
		return newNumeric(x), err
	case plain && c.Type == index.Float:
		x, err := index.NewNumeric[float64](client, key, opt)
		x, err = shell.CheckDeclared(ctx, x, err)
		return newNumeric(x), err
	}
	return nil, shell.Usage(fmt.Errorf("--numeric takes one column, NAME:int or NAME:float, not %q", d.columns))
}

// open opens the index at key, a Composite or a Numeric.
func open(ctx context.Context, client rueidis.Client, key string) (shell.Entries, error) {
	d, err := index.Declared(ctx, client, key)
	if err != nil {
		return nil, err
	}
	switch d.Kind {
	case "composite":
		x, err := index.OpenComposite(ctx, client, key)
		return newComposite(x), err
	case "numeric":
		if x, err := index.OpenNumeric[int64](ctx, client, key); err == nil {
			return newNumeric(x), nil
		}
		x, err := index.OpenNumeric[float64](ctx, client, key)
		return newNumeric(x), err
	case "suggest", "text", "graph", "space":
		return nil, fmt.Errorf("%w: %q is %s: use retwis %s", index.ErrDeclared, key, d, d.Kind)
	}
	return nil, fmt.Errorf("%w: %q is %s", index.ErrDeclared, key, d)
}
