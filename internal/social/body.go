package social

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// MaxBody is the maximum length of a post in user-perceived characters (grapheme clusters): a flag
// or a family emoji counts as one.
const MaxBody = 280

const (
	// MaxBodyBytes limits a post in bytes, because a single character can have any number of
	// combining marks.
	MaxBodyBytes = 2000
	// MaxBodyLines limits the height of a post.
	MaxBodyLines = 40
	// MaxTyped is the maximum length of input, in bytes. Cleaning never makes a text longer.
	MaxTyped = 16 << 10
)

// CleanBody returns typed text in the form that is stored: without control characters and direction
// overrides, and with at most one empty line in a row.
func CleanBody(typed string) (string, error) {
	if len(typed) > MaxTyped {
		return "", tooLong()
	}
	body := CleanRunes(typed)
	if strings.IndexFunc(body, IsInk) < 0 {
		return "", Invalid("status", "Write something first.")
	}
	body, lines := CleanLines(body)
	switch {
	case uniseg.GraphemeClusterCount(body) > MaxBody:
		return "", tooLong()
	case len(body) > MaxBodyBytes:
		return "", Invalid("status", "Your post takes up too much space. Use at most {n} bytes: fewer emoji and accents.", MaxBodyBytes)
	case lines > MaxBodyLines:
		return "", Invalid("status", "Your post has too many lines. Use at most {n}.", MaxBodyLines)
	}
	return body, nil
}

// CleanRunes removes control characters and direction overrides, and writes every line
// break as a line feed.
func CleanRunes(typed string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, IsDirectionOverride(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(typed, "\r\n", "\n"))
}

// CleanLines removes empty lines at both ends, all but one of consecutive empty lines, and trailing
// spaces. It returns the text and its number of lines.
func CleanLines(body string) (string, int) {
	kept := make([]string, 0, 8)
	empty := true // whether the previous line is empty
	for line := range strings.SplitSeq(body, "\n") {
		blank := strings.IndexFunc(line, IsInk) < 0
		if blank {
			line = ""
		}
		if !blank || !empty {
			kept = append(kept, strings.TrimRightFunc(line, unicode.IsSpace))
		}
		empty = blank
	}
	if empty && len(kept) > 0 {
		kept = kept[:len(kept)-1]
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), len(kept)
}

func tooLong() error {
	return Invalid("status", "Your post is too long. Use at most {n} characters.", MaxBody)
}

// CleanLine returns typed text in the form that is stored: one line, without control characters and
// direction overrides, or empty if nothing in it is visible. It returns *InvalidError if the text
// has more than limit characters.
func CleanLine(typed, field string, limit int) (string, error) {
	if len(typed) > MaxTyped {
		return "", TooLong(field, limit)
	}
	return BoundText(strings.Join(strings.Fields(CleanRunes(typed)), " "), field, limit)
}

// BoundText returns a text of at most limit characters, or empty if nothing in it is visible. It
// returns *InvalidError if the text is longer.
func BoundText(text, field string, limit int) (string, error) {
	if strings.IndexFunc(text, IsInk) < 0 {
		return "", nil
	}
	switch {
	case uniseg.GraphemeClusterCount(text) > limit:
		return "", TooLong(field, limit)
	case len(text) > limit*BytesPerCharacter:
		return "", Invalid(field, "This takes up too much space. Use at most {n} bytes: fewer emoji and accents.", limit*BytesPerCharacter)
	}
	return text, nil
}

// TooLong returns the error for a text of more than limit characters.
func TooLong(field string, limit int) error {
	return Invalid(field, "This is too long. Use at most {n} characters.", limit)
}

// IsDirectionOverride reports whether r can make a text display as a different one.
func IsDirectionOverride(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// IsInk reports whether r is visible. The Hangul fillers and the blank Braille pattern are letters
// and symbols, but invisible.
func IsInk(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return false
	}
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}

// BytesPerCharacter limits the average number of bytes per character of a text, because a single
// character can have any number of combining marks.
const BytesPerCharacter = 8

// MaxNote is the maximum length of a moderator's note, in characters.
const MaxNote = 1000

// CleanNote returns a note without surrounding space, or *InvalidError.
func CleanNote(note string) (string, error) {
	note = strings.TrimSpace(strings.ReplaceAll(note, "\r\n", "\n"))
	if !utf8.ValidString(note) || utf8.RuneCountInString(note) > MaxNote {
		return "", Invalid("note", "Use at most 1,000 characters.")
	}
	return note, nil
}
