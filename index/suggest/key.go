package suggest

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// joinKey returns the key that identifies a term, name:spelling. The name is the
// normalized form; a spelling equal to the name is left out: banana: and banana:Banana.
func joinKey(name, spelling string) string {
	if spelling == name {
		return name + ":"
	}
	return name + ":" + spelling
}

// nameOf returns the name in a key.
func nameOf(key string) string {
	name, _, _ := strings.Cut(key, ":")
	return name
}

// spelling returns the spelling in a key.
func spelling(key string) string {
	name, spelling, _ := strings.Cut(key, ":")
	if spelling == "" {
		spelling = name
	}
	return strings.ReplaceAll(spelling, string(escapedColon), ":")
}

// isKey reports whether a text has the form name:spelling.
func isKey(text string) bool {
	return strings.Count(text, ":") == 1 && text[0] != ':'
}

// spell returns the spelling of a term: composed (NFC), with blanks collapsed. A colon
// becomes U+001F, since it is the separator in an entry.
func spell(term string) string {
	if !norm.NFC.IsNormalString(term) {
		term = norm.NFC.String(term)
	}
	var spelling strings.Builder
	spelling.Grow(len(term))
	blank := true // drops leading blanks
	for _, r := range term {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			r = ' '
		}
		if r == ' ' && blank {
			continue
		}
		if blank = r == ' '; r == ':' {
			r = escapedColon
		}
		spelling.WriteRune(r)
	}
	return strings.TrimSuffix(spelling.String(), " ")
}

// escapedColon stands for a colon in a name or a spelling.
const escapedColon = '\x1f'
