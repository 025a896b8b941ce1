package input

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"retwis/bulk/resp"
)

// jsonSource is an input of one JSON object a line.
type jsonSource struct {
	*records
	lines  *lineReader
	parser fastjson.Parser
	paths  [][]string // the parts of each of records.fields that has dots
	order  []int      // the order of looking up records.fields
	buf    []byte     // of the values
}

func newJSON(r io.Reader, do []*Template, skip []string, start Position) *jsonSource {
	s := &jsonSource{records: newRecords(do, skip, start), lines: newLineReader(r, start)}
	for _, field := range s.fields {
		var path []string
		if strings.Contains(field, ".") {
			path = strings.Split(field, ".")
		}
		s.order = append(s.order, len(s.paths))
		s.paths = append(s.paths, path)
	}
	// A lookup inside an object unescapes its strings in place, which changes the text
	// of the object. Outer fields come first, because they are copied unchanged.
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(len(s.paths[a]), len(s.paths[b])) })
	return s
}

func (s *jsonSource) Next(f *resp.Frame) (Place, error) { return s.records.next(f, s.record) }

// record reads the next record.
func (s *jsonSource) record() error {
	line, err := s.lines.next()
	s.at = Place{Line: s.lines.pos.Line, Record: s.pos.Record, Offset: s.lines.at}
	if err != nil {
		return err
	}
	v, err := s.parser.ParseBytes(line)
	if err != nil {
		return s.wrong("this is not JSON: %v", oneLine(err))
	}
	// The parser accepts bad escapes and numbers in values it does not need. The
	// validator does not, but does not bound the depth, so it comes second.
	if err := fastjson.ValidateBytes(line); err != nil {
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
	for _, i := range s.order {
		field := s.fields[i]
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

// text returns a value as it is put into a command: strings without quotes, numbers
// unchanged, true and false, and objects and arrays as JSON.
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
	return value{s.buf[begin:len(s.buf):len(s.buf)], true}, nil
}

// oneLine returns the first line of an error that quotes the input.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return string(resp.Shorten([]byte(text), 200))
}
