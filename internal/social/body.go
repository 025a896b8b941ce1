package social

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// MaxBody is the length of a post in user-perceived characters (grapheme
// clusters): a flag or a family of emoji is one.
const MaxBody = 280

// maxBodyBytes bounds a post in bytes: a single character can have any number of
// combining marks.
const maxBodyBytes = 8192

// cleanBody returns a typed text as it is stored: one line, without control
// characters and direction overrides.
func cleanBody(typed string) (string, error) {
	if len(typed) > 2*maxBodyBytes {
		return "", tooLong()
	}
	body := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError, isDirectionOverride(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(typed, "\r\n", "\n"))
	body = strings.TrimSpace(body)
	if strings.IndexFunc(body, visible) < 0 {
		return "", &InvalidError{"status", "Write something first."}
	}
	if len(body) > maxBodyBytes || uniseg.GraphemeClusterCount(body) > MaxBody {
		return "", tooLong()
	}
	return body, nil
}

func tooLong() error {
	return &InvalidError{"status", fmt.Sprintf("Your post is too long. Use at most %d characters.", MaxBody)}
}

// isDirectionOverride reports the characters that can make a text display as a
// different one.
func isDirectionOverride(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

func visible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}
