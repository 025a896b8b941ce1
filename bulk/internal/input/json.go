package input

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/valyala/fastjson"

	"retwis/bulk/resp"
)

// jsonSource is an input of JSON objects.
type jsonSource struct {
	*records
	texts  textReader
	parser fastjson.Parser
	paths  [][]string // for each field of records.fields, the segments of its path, or nil without dots
	order  []int      // order of looking up records.fields
	buf    []byte     // holds the values

	escapes bool   // the record has \u escapes
	source  []byte // buffer for the text of a value
}

// textReader returns the texts of objects in order.
type textReader interface {
	// next returns the next text, valid until the following call.
	next() ([]byte, error)
	begin() Place
	// end returns the position after the text that next returned.
	end() Position
}

func newJSON(texts textReader, opt Options, start Position) *jsonSource {
	s := &jsonSource{records: newRecords(opt, start), texts: texts}
	for _, field := range s.fields {
		var path []string
		if strings.Contains(field, ".") {
			path = strings.Split(field, ".")
		}
		s.order = append(s.order, len(s.paths))
		s.paths = append(s.paths, path)
	}
	// A lookup inside an object unescapes its strings in place, which changes the text of the
	// object. Outer fields come first, because their text is copied unchanged.
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(len(s.paths[a]), len(s.paths[b])) })
	return s
}

func (s *jsonSource) Next(f *resp.Frame) (Place, error) { return s.records.next(f, s.record) }

// record reads the next record.
func (s *jsonSource) record() error {
	text, err := s.texts.next()
	s.at = s.texts.begin()
	s.at.Record = s.pos.Record
	if err != nil {
		return err
	}
	s.at.Record++
	s.pos = s.texts.end()
	s.pos.Record = s.at.Record
	s.records.text = text
	s.escapes = bytes.Contains(text, []byte(`\u`))
	v, err := s.parser.ParseBytes(text)
	if err != nil {
		return s.bad("this is not JSON: %v", oneLine(err))
	}
	// The parser accepts invalid escapes and numbers in values that are not used. The validator
	// rejects them but does not limit the depth, so the parser runs first.
	if err := fastjson.ValidateBytes(text); err != nil {
		return s.bad("this is not JSON: %v", oneLine(err))
	}
	if v.Type() != fastjson.TypeObject {
		return s.bad("expected a JSON object, as in {\"id\": 1}, found %s", v.Type())
	}
	s.buf = s.buf[:0]
	for _, i := range s.order {
		field := s.fields[i]
		found := last(v, field)
		if found == nil && s.paths[i] != nil {
			found = v
			for _, name := range s.paths[i] {
				found = last(found, name)
			}
		}
		if s.values[i], err = s.convert(found); err != nil {
			return s.bad("field %q: %v", field, err)
		}
	}
	return nil
}

// last returns the value of a field of an object, or of an element of an array. If the field occurs
// several times, it returns the last value, as other JSON parsers do.
func last(v *fastjson.Value, name string) (found *fastjson.Value) {
	if v == nil || v.Type() != fastjson.TypeObject {
		return v.Get(name)
	}
	v.GetObject().Visit(func(key []byte, v *fastjson.Value) {
		if string(key) == name {
			found = v
		}
	})
	return found
}

// convert returns a value as it appears in a command: strings without quotes, numbers unchanged,
// true and false, and objects and arrays as JSON.
func (s *jsonSource) convert(v *fastjson.Value) (value, error) {
	if v == nil {
		return value{}, nil
	}
	if s.escapes { // checked before the call of Type, which unescapes the value
		s.source = v.MarshalTo(s.source[:0])
		if s.source[0] == '"' && hasHalfPair(s.source) {
			return value{}, errors.New("it has half of a surrogate pair (\\ud800 to \\udfff), which is not a character")
		}
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

// hasHalfPair reports whether a valid JSON string has half of a surrogate pair.
func hasHalfPair(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		if text = text[i+1:]; text[0] != 'u' {
			text = text[1:]
			continue
		}
		c := escapedRune(text)
		text = text[len("u0000"):]
		if !utf16.IsSurrogate(c) {
			continue
		}
		if !bytes.HasPrefix(text, []byte(`\u`)) || utf16.DecodeRune(c, escapedRune(text[1:])) == unicode.ReplacementChar {
			return true
		}
		text = text[len(`\u0000`):]
	}
}

// escapedRune returns the rune of an escape sequence. text begins with its u.
func escapedRune(text []byte) rune {
	n, _ := strconv.ParseUint(string(text[1:5]), 16, 32)
	return rune(n)
}

// oneLine returns the first line of an error, shortened, because the error may quote the input.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return string(resp.Shorten([]byte(text), 200))
}
