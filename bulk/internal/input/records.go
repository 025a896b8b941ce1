package input

import (
	"fmt"

	"retwis/bulk/resp"
)

// maxRecord bounds a line or a record, so that an unclosed quote does not read the rest
// of the input into memory.
const maxRecord = 16 << 20

// bufferSize is the size of a read.
const bufferSize = 256 << 10

// records fills the templates with the fields of each record.
type records struct {
	do      []*Template
	fields  []string // of all templates and of skip, each once
	bound   [][]int  // the fields of each template, as indexes into fields
	skip    []int    // indexes into fields
	values  []value  // of the fields of the current record
	one     []value  // of the fields of a template
	scratch []byte
	current int // the next template; len(do): the record is done
	skipped int64
	at      Place
	pos     Position
}

func newRecords(do []*Template, skip []string, start Position) *records {
	r := &records{do: do, current: len(do), pos: start}
	for _, t := range do {
		var bound []int
		for _, name := range t.fields {
			bound = append(bound, r.field(name))
		}
		r.bound = append(r.bound, bound)
	}
	for _, name := range skip {
		r.skip = append(r.skip, r.field(name))
	}
	r.values = make([]value, len(r.fields))
	return r
}

func (r *records) field(name string) int {
	for i, f := range r.fields {
		if f == name {
			return i
		}
	}
	r.fields = append(r.fields, name)
	return len(r.fields) - 1
}

// next returns the next command. read reads a record into r.values, its place into r.at
// and the position after it into r.pos.
func (r *records) next(f *resp.Frame, read func() error) (Place, error) {
	for r.current == len(r.do) {
		if err := read(); err != nil {
			return r.at, err
		}
		r.current = 0
		for _, i := range r.skip {
			if v := r.values[i]; !v.there || len(v.text) == 0 {
				r.current = len(r.do)
				r.skipped++
				break
			}
		}
	}
	t := r.do[r.current]
	r.one = r.one[:0]
	for _, i := range r.bound[r.current] {
		r.one = append(r.one, r.values[i])
	}
	if err := t.fill(f, r.at.Record, r.one, &r.scratch); err != nil {
		return r.at, r.wrong("%v (for %s)", err, t.text)
	}
	r.current++
	return r.at, nil
}

func (r *records) End() (Position, bool) { return r.pos, r.current == len(r.do) }

func (r *records) Skipped() int64 { return r.skipped }

func (r *records) wrong(format string, args ...any) error {
	return &resp.InputError{Line: r.at.Line, Offset: r.at.Offset, Msg: fmt.Sprintf(format, args...)}
}
