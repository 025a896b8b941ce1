package bulk

import (
	"fmt"
	"strconv"
)

// maxRecord bounds a line or a record, so that a quote that is left open does not take
// in all of the input.
const maxRecord = 16 << 20

// InputError is what is wrong with an input, and where.
type InputError struct {
	Line   int64 // of the input, the first being 1; 0 where there are no lines
	Offset int64 // in bytes, where there are no lines
	Msg    string
}

func (e *InputError) Error() string {
	if e.Line > 0 {
		return "bulk: line " + strconv.FormatInt(e.Line, 10) + ": " + e.Msg
	}
	return "bulk: byte " + strconv.FormatInt(e.Offset, 10) + ": " + e.Msg
}

// place is where a command comes from.
type place struct {
	Line   int64 // the first of its record; 0 where there are no lines
	Record int64 // the first being 1; 0 where there are no records
	Offset int64 // where it begins
}

// position is what it takes to go on from a place: what lies before it.
type position struct{ Offset, Line, Record int64 }

// source gives the commands of an input one after another.
type source interface {
	// next makes f the next command, valid until the following call, and returns where
	// it is from. It returns io.EOF at the end.
	next(f *Frame) (place, error)
	// end is the position behind the last command, or false where its record has more.
	end() (position, bool)
	// passedOver is how many records gave no command.
	passedOver() int64
}

// records fills templates from records.
type records struct {
	do      []*Template
	fields  []string // of all templates and of skip, each once
	bound   [][]int  // for each template, its fields in fields
	skip    []int    // in fields
	values  []value  // of the current record, as fields
	one     []value  // for a template
	scratch []byte
	turn    int // the template whose turn it is; len(do): the record is done
	skipped int64
	at      place
	pos     position
}

func newRecords(do []*Template, skip []string, start position) *records {
	r := &records{do: do, turn: len(do), pos: start}
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

// next gives the next command. read reads a record into r.values, and notes where it is
// in r.at and what lies behind it in r.pos.
func (r *records) next(f *Frame, read func() error) (place, error) {
	for r.turn == len(r.do) {
		if err := read(); err != nil {
			return r.at, err
		}
		r.turn = 0
		for _, i := range r.skip {
			if v := r.values[i]; !v.there || len(v.text) == 0 {
				r.turn = len(r.do)
				r.skipped++
				break
			}
		}
	}
	t := r.do[r.turn]
	r.one = r.one[:0]
	for _, i := range r.bound[r.turn] {
		r.one = append(r.one, r.values[i])
	}
	if err := t.fill(f, r.at.Record, r.one, &r.scratch); err != nil {
		return r.at, r.wrong("%v (for %s)", err, t.text)
	}
	r.turn++
	return r.at, nil
}

func (r *records) end() (position, bool) { return r.pos, r.turn == len(r.do) }

func (r *records) passedOver() int64 { return r.skipped }

func (r *records) wrong(format string, args ...any) error {
	return &InputError{Line: r.at.Line, Offset: r.at.Offset, Msg: fmt.Sprintf(format, args...)}
}
