package shell

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Objects yields the fields of files in CSV, as Records does, or in JSON lines, one object per
// line. JSON lines begin with a brace, which no CSV column name does. Lines that are not such an
// object are rejected.
func (in *Inputs) Objects(wanted Fields) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, f := range in.Files {
			r := bufio.NewReader(f)
			head, _ := r.Peek(512) // reading the first line reports an error
			f.ReadCloser = struct {
				io.Reader
				io.Closer
			}{r, f.ReadCloser}
			read := in.readCSV
			if bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n"), []byte("{")) {
				read = in.readJSON
			}
			if more := read(f, wanted, yield); !more {
				return
			}
		}
	}
}

// maxJSONLine is the maximum length of a JSON line in bytes. JSON can take six bytes for one byte
// of text, and a text can have 100 KB.
const maxJSONLine = 1 << 20

func (in *Inputs) readJSON(f File, wanted Fields, yield func(Record, error) bool) (more bool) {
	for l, err := range f.lines(maxJSONLine) {
		if err != nil {
			yield(Record{}, err)
			return false
		}
		if l.wrong == nil && strings.TrimSpace(l.text) == "" {
			continue
		}
		r, wrong := Record{}, l.wrong
		if wrong == nil {
			r, wrong = parseObject(l.text, wanted)
		}
		if wrong != nil {
			if err := in.Reject(f.Name, l.number, wrong); err != nil {
				yield(Record{}, err)
				return false
			}
			continue
		}
		r.File, r.Line = f.Name, l.number
		if !yield(r, nil) {
			return false
		}
	}
	return true
}

func parseObject(text string, wanted Fields) (r Record, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return r, errors.New("not a JSON object such as {\"id\":1}")
	}
	names := append([]string{"id"}, wanted.Names...)
	for i, name := range append(names, wanted.Optional...) {
		value, found := object[name]
		if !found && i < len(names) {
			return r, fmt.Errorf("there is no field %q", name)
		}
		field, err := fieldText(value)
		if err != nil {
			return r, fmt.Errorf("the field %q %w", name, err)
		}
		if i == 0 {
			r.ID = field
		} else {
			r.Texts = append(r.Texts, field)
		}
	}
	return r, nil
}

// fieldText returns the text of a JSON value as a CSV column would have it: a string, the bytes of
// a Text that is not UTF-8, the digits of a number, or the strings of a list separated by blanks.
// The text of null is empty.
func fieldText(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "", nil
	}
	var text string
	var list []string
	switch value[0] {
	case '"', 'n':
		return text, json.Unmarshal(value, &text)
	case '[':
		if json.Unmarshal(value, &list) != nil {
			return "", errors.New("is a list with values other than strings")
		}
		for _, s := range list {
			if strings.Contains(s, " ") {
				return "", fmt.Errorf("has %q with a blank in its list", s)
			}
		}
		return strings.Join(list, " "), nil
	case '{':
		var bytes struct {
			Base64 *[]byte `json:"base64"`
		}
		if json.Unmarshal(value, &bytes) == nil && bytes.Base64 != nil {
			return string(*bytes.Base64), nil
		}
		fallthrough
	case 't', 'f':
		return "", errors.New("is neither a string, a number nor a list of strings")
	}
	return string(value), nil
}
