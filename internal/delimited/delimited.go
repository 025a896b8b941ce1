// Package delimited reads records of CSV and of TSV.
//
// CSV follows RFC 4180: a field with commas, line ends or quotes is quoted, and quotes inside it
// are doubled. Quoted text is kept unchanged, including CR LF. Blank lines are skipped.
//
// TSV has no quotes: each line is a record, and a tab ends a field. A tab, a line end, a zero
// byte and a backslash in a field are written as \t, \n, \r, \0 and \\, as "mysql --batch" does.
// Any other backslash is an error, because its meaning is unknown.
//
// The package does not support other separators, comments, or writing.
package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"retwis/internal/window"
)

// Options describe a file, or the rest of a file.
type Options struct {
	Tabs      bool     // TSV
	Columns   []string // column names; default: the first record
	Offset    int64    // offset of the reader in the file
	Line      int64    // number of lines before that offset
	MaxRecord int      // maximum size of a record in bytes
}

// Reader reads the records of a file.
type Reader struct {
	opt     Options
	w       *window.Window
	lines   int64 // number of lines read so far
	line    int64 // line on which the record begins
	size    int   // size of the record in bytes
	current int   // start of the last line of the record
	spans   []span
	copied  []byte // fields with escapes resolved
	fields  [][]byte
}

// span is a field: a range of the record, or of Reader.copied.
type span struct {
	from, to int
	copied   bool
}

// RecordError describes a bad record. Reading can continue after it unless Last is set.
type RecordError struct {
	Line int64 // line on which the record begins
	Msg  string
	Last bool
}

func (e *RecordError) Error() string { return e.Msg }

// NewReader reads the header, unless opt has the columns. A *RecordError refers to the header.
func NewReader(r io.Reader, opt Options) (*Reader, error) {
	d := &Reader{opt: opt, w: window.New(r, opt.Offset, opt.MaxRecord), lines: opt.Line}
	if err := d.w.SkipByteOrderMark(); err != nil || opt.Columns != nil {
		return d, err
	}
	header, err := d.Next()
	if errors.Is(err, io.EOF) {
		err = &RecordError{Line: 1, Msg: "the input is empty: expected the names of the columns", Last: true}
	}
	for _, name := range header {
		d.opt.Columns = append(d.opt.Columns, string(name))
	}
	return d, err
}

// Names returns the names of all columns.
func (r *Reader) Names() []string { return r.opt.Columns }

// Places returns the index of each named column in a record. A missing column is an error, or -1 if
// the column is optional; a name shared by two columns is an error.
func (r *Reader) Places(required, optional []string) ([]int, error) {
	var places []int
	for i, name := range slices.Concat(required, optional) {
		at := slices.Index(r.opt.Columns, name)
		switch {
		case at < 0 && i < len(required):
			return nil, r.headerError("there is no column %s; the columns are %s", name)
		case at >= 0 && slices.Contains(r.opt.Columns[at+1:], name):
			return nil, r.headerError("there are two columns %s among %s: give each another name", name)
		}
		places = append(places, at)
	}
	return places, nil
}

func (r *Reader) headerError(format, name string) error {
	return &RecordError{Line: 1, Msg: fmt.Sprintf(format, strconv.Quote(name), r.names()), Last: true}
}

// names lists the columns for an error.
func (r *Reader) names() string {
	text := strings.Join(r.opt.Columns, ", ")
	if strings.ContainsFunc(text, func(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsGraphic(c) }) {
		return strconv.Quote(text)
	}
	return text
}

// Line returns the line on which the record begins, and Lines the number of lines up to its end.
func (r *Reader) Line() int64  { return r.line }
func (r *Reader) Lines() int64 { return r.lines }

// Offset returns the offset of the record in the file, and End the offset after it.
func (r *Reader) Offset() int64 { return r.w.Offset() }
func (r *Reader) End() int64    { return r.w.Offset() + int64(r.size) }

// Raw returns the record without its line end, valid until the next call of Next.
func (r *Reader) Raw() []byte { return window.TrimEnd(r.w.Bytes()[:r.size]) }

// Next returns the fields of the next record, as many as there are columns, valid until the
// following call. It returns io.EOF at the end, a *RecordError, or the error of the reader.
func (r *Reader) Next() ([][]byte, error) {
	for {
		r.w.Take(r.size)
		r.size, r.current, r.line = 0, 0, r.lines+1
		if err := r.nextLine(); err != nil {
			return nil, err
		}
		// A blank line is a record only in a one-column TSV, where it is the only way to write
		// empty text.
		if len(r.Raw()) > 0 || r.opt.Tabs && len(r.opt.Columns) == 1 {
			break
		}
	}
	r.spans, r.copied = r.spans[:0], r.copied[:0]
	var err error
	switch {
	case r.opt.Tabs:
		err = r.splitTabs()
	case bytes.IndexByte(r.w.Bytes()[:r.size], '"') < 0:
		r.splitPlain(',')
	default:
		err = r.splitQuoted()
	}
	if n := len(r.opt.Columns); err == nil && r.opt.Columns != nil && len(r.spans) != n {
		err = r.errorf("there are %d fields; expected %d: %s", len(r.spans), n, r.names())
	}
	if err != nil {
		return nil, err
	}
	r.fields = r.fields[:0]
	record := r.w.Bytes()
	for _, s := range r.spans {
		from := record
		if s.copied {
			from = r.copied
		}
		r.fields = append(r.fields, from[s.from:s.to:s.to])
	}
	return r.fields, nil
}

