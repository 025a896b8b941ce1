package bulk

import (
	"fmt"
	"io"
	"strings"

	"github.com/valyala/fastjson"
)

// jsonSource is an input of one JSON object a line.
type jsonSource struct {
	*records
	lines  *lineReader
	parser fastjson.Parser
	paths  [][]string // for each of records.fields that has dots, its parts
	buf    []byte     // of the values
}

func newJSON(r io.Reader, do []*Template, skip []string, start position) *jsonSource {
	s := &jsonSource{records: newRecords(do, skip, start), lines: newLineReader(r, start)}
	for _, field := range s.fields {
		var path []string
		if strings.Contains(field, ".") {
			path = strings.Split(field, ".")
		}
		s.paths = append(s.paths, path)
	}
	return s
}

func (s *jsonSource) next(f *Frame) (place, error) { return s.records.next(f, s.record) }

// record reads the next record.
func (s *jsonSource) record() error {
	line, err := s.lines.next()
	s.at = place{Line: s.lines.pos.Line, Record: s.pos.Record, Offset: s.lines.at}
	if err != nil {
		return err
	}
	v, err := s.parser.ParseBytes(line)
	if err != nil {
		return s.wrong("this is not JSON: %v", oneLine(err))
	}
	object, err := v.Object()
	if err != nil {
		return s.wrong("expected a JSON object, as in {\"id\": 1}, found %s", v.Type())
	}
	s.at.Record++
	s.pos = s.lines.pos
	s.pos.Record = s.at.Record
	s.buf = s.buf[:0]
	for i, field := range s.fields {
		found := object.Get(field)
		if found == nil && s.paths[i] != nil {
			found = v.Get(s.paths[i]...)
		}
		if s.values[i], err = s.text(found); err != nil {
			return s.wrong("field %q: %v", field, err)
		}
	}
	return nil
}

// text is a value as it is put into a command: strings without quotes, numbers as they
// are written, true and false, and objects and arrays as JSON.
func (s *jsonSource) text(v *fastjson.Value) (value, error) {
	if v == nil {
		return value{}, nil
	}
	switch v.Type() {
	case fastjson.TypeNull:
		return value{}, nil
	case fastjson.TypeString:
		text, err := v.StringBytes()
		return value{text, true}, err
	default:
	}
	begin := len(s.buf)
	s.buf = v.MarshalTo(s.buf)
	text := s.buf[begin:len(s.buf):len(s.buf)]
	if v.Type() == fastjson.TypeNumber && !isNumber(text) {
		return value{}, fmt.Errorf("%q is not a number", shorten(text, 40))
	}
	return value{text, true}, nil
}

// isNumber tells whether a text is a number as JSON has it; the parser takes more.
func isNumber(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(b) == 0
}

// oneLine is the first line of an error that shows what it was given.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return string(shorten([]byte(text), 200))
}
