package suggest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"retwis/index"
)

// maxTerm is the maximum length of a term, as given and as normalized, in bytes.
const maxTerm = 512

// Punctuation is the treatment of punctuation, the characters of the Unicode category P,
// in the normalized form of a term. In every case white space becomes one blank, and
// symbols, such as + and €, stay. Apostrophes are removed, except with PunctuationKeep.
type Punctuation string

// The treatments of punctuation.
const (
	PunctuationSpace Punctuation = ""     // a blank: "wi-fi" is "wi fi", "rock'n'roll" is "rocknroll"
	PunctuationDrop  Punctuation = "drop" // removed: "wifi"
	PunctuationKeep  Punctuation = "keep" // unchanged: "wi-fi", "rock'n'roll"
)

// normalizer converts terms to their normalized forms and keys.
type normalizer struct{ punctuation Punctuation }

// name returns the normalized form of a term.
func (n normalizer) name(term string) (string, error) {
	name, err := n.normal(term)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, " ")
	if name == "" {
		return "", fmt.Errorf("%w: the term %q has no letters", index.ErrValue, term)
	}
	return name, nil
}

// key returns the key of a term, its normalized form and its spelling.
func (n normalizer) key(term string) (string, error) {
	name, err := n.name(term)
	if err != nil {
		return "", err
	}
	spelling := spell(term)
	if len(spelling) > maxTerm {
		return "", fmt.Errorf("%w: the term has %d bytes when composed: at most %d are allowed", index.ErrValue, len(spelling), maxTerm)
	}
	return joinKey(name, spelling), nil
}

// normal is Normalize for a prefix, which may be empty. It keeps a blank at the end,
// since "new " is not a prefix of "newton".
func (n normalizer) normal(term string) (string, error) {
	switch {
	case len(term) > maxTerm:
		return "", fmt.Errorf("%w: the term has %d bytes: at most %d are allowed", index.ErrValue, len(term), maxTerm)
	case !utf8.ValidString(term):
		return "", fmt.Errorf("%w: the term %q is not UTF-8", index.ErrValue, term)
	}
	text := term
	if !ascii(text) {
		// Folding can produce characters that decompose further.
		text = norm.NFKD.String(cases.Fold().String(norm.NFKD.String(text)))
		text = withoutDiacritics(text)
	}
	var name strings.Builder
	name.Grow(len(text))
	blank := true // drops leading blanks
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Z):
			r = ' '
		case isApostrophe(r) && n.punctuation != PunctuationKeep:
			continue
		case unicode.IsPunct(r) && n.punctuation == PunctuationSpace:
			r = ' '
		case unicode.IsPunct(r) && n.punctuation == PunctuationDrop:
			continue
		case r == ':':
			r = escapedColon
		}
		if r == ' ' && blank {
			continue
		}
		blank = r == ' '
		name.WriteRune(r)
	}
	if name.Len() > maxTerm {
		return "", fmt.Errorf("%w: the term has %d bytes when normalized: at most %d are allowed", index.ErrValue, name.Len(), maxTerm)
	}
	return name.String(), nil
}

// isApostrophe reports whether a character is an apostrophe or a similar letter within a
// word.
func isApostrophe(r rune) bool {
	switch r {
	case '\'', '\u2018', '\u2019', '\u02bb', '\u02bc':
		return true
	}
	return false
}

// asciiOf returns the ASCII letters that are commonly typed for a letter that does not
// decompose, or "".
func asciiOf(r rune) string {
	switch r {
	case 'ł':
		return "l"
	case 'ø':
		return "o"
	case 'đ', 'ð':
		return "d"
	case 'ı':
		return "i"
	case 'ħ':
		return "h"
	case 'ŧ':
		return "t"
	case 'ŋ':
		return "n"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'þ':
		return "th"
	}
	return ""
}

// withoutDiacritics removes the diacritics of a decomposed text in folded case. Other
// marks are composed with their letters again, so that か is not a prefix of が. Hangul
// stays decomposed: a user types a syllable letter by letter.
func withoutDiacritics(text string) string {
	var kept strings.Builder
	kept.Grow(len(text))
	var letter rune // that the next marks belong to; 0 at the start of a word
	for _, r := range text {
		if unicode.Is(unicode.Mn, r) {
			if !isDiacritic(letter, r) {
				kept.WriteRune(r)
			}
			continue
		}
		if letter = r; unicode.IsSpace(r) || unicode.IsControl(r) {
			letter = 0
		}
		if other := asciiOf(r); other != "" {
			kept.WriteString(other)
			continue
		}
		kept.WriteRune(r)
	}
	composed := norm.NFC.String(kept.String())
	if !strings.ContainsFunc(composed, isSyllable) {
		return composed
	}
	var typed strings.Builder
	for _, r := range composed {
		if isSyllable(r) {
			typed.WriteString(norm.NFD.String(string(r)))
		} else {
			typed.WriteRune(r)
		}
	}
	return typed.String()
}

// isSyllable reports whether a character is a Hangul syllable.
func isSyllable(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }

// isDiacritic reports whether a letter stays the same without a mark.
func isDiacritic(letter, mark rune) bool {
	return unicode.In(letter, unicode.Latin, unicode.Greek, unicode.Cyrillic) ||
		unicode.In(mark, unicode.Hebrew, unicode.Arabic, unicode.Variation_Selector) ||
		unicode.Is(unicode.Arabic, letter) || letter == 0 && unicode.Is(unicode.Inherited, mark)
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
