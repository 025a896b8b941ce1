package input

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"retwis/bulk/resp"
)

// csvSource is an input of records in the format of RFC 4180.
type csvSource struct {
	*records
	r       *csv.Reader
	bound   *bounded
	columns []string
	where   []int // the column of each of records.fields
	start   Position
	buf     []byte // of the values
	raw     *recorder
}

// newCSV reads the header unless columns are given.
func newCSV(r io.Reader, comma rune, columns []string, opt Options, start Position) (*csvSource, error) {
	s := &csvSource{records: newRecords(opt, start), columns: columns, start: start}
	if s.skipBad {
		s.raw = &recorder{r: r, base: start.Offset}
		r = s.raw
	}
	bound := &bounded{r: r, left: bufferSize}
	s.bound = bound
	buffered := bufio.NewReaderSize(bound, bufferSize)
	if start.Offset == 0 {
		if bom, err := buffered.Peek(3); err == nil && string(bom) == byteOrderMark {
			s.start.Offset = 3
			_, _ = buffered.Discard(3)
		}
	}
	s.r = csv.NewReader(buffered)
	s.r.Comma = comma
	s.r.ReuseRecord = true
	if columns == nil {
		header, err := s.read()
		if errors.Is(err, io.EOF) {
			return nil, &resp.InputError{Line: 1, Msg: "the input is empty: expected the names of the columns"}
		}
		if wrong := (*csv.ParseError)(nil); errors.As(err, &wrong) {
			return nil, &resp.InputError{Line: int64(wrong.StartLine), Msg: s.explain(wrong, len(header))}
		}
		if err != nil {
			return nil, err
		}
		for _, name := range header {
			s.columns = append(s.columns, strings.Clone(name))
		}
		s.pos = s.after(header)
		s.pos.Record = start.Record
	}
	s.r.FieldsPerRecord = len(s.columns)
	return s, s.bind()
}

// bind looks up the column of each field.
func (s *csvSource) bind() error {
	for _, field := range s.fields {
		at := -1
		for i, column := range s.columns {
			if column == field && at >= 0 {
				return &resp.InputError{Line: 1, Msg: fmt.Sprintf("there are two columns %q: give the columns names of your own", field)}
			}
			if column == field {
				at = i
			}
		}
		if at < 0 {
			return &resp.InputError{Line: 1, Msg: fmt.Sprintf("there is no column %q; the columns are %s", field, strings.Join(s.columns, ", "))}
		}
		s.where = append(s.where, at)
	}
	return nil
}

func (s *csvSource) Next(f *resp.Frame) (Place, error) { return s.records.next(f, s.record) }

// record reads the next record.
func (s *csvSource) record() error {
	s.at.Offset = s.pos.Offset
	row, err := s.read()
	if s.raw != nil {
		s.text = bytes.Trim(s.raw.between(s.at.Offset, s.start.Offset+s.r.InputOffset()), "\r\n")
	}
	if err != nil {
		return s.failed(row, err)
	}
	line, _ := s.r.FieldPos(0)
	s.at.Line = s.start.Line + int64(line)
	s.at.Record = s.pos.Record + 1
	s.buf = s.buf[:0]
	for i, column := range s.where {
		begin := len(s.buf)
		s.buf = append(s.buf, row[column]...)
		s.values[i] = value{s.buf[begin:len(s.buf):len(s.buf)], true}
	}
	s.pos = s.after(row)
	s.pos.Record = s.at.Record
	return nil
}

// failed returns the error of a record that cannot be read.
func (s *csvSource) failed(row []string, err error) error {
	var wrong *csv.ParseError
	if !errors.As(err, &wrong) {
		if errors.Is(err, io.EOF) {
			s.at = Place{Line: s.pos.Line, Record: s.pos.Record, Offset: s.pos.Offset}
		}
		return err
	}
	s.at.Line = s.start.Line + int64(wrong.StartLine)
	s.at.Record = s.pos.Record + 1
	s.pos = Position{Offset: s.start.Offset + s.r.InputOffset(), Line: s.start.Line + int64(wrong.Line), Record: s.at.Record}
	return s.bad("%s", s.explain(wrong, len(row)))
}

// after returns the position after a row.
func (s *csvSource) after(row []string) Position {
	// Only the last field can continue after the line on which it begins.
	last := len(row) - 1
	line, _ := s.r.FieldPos(last)
	line += strings.Count(row[last], "\n")
	return Position{Offset: s.start.Offset + s.r.InputOffset(), Record: s.pos.Record, Line: s.start.Line + int64(line)}
}

// read reads a row.
func (s *csvSource) read() ([]string, error) {
	s.bound.left = maxRecord + bufferSize
	row, err := s.r.Read()
	if err == nil {
		return row, nil
	}
	if errors.Is(err, errTooLong) {
		err = &resp.InputError{Line: s.pos.Line + 1, Offset: s.pos.Offset, Msg: fmt.Sprintf("the record is longer than %d MiB: is a quote left open?", maxRecord>>20)}
	}
	return row, err
}

// explain describes a malformed row of n fields.
func (s *csvSource) explain(wrong *csv.ParseError, n int) string {
	switch {
	case errors.Is(wrong.Err, csv.ErrFieldCount):
		return fmt.Sprintf("there are %d fields; expected %d: %s", n, len(s.columns), strings.Join(s.columns, ", "))
	case wrong.Line > wrong.StartLine:
		return fmt.Sprintf("the record continues on line %d, column %d: %v: is a quote left open?", s.start.Line+int64(wrong.Line), wrong.Column, wrong.Err)
	}
	return fmt.Sprintf("column %d: %v", wrong.Column, wrong.Err)
}

var errTooLong = errors.New("too long")

// bounded returns errTooLong after left bytes.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// recorder keeps what was read since the beginning of the current record.
type recorder struct {
	r    io.Reader
	buf  []byte
	base int64 // offset of buf[0] in the file
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.buf = append(r.buf, p[:n]...)
	return n, err
}

// between returns the bytes from one offset to another, valid until the next Read, and
// forgets what is before them.
func (r *recorder) between(from, to int64) []byte {
	const most = 1 << 20
	if n := from - r.base; n > most {
		r.buf = append(r.buf[:0], r.buf[n:]...)
		r.base = from
	}
	return r.buf[from-r.base : to-r.base]
}
