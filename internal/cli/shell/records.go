package shell

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Record is a record of CSV: its id, some columns, and its place.
type Record struct {
	File  string
	Line  int
	ID    string
	Texts []string
}

// Records yields the columns with these names of CSV files. A record that is not
// CSV is rejected; the error is that of a file that cannot be read.
func (in *Inputs) Records(names []string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, f := range in.Files {
			if more := in.readCSV(f, Fields{Names: names}, yield); !more {
				return
			}
		}
	}
}

// Fields are the columns of CSV to read, or the fields of JSON objects.
type Fields struct {
	Names    []string
	Optional []string // empty where a file or an object does not have them
}

func (in *Inputs) readCSV(f File, wanted Fields, yield func(Record, error) bool) (more bool) {
	bound := &boundReader{r: f, left: maxCSVRecord}
	r := csv.NewReader(bound)
	r.ReuseRecord = true
	columns, err := readHeader(r, wanted)
	if err != nil {
		yield(Record{}, fmt.Errorf("%s: %w", f.Name, err))
		return false
	}
	for line := 1; ; {
		bound.left = maxCSVRecord
		fields, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return true
		case errors.As(err, &wrong):
			err := wrong.Err
			if errors.Is(err, csv.ErrFieldCount) {
				err = fmt.Errorf("there are %d fields, the header has %d", len(fields), r.FieldsPerRecord)
			}
			if err := in.Reject(f.Name, wrong.StartLine, err); err != nil {
				yield(Record{}, err)
				return false
			}
			continue
		case err != nil:
			yield(Record{}, fmt.Errorf("%s: after line %d: %w", f.Name, line, err))
			return false
		}
		line, _ = r.FieldPos(0)
		texts := make([]string, len(columns))
		for i, at := range columns {
			if at >= 0 {
				texts[i] = strings.Clone(fields[at])
			}
		}
		if !yield(Record{f.Name, line, texts[0], texts[1:]}, nil) {
			return false
		}
	}
}

// readHeader returns the places of the columns with these names, -1 of an optional one
// that there is not; the id is first.
func readHeader(r *csv.Reader, wanted Fields) ([]int, error) {
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is empty: the first line must name the columns id,%s", strings.Join(wanted.Names, ","))
	}
	if err != nil {
		return nil, err
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	var columns []int
	for _, name := range append([]string{"id"}, wanted.Names...) {
		at := slices.Index(header, name)
		if at < 0 {
			return nil, fmt.Errorf("its header has no column %q: it names %s", name, ForTerminal(strings.Join(header, ",")))
		}
		columns = append(columns, at)
	}
	for _, name := range wanted.Optional {
		columns = append(columns, slices.Index(header, name))
	}
	return columns, nil
}

// maxCSVRecord bounds a record, in bytes: with a quote that is never closed the rest
// of a file is one record.
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
