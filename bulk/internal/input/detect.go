package input

import (
	"bytes"
	"fmt"
	"strings"

	"retwis/bulk/internal/command"
	"retwis/bulk/resp"
)

// detect returns the format of an input with these first bytes. The fallback is typed
// commands, which are checked to look like it; see linesSource.
func detect(head []byte, records bool) Format {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), "\r\n \t")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case !records && (len(head) == 0 || head[0] == '*' || head[0] == '$' || bytes.HasPrefix(head, []byte(annotation))):
		return RESP
	case len(head) > 0 && head[0] == '{':
		return NDJSON
	case !records:
		return Commands
	case bytes.ContainsRune(line, '\t'):
		return TSV
	}
	return CSV
}

const (
	byteOrderMark = "\xef\xbb\xbf"
	annotation    = "#TS:" // the start of an annotation in an append-only file
)

// foreign lists the first bytes of files that a load cannot read, with # for a digit, and
// what to do with them.
var foreign = []struct{ magic, advice string }{
	{"PK\x03\x04", "a zip archive; unpack it: unzip -p FILE"},
	{"PK\x05\x06", "an empty zip archive"},
	{"\xfd7zXZ\x00", "compressed with xz; decompress it: xz -dc FILE"},
	{"BZh#1AY&SY", "compressed with bzip2; decompress it: bzip2 -dc FILE"},
	{"\x04\x22\x4d\x18", "compressed with lz4; decompress it: lz4 -dc FILE"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it: 7z x -so FILE"},
	{"Rar!\x1a\x07", "a rar archive; unpack it: unrar p -inul FILE"},
	{"LZIP\x01", "compressed with lzip; decompress it: lzip -dc FILE"},
	{"\x1f\x9d", "compressed with compress; decompress it: zcat FILE"},
	{"PAR1\x15", "a Parquet file; write it as CSV or NDJSON, for example with duckdb"},
	{"Obj\x01", "an Avro file; write it as NDJSON, for example with avro-tools tojson"},
	{"\xff\xfe", "text in UTF-16 or UTF-32; convert it: iconv -f UTF-16 -t UTF-8 FILE"},
	{"\xfe\xff", "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE"},
	{"\x00\x00\xfe\xff", "text in UTF-32; convert it: iconv -f UTF-32 -t UTF-8 FILE"},
	{"REDIS####", resp.SnapshotAdvice},
	{"VALKEY###", resp.SnapshotAdvice},
}

// CheckHead returns an InputError if the first bytes of an input, 10 or more, show that it
// is a file of another kind, such as an archive. The error names the tool that converts it.
func CheckHead(head []byte) error {
	for _, f := range foreign {
		if hasMagic(head, f.magic) {
			return &resp.InputError{Msg: "the input is " + f.advice}
		}
	}
	return nil
}

func hasMagic(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if digit := '0' <= head[i] && head[i] <= '9'; head[i] != magic[i] && (magic[i] != '#' || !digit) {
			return false
		}
	}
	return true
}

// refuse returns an error if an input is a file of another kind or a JSON array.
func refuse(head []byte) error {
	if err := CheckHead(head); err != nil {
		return err
	}
	if trimmed := bytes.TrimLeft(head, "\r\n \t"); len(trimmed) > 1 && trimmed[0] == '[' {
		if next := bytes.TrimLeft(trimmed[1:], "\r\n \t"); len(next) > 0 && (next[0] == '{' || next[0] == '[') {
			return &resp.InputError{Msg: "the input is a JSON array; write one object a line: jq -c '.[]' FILE"}
		}
	}
	return nil
}

// refuseTyped returns an error if the beginning of an input of detected format shows that
// it is not typed commands.
func refuseTyped(head []byte) error {
	n := int64(0)
	for line := range bytes.Lines(head) {
		n++
		if err := notTyped(line, true); err != nil {
			return &resp.InputError{Line: n, Msg: err.Error()}
		}
	}
	return nil
}

// notTyped returns why a line is not a typed command. Zero bytes are blanks for redis-cli
// and here, too, unless the format was guessed: then they show that the input is not text.
func notTyped(line []byte, guessed bool) error {
	trimmed := bytes.TrimSpace(line)
	switch {
	case guessed && bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("the line has zero bytes, so the input is not text; if it is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8 FILE")
	case len(trimmed) > 1 && (trimmed[0] == '*' || trimmed[0] == '$') && len(bytes.Trim(trimmed[1:], "0123456789")) == 0:
		return fmt.Errorf("%q is Redis' protocol, not a command as it is typed; use the format resp (--format resp)", resp.Shorten(trimmed, 16))
	case bytes.HasPrefix(trimmed, []byte(annotation)):
		return fmt.Errorf("%q is an annotation of an append-only file; use the format resp (--format resp)", resp.Shorten(trimmed, 16))
	}
	return nil
}

// notCommand returns why the first word of an input of detected format does not look like
// a command.
func notCommand(word []byte) error {
	if s := command.Lookup(strings.ToUpper(string(word))); s.Kind != command.Unknown || ofModule(word) {
		return nil
	}
	return fmt.Errorf("%q is not a command known here, so it is not clear what the input is; "+
		"name its format: resp, commands, or csv, tsv or ndjson with templates (--format, --do)", resp.Shorten(word, 40))
}

// ofModule reports whether a word looks like a command of a module, such as JSON.SET.
func ofModule(word []byte) bool {
	module, name, ok := bytes.Cut(word, []byte("."))
	return ok && isWord(module) && isWord(name)
}

func isWord(text []byte) bool {
	for _, c := range text {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return len(text) > 0 && (text[0] < '0' || text[0] > '9')
}
