package site

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"retwis/internal/cli/shell"
)

// Build adds --redis and, unless json is empty, --json with the usage json. Build returns the cobra
// command, which calls run with the database of a site that may be in use.
func Build(c *shell.Command, json string, run func(ctx context.Context, db *Database, args []string) error) *cobra.Command {
	if json != "" {
		c.AddJSON(json)
	}
	c.AddRedis()
	return c.Build(func(ctx context.Context, args []string) error {
		return Operate(ctx, c, func(db *Database) error { return explain(c, run(ctx, db, args)) })
	})
}

// Act is like Build for a command with one result, printed as JSON or by its String method.
func Act[T any](c *shell.Command, json string, run func(ctx context.Context, db *Database, args []string) (T, error)) *cobra.Command {
	return Build(c, json, func(ctx context.Context, db *Database, args []string) error {
		result, err := run(ctx, db, args)
		if err != nil {
			return err
		}
		return Print(c, result)
	})
}

// Print prints a result as JSON or as text.
func Print(c *shell.Command, result any) (err error) {
	if c.JSON {
		return shell.NewEncoder(c.Stdout).Encode(result)
	}
	_, err = fmt.Fprintln(c.Stdout, result)
	return err
}

// Result is the result of a command without a result type of its own.
type Result struct {
	shell.Object
	Text string
}

func (r Result) String() string { return r.Text }

// Row is an entry of a list, printed as JSON or as table cells. Integers are right-aligned.
type Row interface{ Cells() []any }

// Table describes how a list is printed.
type Table struct {
	JSON   string   // usage of --json
	Header []string // column names; nil for no header
	Empty  string   // printed in a table without rows, instead of the header
	None   string   // printed to standard error if there are no rows, except with --json
}

// List is like Build for a command that prints rows. run calls print for each row.
func List[T Row](c *shell.Command, t Table, run func(ctx context.Context, db *Database, args []string, print func(row T) error) error) *cobra.Command {
	return Build(c, t.JSON, func(ctx context.Context, db *Database, args []string) error {
		return PrintRows(c, t, func(print func(T) error) error { return run(ctx, db, args, print) })
	})
}

// PrintRows prints each row that rows passes to print.
func PrintRows[T Row](c *shell.Command, t Table, rows func(print func(row T) error) error) error {
	var zero T
	_, right := texts(zero.Cells())
	p, empty := c.NewPrinter(right...), true
	err := rows(func(row T) error {
		if empty {
			empty = false
			if err := p.Row(t.Header...); err != nil {
				return err
			}
		}
		cells, _ := texts(row.Cells())
		return p.Print(row, cells...)
	})
	switch {
	case empty && t.Empty != "":
		err = errors.Join(err, p.Row(t.Empty))
	case empty:
		err = errors.Join(err, p.Row(t.Header...))
	}
	err = errors.Join(err, p.End())
	if empty && err == nil && t.None != "" && !c.JSON {
		fmt.Fprintf(c.Stderr, "retwis: %s\n", t.None)
	}
	return err
}

// texts formats cells and reports which of them are right-aligned.
func texts(cells []any) (texts []string, right []bool) {
	for _, cell := range cells {
		_, number := cell.(int64)
		texts, right = append(texts, fmt.Sprint(cell)), append(right, number)
	}
	return texts, right
}

// Time is a time that is printed in UTC, to the second.
type Time struct{ time.Time }

// String returns "-" for the zero time.
func (t Time) String() string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// MarshalJSON implements [json.Marshaler]. The zero time is null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}
