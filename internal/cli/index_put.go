package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"retwis/index"
	"retwis/internal/store"
)

func newIndexPut(env Env) *cobra.Command {
	var flags indexFlags
	var declared newColumns
	cmd := &cobra.Command{
		Use:   "put [flags] KEY [FILE...]",
		Short: "Put entries from CSV; those that are there move",
		Long: `Puts the records of some CSV files, or of standard input, into an index. The header
names id and every column, in any order; other columns are passed over. An index
that is not there is made of --columns:
  string  bytes   any text; equal, ranges, prefixes
  int  uint       64 bits; int(4): of at most four digits
  decimal(2)      two digits behind the point, 18 in all; decimal(30,2): 30 in all
  float  bigint(256)  bool
  time            2026-11-21T10:00:00Z, or 2026-11-21
each ascending, or "desc" for the greatest first.

A bad record is told by its file and line, and the rest goes in; the exit code is
then 1. Putting a file twice does no harm.`,
		Example: `  retwis index put rooms rooms.csv --columns 'room:int,price:decimal(2)'
  retwis index put rooms more.csv
  retwis index put ages people.csv --numeric --columns age:int`,
		Args: named(1, -1, "retwis index put KEY [FILE...]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openInputs(cmd, env, args[1:], "entries")
			if err != nil {
				return err
			}
			defer in.close()
			return withStore(cmd, env, *flags.redis, func(ctx context.Context, db *store.Store) error {
				x, err := declared.make(ctx, db.Client(), args[0], cmd.Flags().Changed)
				if err != nil {
					return err
				}
				var wrong error
				_, err = x.putMany(ctx, func(yield func(index.Entry) bool) {
					for e, err := range in.entries(x) {
						if wrong = err; err != nil || !yield(e) {
							return
						}
					}
				})
				if err = cmp.Or(err, wrong); err != nil {
					return err
				}
				return in.tell(flags.json)
			})
		},
	}
	declared.add(cmd)
	flags.add(cmd, env, "print the summary as JSON")
	return cmd
}

// entries yields the good records of all files, and tells the bad ones.
func (in *inputs) entries(x ordered) iter.Seq2[index.Entry, error] {
	columns := x.Columns()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return func(yield func(index.Entry, error) bool) {
		err := in.records(names, func(r record) bool {
			values, err := parseAll(columns, r.texts)
			if err == nil {
				err = x.check(r.id, values)
			}
			if err != nil {
				in.wrong(r.file, r.line, err)
				return true
			}
			in.right()
			return yield(index.Entry{ID: r.id, Values: values}, nil)
		})
		if err != nil {
			yield(index.Entry{}, err)
		}
	}
}

// parseAll reads the values of all columns.
func parseAll(columns []index.Column, texts []string) ([]any, error) {
	values := make([]any, len(columns))
	for i, c := range columns {
		var err error
		if values[i], err = c.Parse(texts[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// record is the id and some columns of a record, and where it stands.
type record struct {
	file  string
	line  int
	id    string
	texts []string
}

// records reads the columns with some names of CSV files, for as long as do says
// to go on. A record that is none is told; it fails where a file cannot be read.
func (in *inputs) records(names []string, do func(record) bool) error {
	for i, f := range in.files {
		bound := &boundReader{r: f, left: maxCSVRecord}
		r := csv.NewReader(bound)
		r.ReuseRecord = true
		where, err := readHeader(r, names)
		if err != nil {
			return fmt.Errorf("%s: %w", in.names[i], err)
		}
		more, err := in.readRecords(r, bound, in.names[i], where, do)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// readHeader finds the columns with some names; the id comes first.
func readHeader(r *csv.Reader, names []string) ([]int, error) {
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is empty: its first line names id,%s", strings.Join(names, ","))
	}
	if err != nil {
		return nil, err
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	var where []int
	for _, name := range append([]string{"id"}, names...) {
		at := slices.Index(header, name)
		if at < 0 {
			return nil, fmt.Errorf("its header has no column %q: it names %s", name, forTerminal(strings.Join(header, ",")))
		}
		where = append(where, at)
	}
	return where, nil
}

// maxCSVRecord bounds a record, in bytes: a quote that is never closed would take
// all of a file.
const maxCSVRecord = 1 << 20

var errLongRecord = fmt.Errorf("the record is longer than %d KB: is a quote left open?", maxCSVRecord>>10)

// boundReader fails when more is read than is left.
type boundReader struct {
	r    io.Reader
	left int
}

func (b *boundReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongRecord
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (in *inputs) readRecords(r *csv.Reader, bound *boundReader, name string, where []int, do func(record) bool) (more bool, err error) {
	line := 1
	for {
		bound.left = maxCSVRecord
		fields, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.As(err, &wrong):
			err := wrong.Err
			if errors.Is(err, csv.ErrFieldCount) {
				err = fmt.Errorf("there are %d fields, the header has %d", len(fields), r.FieldsPerRecord)
			}
			in.wrong(name, wrong.StartLine, err)
			continue
		case err != nil:
			return false, fmt.Errorf("%s: behind line %d: %w", name, line, err)
		}
		line, _ = r.FieldPos(0)
		texts := make([]string, len(where))
		for i, at := range where {
			texts[i] = strings.Clone(fields[at])
		}
		if !do(record{name, line, texts[0], texts[1:]}) {
			return false, nil
		}
	}
}