// nextLine adds a line to the record.
func (r *Reader) nextLine() error {
	n, err := r.w.Line(r.size)
	if errors.Is(err, window.ErrTooLong) {
		msg := fmt.Sprintf("the record is longer than %d MiB", r.opt.MaxRecord>>20)
		if !r.opt.Tabs {
			msg += ": is a quote left open?"
		}
		return &RecordError{Line: r.line, Msg: msg, Last: true}
	}
	if err != nil {
		return err
	}
	r.current, r.size = r.size, n
	r.lines++
	return nil
}

// splitPlain splits a line at each separator.
func (r *Reader) splitPlain(separator byte) {
	line, from := r.Raw(), 0
	for {
		i := bytes.IndexByte(line[from:], separator)
		if i < 0 {
			r.spans = append(r.spans, span{from: from, to: len(line)})
			return
		}
		r.spans = append(r.spans, span{from: from, to: from + i})
		from += i + 1
	}
}

// splitTabs splits a line of TSV and resolves its escapes.
func (r *Reader) splitTabs() error {
	r.splitPlain('\t')
	line := r.Raw()
	if bytes.IndexByte(line, '\\') < 0 {
		return nil
	}
	for i, s := range r.spans {
		field := line[s.from:s.to]
		if bytes.IndexByte(field, '\\') < 0 {
			continue
		}
		begin := len(r.copied)
		for k := 0; k < len(field); k++ {
			c := field[k]
			if c == '\\' {
				if k++; k == len(field) || strings.IndexByte(escapes, field[k]) < 0 {
					return r.errorf(`column %d: a backslash in TSV is written \\; the other escapes are \t, \n, \r and \0`, s.from+k)
				}
				c = escaped[strings.IndexByte(escapes, field[k])]
			}
			r.copied = append(r.copied, c)
		}
		r.spans[i] = span{begin, len(r.copied), true}
	}
	return nil
}

// escapes are the letters after a backslash in TSV, and escaped the characters they stand for.
const (
	escapes = `tnr0\`
	escaped = "\t\n\r\x00\\"
)

// splitQuoted splits a record that has quotes, and reads the lines on which it continues.
func (r *Reader) splitQuoted() error {
	for at := 0; at >= 0; {
		if at < r.size && r.w.Bytes()[at] == '"' {
			var err error
			if at, err = r.quoted(at + 1); err != nil {
				return err
			}
			continue
		}
		field := r.Raw()[at:]
		i := bytes.IndexByte(field, ',')
		if i >= 0 {
			field = field[:i]
		}
		if q := bytes.IndexByte(field, '"'); q >= 0 {
			return r.misplaced(at+q, `bare " in non-quoted-field`)
		}
		r.spans = append(r.spans, span{from: at, to: at + len(field)})
		if at += i + 1; i < 0 {
			return nil
		}
	}
	return nil
}

// quoted reads a quoted field whose content starts at at. It returns the start of the next field, or
// -1 after the last field.
func (r *Reader) quoted(at int) (next int, err error) {
	field := span{from: at}
	for copied := len(r.copied); ; {
		i := bytes.IndexByte(r.w.Bytes()[at:r.size], '"')
		if i < 0 { // the field continues on the next line
			at = r.size
			if err := r.nextLine(); err == nil {
				continue
			} else if !errors.Is(err, io.EOF) {
				return 0, err
			}
			return 0, r.misplaced(r.size, `extraneous or missing " in quoted-field`)
		}
		at += i
		text := r.w.Bytes()[:r.size]
		after := text[at+1:]
		if len(after) > 0 && after[0] == '"' {
			r.copied = append(r.copied, text[field.from:at+1]...)
			at += 2
			field.from, field.copied = at, true
			continue
		}
		if next = at + 2; len(window.TrimEnd(after)) == 0 {
			next = -1
		} else if after[0] != ',' {
			return 0, r.misplaced(at, `extraneous or missing " in quoted-field`)
		}
		if field.to = at; field.copied {
			r.copied = append(r.copied, text[field.from:at]...)
			field.from, field.to = copied, len(r.copied)
		}
		r.spans = append(r.spans, field)
		return next, nil
	}
}

// misplaced returns the error for a misplaced quote in the last line of the record.
func (r *Reader) misplaced(at int, what string) error {
	column := at - r.current + 1
	if r.lines > r.line {
		return r.errorf("the record continues on line %d, column %d: %s: is a quote left open?", r.lines, column, what)
	}
	return r.errorf("column %d: %s", column, what)
}

// errorf returns a *RecordError for the current record.
func (r *Reader) errorf(format string, args ...any) error {
	return &RecordError{Line: r.line, Msg: fmt.Sprintf(format, args...)}
}
