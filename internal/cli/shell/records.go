package shell

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"retwis/internal/delimited"
)

// Record is a CSV record: its ID, the requested columns and its position.
type Record struct {
	File  string
	Line  int
	ID    string
	Texts []string
}

// Records yields the named columns of CSV files. Malformed records are rejected; an error is
// yielded only if a file or its header cannot be read, or if a record is rejected and in.Strict is
// set.
func (in *Inputs) Records(names []string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, f := range in.Files {
			if more := in.readCSV(f, Fields{Names: names}, yield); !more {
				return
			}
		}
	}
}

// Fields are the CSV columns, or JSON fields, to read.
type Fields struct {
	Names    []string
	Optional []string // may be missing; their values are then empty
}

// maxCSVRecord is the maximum length of a record in bytes. A record with an unclosed quote would
// otherwise extend to the end of the file.
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
