package social

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// MaxBody is the length of a post in characters as a person counts them: a
// flag or a family of emoji is one.
const MaxBody = 280

// maxBodyBytes bounds what those characters may be made of; a single one can
// pile up marks without end.
const maxBodyBytes = 8192

// cleanBody returns what is kept of a text that somebody typed: one line,
// nothing invisible that controls a terminal or a page.
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
	return &InvalidError{"status", fmt.Sprintf("That is too long: a post has at most %d characters.", MaxBody)}
}

// isDirectionOverride tells the characters that can make text read as
// something else than it says.
func isDirectionOverride(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

func visible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}
