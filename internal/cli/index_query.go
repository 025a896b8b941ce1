package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/store"
)

func newIndexQuery(env Env) *cobra.Command {
	var flags indexFlags
	var page index.Page
	var count, cursor bool
	cmd := &cobra.Command{
		Use:   "query [flags] KEY [CONDITION...]",
		Short: "Show the entries for which all conditions hold, in order",
		Long: `Shows the entries for which all conditions hold, in the order of the index:
  room=56         this value
  price=10..30    from 10 to 30, both included; 10.. and ..30 are open
  price>10  price>=10  price<30  price<=30     (quote these for your shell)
  name=Ma*        a prefix of a string
  name==Ma*       this very value
Conditions on the first columns, with one value each, and one more on the next are
found at once, whatever the size of the index. Others are looked at entry by entry.`,
		Example: `  retwis index query rooms room=56 price=10..30
  retwis index query rooms room=56 --reverse --limit 3
  retwis index query rooms --limit 100 --cursor    then again with --after CURSOR
  retwis index query rooms 'price<20' --count`,
		Args: named(1, -1, "retwis index query KEY [CONDITION...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkPage(page); err != nil {
				return err
			}
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				conditions, err := parseConditions(args[1:], x.Columns())
				if err != nil {
					return &usageError{errors.New(oneLine(err))}
				}
				if count {
					n, err := x.count(ctx, conditions)
					if err == nil {
						err = printCount(cmd.OutOrStdout(), flags.json, n)
					}
					return err
				}
				p := newEntryPrinter(cmd.OutOrStdout(), x.Columns(), flags.json, cursor)
				for e, err := range x.query(ctx, page, conditions) {
					if err == nil {
						err = p.print(e)
					}
					if err != nil {
						return errors.Join(err, p.end())
					}
				}
				return p.end()
			})
		},
	}
	addPage(cmd, &page, &cursor)
	cmd.Flags().BoolVar(&count, "count", false, "show only how many there are")
	flags.add(cmd, env, "print each entry as a line of JSON")
	return cmd
}

// printCount prints how many there are: as JSON {"count":3}.
func printCount(out io.Writer, asJSON bool, n int64) (err error) {
	if asJSON {
		return printNumber(out, true, "count", n)
	}
	_, err = fmt.Fprintln(out, n)
	return err
}

func newIndexGet(env Env) *cobra.Command {
	var flags indexFlags
	cmd := &cobra.Command{
		Use:   "get [flags] KEY ID...",
		Short: "Show the entries of ids",
		Long: `Shows the entries of some ids. The exit code is 1 if one of them is not in the
index.`,
		Example: `  retwis index get rooms 90`,
		Args:    named(2, -1, "retwis index get KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				p := newEntryPrinter(cmd.OutOrStdout(), x.Columns(), flags.json, false)
				err := showEach(cmd, args[1:], func(id string) error {
					e, err := x.get(ctx, id)
					if err != nil {
						return err
					}
					return p.print(found{Entry: e})
				})
				return cmp.Or(p.end(), err)
			})
		},
	}
	flags.add(cmd, env, "print each entry as a line of JSON")
	return cmd
}

func newIndexRemove(env Env) *cobra.Command {
	var flags indexFlags
	cmd := &cobra.Command{
		Use:     "remove [flags] KEY ID...",
		Short:   "Take ids out of an index",
		Example: `  retwis index remove rooms 90 91`,
		Args:    named(2, -1, "retwis index remove KEY ID..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, env, args[0], func(ctx context.Context, x ordered, _ *store.Store) error {
				n, err := x.Remove(ctx, args[1:]...)
				if err != nil {
					return err
				}
				return printNumber(cmd.OutOrStdout(), flags.json, "removed", int64(n))
			})
		},
	}
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// entryPrinter prints entries: a table for people, or a line of JSON each.
type entryPrinter struct {
	out     io.Writer
	columns []index.Column
	json    bool
	cursor  bool
	headed  bool // the names of the columns are printed
	table   table
}

func newEntryPrinter(out io.Writer, columns []index.Column, json, cursor bool) *entryPrinter {
	p := &entryPrinter{out: out, columns: columns, json: json, cursor: cursor, table: table{out: out, right: []bool{false}}}
	for _, c := range columns {
		switch c.Type {
		case index.Int, index.Uint, index.Float, index.BigInt, index.Decimal:
			p.table.right = append(p.table.right, true)
		default:
			p.table.right = append(p.table.right, false)
		}
	}
	return p
}

func (p *entryPrinter) print(e found) error {
	if p.json {
		return p.line(e)
	}
	if !p.headed {
		p.headed = true
		head := []string{"id"}
		for _, c := range p.columns {
			head = append(head, c.Name)
		}
		if p.cursor {
			head = append(head, "cursor")
		}
		if err := p.table.add(head...); err != nil {
			return err
		}
	}
	cells := []string{e.ID}
	for i, v := range e.Values {
		cells = append(cells, p.columns[i].Format(v))
	}
	if p.cursor {
		cells = append(cells, e.cursor)
	}
	return p.table.add(cells...)
}

// line prints {"id":"90","room":56,"price":"28.44"}.
func (p *entryPrinter) line(e found) error {
	line := []byte(`{"id":`)
	line = appendJSON(line, e.ID)
	for i, v := range e.Values {
		line = append(line, ',')
		line = appendJSON(line, p.columns[i].Name)
		line = append(line, ':')
		switch n := v.(type) {
		case *big.Int: // which most readers of JSON would round
			v = n.String()
		case float64:
			if math.IsInf(n, 0) {
				v = p.columns[i].Format(n)
			}
		}
		line = appendJSON(line, v)
	}
	if p.cursor {
		line = append(line, `,"cursor":`...)
		line = appendJSON(line, e.cursor)
	}
	_, err := p.out.Write(append(line, '}', '\n'))
	return err
}

func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // never: these are numbers and texts
		return append(b, "null"...)
	}
	return append(b, text...)
}

func (p *entryPrinter) end() error {
	if p.json {
		return nil
	}
	return p.table.flush()
}
