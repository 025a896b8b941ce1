package bulk

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"retwis/bulk/internal/command"
	"retwis/bulk/internal/input"
	"retwis/bulk/resp"
)

// badRecord is a record that cannot be loaded, as written to Options.BadTo. Exactly one of Text,
// Base64, Command and Key identifies it.
type badRecord struct {
	File   string `json:"file,omitempty"`   // set if there are several files
	Line   int64  `json:"line,omitempty"`   // in line-based formats
	Offset int64  `json:"offset,omitempty"` // byte offset, in other formats
	Record int64  `json:"record,omitempty"` // record number, starting at 1, in formats with records
	Reason string `json:"reason"`

	Text    string  `json:"text,omitempty"`    // the record, unchanged
	Base64  []byte  `json:"base64,omitempty"`  // the record, if it is not valid UTF-8
	Command string  `json:"command,omitempty"` // a rejected command, as typed into redis-cli
	Key     *string `json:"key,omitempty"`     // a key of a snapshot, escaped as in redis-cli
	DB      int     `json:"db,omitempty"`      // database of the key
}

// badRecords writes bad records to Options.BadTo.
type badRecords struct {
	to    io.Writer
	max   int // maximum number of records
	count *counts
}

// newBadRecords returns nil if Options.BadTo is not set. The first bad record then ends the load.
func newBadRecords(opt Options, count *counts) *badRecords {
	if opt.BadTo == nil {
		return nil
	}
	return &badRecords{opt.BadTo, opt.MaxBad, count}
}

// skipper returns the callback for the bad records of an input, or nil if b is nil.
func (b *badRecords) skipper() func(*input.BadRecord) error {
	if b == nil {
		return nil
	}
	return b.record
}

// record writes a bad record of an input.
func (b *badRecords) record(bad *input.BadRecord) error {
	entry := badRecord{File: bad.File, Line: bad.Line, Offset: bad.Offset, Record: bad.Record, Reason: bad.Msg}
	switch {
	case bad.Key != nil:
		key := string(resp.AppendQuoted(nil, bad.Key))
		entry.Key, entry.DB = &key, bad.DB
	case utf8.Valid(bad.Text):
		entry.Text = string(bad.Text)
	default:
		entry.Base64 = bad.Text
	}
	return b.write(entry, &bad.InputError)
}

// canSkip reports whether the load can continue without a rejected command. Without a SELECT, the
// following commands would go into the wrong database; a transaction must not lose commands.
func (b *badRecords) canSkip(got command.Checked, check *command.Checker) bool {
	return b != nil && check.Open == 0 && got.Spec != nil && got.Kind != command.Select
}

// command writes a rejected command.
func (b *badRecords) command(in *input.Input, p input.Place, f *resp.Frame, err error) error {
	inputErr := &InputError{File: in.Name(), Line: p.Line, Offset: p.Offset, Msg: err.Error()}
	var text []byte
	for i := range f.Len() {
		if i > 0 {
			text = append(text, ' ')
		}
		text = resp.AppendQuoted(text, f.Arg(i))
	}
	return b.write(badRecord{
		File: inputErr.File, Line: p.Line, Offset: p.Offset, Record: p.Record, Reason: inputErr.Msg, Command: string(text),
	}, inputErr)
}

// write writes a bad record. If the maximum is reached, it returns inputErr instead.
func (b *badRecords) write(bad badRecord, inputErr *InputError) error {
	if n := b.count.bad.Load(); n >= int64(b.max) {
		inputErr.Msg = fmt.Sprintf("%s; the limit of %d bad records is reached", inputErr.Msg, b.max)
		return inputErr
	}
	if bad.Line > 0 {
		bad.Offset = 0
	}
	text, err := json.Marshal(bad)
	if err == nil {
		_, err = b.to.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("bulk: Options.BadTo: %w", err)
	}
	b.count.bad.Add(1)
	return nil
}
