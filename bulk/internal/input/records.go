package input

import (
	"fmt"

	"retwis/bulk/resp"
)

// maxRecord is the maximum size of a line or a record. Without it, an unclosed quote would make the
// reader hold the rest of the input in memory.
const maxRecord = 16 << 20

// bufferSize is the size of a read.
const bufferSize = 256 << 10

// records fills the templates with the fields of each record.
type records struct {
	do      []*Template
	fields  []string // names of the fields of all templates and of skip, without duplicates
	bound   [][]int  // fields of each template, as indexes into fields
	skip    []int    // fields of Options.SkipIfMissing, as indexes into fields
	values  []value  // values of fields in the current record
	filled  []value  // values of the fields of one template
	scratch []byte
	current int // index of the next template; len(do): no more commands for the record
	skipped int64
	at      Place
	pos     Position
	text    []byte // the record, if skipBad is set
	skipBad bool
	passed  func(offset int64)
}

func newRecords(opt Options, start Position) *records {
	r := &records{do: opt.Do, current: len(opt.Do), pos: start, skipBad: opt.SkipBad != nil, passed: opt.passed}
	for _, t := range opt.Do {
		var bound []int
		for _, name := range t.fields {
			bound = append(bound, r.field(name))
		}
		r.bound = append(r.bound, bound)
	}
	for _, name := range opt.SkipIfMissing {
		r.skip = append(r.skip, r.field(name))
	}
	r.values = make([]value, len(r.fields))
	return r
}

// field returns the index of a name in fields, and adds the name if it is missing.
func (r *records) field(name string) int {
	for i, f := range r.fields {
		if f == name {
			return i
		}
	}
	r.fields = append(r.fields, name)
	return len(r.fields) - 1
}

// next stores the next command in f and returns its place. read stores the values of the next
// record in r.values, its place in r.at, and the position after it in r.pos.
func (r *records) next(f *resp.Frame, read func() error) (Place, error) {
	for r.current == len(r.do) {
		if err := read(); err != nil {
			return r.at, err
		}
		r.current = 0
		for _, i := range r.skip {
			if v := r.values[i]; !v.present || len(v.text) == 0 {
				r.current = len(r.do)
				r.skipped++
				break
			}
		}
		if r.passed != nil && r.current > 0 {
			r.passed(r.pos.Offset)
		}
		if r.skipBad && r.current == 0 { // no command of a bad record may be sent
			for i := 1; i < len(r.do); i++ {
				if err := r.fill(f, i); err != nil {
					r.current = len(r.do)
					return r.at, err
				}
			}
		}
	}
	if err := r.fill(f, r.current); err != nil {
		r.current = len(r.do)
		return r.at, err
	}
	r.current++
	return r.at, nil
}

// fill stores in f the command that template i creates for the current record.
func (r *records) fill(f *resp.Frame, i int) error {
	t := r.do[i]
	r.filled = r.filled[:0]
	for _, k := range r.bound[i] {
		r.filled = append(r.filled, r.values[k])
	}
	if err := t.fill(f, r.at.Record, r.filled, &r.scratch); err != nil {
		return r.bad("%v (for %s)", err, t.text)
	}
	return nil
}

func (r *records) End() (Position, bool) { return r.pos, r.current == len(r.do) }

func (r *records) Skipped() int64 { return r.skipped }

// bad returns a *BadRecord for the current record.
func (r *records) bad(format string, args ...any) error {
	return &BadRecord{
		InputError: resp.InputError{Line: r.at.Line, Offset: r.at.Offset, Msg: fmt.Sprintf(format, args...)},
		Record:     r.at.Record, Text: r.text,
	}
}
