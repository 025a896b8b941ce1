package input

import (
	"bytes"
	"fmt"
	"strings"

	"retwis/bulk/internal/command"
	"retwis/bulk/resp"
)

// detect returns the format of an input from its first bytes. The fallback is typed commands;
// linesSource checks that the input looks like typed commands.
func detect(head []byte, records bool) Format {
	head = trimHead(head)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case !records && (len(head) == 0 || head[0] == '*' || head[0] == '$'), bytes.HasPrefix(head, []byte(annotation)), isProtocol(line):
		return RESP
	case len(head) > 0 && head[0] == '{':
		return NDJSON
	case isArray(head):
		return JSON
	case !records:
		return Commands
	case bytes.ContainsRune(line, '\t'):
		return TSV
	}
	return CSV
}

// isProtocol reports whether a line is the start of a command in the protocol, such as "*3\r".
func isProtocol(line []byte) bool {
	digits, star := bytes.CutPrefix(line, []byte("*"))
	digits, end := bytes.CutSuffix(digits, []byte("\r"))
	return star && end && len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}

// trimHead removes a byte order mark and blanks.
func trimHead(head []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), "\r\n \t")
}

const (
	byteOrderMark = "\xef\xbb\xbf"
	annotation    = "#TS:" // start of an annotation in an append-only file
)

// isArray reports whether an input starts with a JSON array that can contain records.
func isArray(head []byte) bool {
	head = trimHead(head)
	if len(head) == 0 || head[0] != '[' {
		return false
	}
	next := bytes.TrimLeft(head[1:], "\r\n \t")
	return len(next) == 0 || next[0] == '{' || next[0] == '[' || next[0] == ']'
}

// checkTyped returns an error if the start of an input shows that it does not consist of typed
// commands, although that is its detected format.
func checkTyped(head []byte) error {
	n := int64(0)
	for line := range bytes.Lines(head) {
		n++
		if err := notTyped(line, true); err != nil {
			return &resp.InputError{Line: n, Msg: err.Error()}
		}
	}
	return nil
}

// notTyped returns why a line is not a typed command, or nil. NUL bytes are blanks, as in
// redis-cli; but if the format was guessed, they show that the input is not text.
func notTyped(line []byte, guessed bool) error {
	trimmed := bytes.TrimSpace(line)
	switch {
	case guessed && bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("the line has NUL bytes, so the input is not text; if it is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8 FILE")
	case len(trimmed) > 1 && (trimmed[0] == '*' || trimmed[0] == '$') && len(bytes.Trim(trimmed[1:], "0123456789")) == 0:
		return fmt.Errorf("%q looks like the Redis protocol, not a typed command; use the format resp (--format resp)", resp.Shorten(trimmed, 16))
	case bytes.HasPrefix(trimmed, []byte(annotation)):
		return fmt.Errorf("%q is an annotation of an append-only file; use the format resp (--format resp)", resp.Shorten(trimmed, 16))
	}
	return nil
}

// notCommand returns an error if a word does not look like a command. It is used when the format
// was guessed: word is the first word of the input.
func notCommand(word []byte) error {
	if s := command.Lookup(strings.ToUpper(string(word))); s.Kind != command.Unknown || isModuleCommand(word) {
		return nil
	}
	return fmt.Errorf("%q is not a known command, so the format of the input cannot be determined; "+
		"specify it: resp, commands, or csv, tsv or ndjson with templates (Options.Format and Options.Do, or --format and --do)", resp.Shorten(word, 40))
}

// isModuleCommand reports whether a word looks like a module command, such as JSON.SET.
func isModuleCommand(word []byte) bool {
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
