package input

import (
	"errors"
	"io"

	"retwis/bulk/resp"
	"retwis/internal/delimited"
)

// delimitedSource is an input of CSV or TSV records.
type delimitedSource struct {
	*records
	r      *delimited.Reader
	places []int // column index of each field of records.fields
}

// newDelimited reads the header, unless columns are given.
func newDelimited(r io.Reader, tabs bool, columns []string, opt Options, start Position) (*delimitedSource, error) {
	s := &delimitedSource{records: newRecords(opt, start)}
	var err error
	s.r, err = delimited.NewReader(r, delimited.Options{
		Tabs: tabs, Columns: columns, Offset: start.Offset, Line: start.Line, MaxRecord: maxRecord,
	})
	if err == nil {
		s.places, err = s.r.Places(s.fields, nil)
	}
	if header := (*delimited.RecordError)(nil); errors.As(err, &header) {
		err = &resp.InputError{Line: header.Line, Msg: header.Msg}
	}
	if err != nil {
		return nil, err
	}
	s.pos.Offset, s.pos.Line = s.r.End(), s.r.Lines()
	return s, nil
}

func (s *delimitedSource) Next(f *resp.Frame) (Place, error) { return s.records.next(f, s.record) }

// record reads the next record.
func (s *delimitedSource) record() error {
	row, err := s.r.Next()
	var wrong *delimited.RecordError
	if err != nil && !errors.As(err, &wrong) {
		s.at = Place{Line: s.pos.Line, Record: s.pos.Record, Offset: s.pos.Offset}
		return err
	}
	s.at = Place{Line: s.r.Line(), Record: s.pos.Record + 1, Offset: s.r.Offset()}
	s.pos = Position{Offset: s.r.End(), Line: s.r.Lines(), Record: s.at.Record}
	s.text = s.r.Raw()
	switch {
	case wrong != nil && wrong.Last:
		return &resp.InputError{Line: wrong.Line, Offset: s.at.Offset, Msg: wrong.Msg}
	case wrong != nil:
		return s.bad("%s", wrong.Msg)
	}
	for i, column := range s.places {
		s.values[i] = value{row[column], true}
	}
	return nil
}
