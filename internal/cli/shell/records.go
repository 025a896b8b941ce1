package shell

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Record is the id and some columns of a record, and where it stands.
type Record struct {
	File  string
	Line  int
	Id    string
	Texts []string
}

// Records reads the columns with some names of CSV files, for as long as do says
// to go on. A record that is none is told; it fails where a file cannot be read.
func (in *Inputs) Records(names []string, do func(Record) bool) error {
	for i, f := range in.Files {
		bound := &boundReader{r: f, left: maxCSVRecord}
		r := csv.NewReader(bound)
		r.ReuseRecord = true
		where, err := readHeader(r, names)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Names[i], err)
		}
		more, err := in.readRecords(r, bound, in.Names[i], where, do)
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
			return nil, fmt.Errorf("its header has no column %q: it names %s", name, ForTerminal(strings.Join(header, ",")))
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

func (in *Inputs) readRecords(r *csv.Reader, bound *boundReader, name string, where []int, do func(Record) bool) (more bool, err error) {
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
			in.Reject(name, wrong.StartLine, err)
			continue
		case err != nil:
			return false, fmt.Errorf("%s: behind line %d: %w", name, line, err)
		}
		line, _ = r.FieldPos(0)
		texts := make([]string, len(where))
		for i, at := range where {
			texts[i] = strings.Clone(fields[at])
		}
		if !do(Record{name, line, texts[0], texts[1:]}) {
			return false, nil
		}
	}
}
