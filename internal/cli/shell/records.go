package shell

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"retwis/internal/delimited"
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

// maxCSVRecord bounds a record, in bytes: with a quote that is never closed the rest of a
// file is one record.
const maxCSVRecord = 1 << 20

func (in *Inputs) readCSV(f File, wanted Fields, yield func(Record, error) bool) (more bool) {
	r, err := delimited.NewReader(f, delimited.Options{MaxRecord: maxCSVRecord})
	var places []int
	if err == nil {
		places, err = r.Places(append([]string{"id"}, wanted.Names...), wanted.Optional)
	}
	if err != nil {
		yield(Record{}, fmt.Errorf("%s: %w", f.Name, err))
		return false
	}
	for {
		fields, err := r.Next()
		var wrong *delimited.RecordError
		switch {
		case errors.Is(err, io.EOF):
			return true
		case errors.As(err, &wrong) && !wrong.Last:
			if err := in.Reject(f.Name, int(wrong.Line), wrong); err != nil {
				yield(Record{}, err)
				return false
			}
			continue
		case err != nil:
			yield(Record{}, fmt.Errorf("%s:%d: %w", f.Name, r.Line(), err))
			return false
		}
		texts := make([]string, len(places))
		for i, at := range places {
			if at >= 0 {
				texts[i] = string(fields[at])
			}
		}
		if !yield(Record{f.Name, int(r.Line()), texts[0], texts[1:]}, nil) {
			return false
		}
	}
}
