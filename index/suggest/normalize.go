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

// maxTerm bounds a term, as it is given and as it is normalised, in bytes.
const maxTerm = 512

// Punctuation says what becomes of punctuation in the normalised form of a term:
// the characters of the Unicode category P. White space is one blank in any case,
// and symbols, such as + and €, stay. Apostrophes go, but where all of it is kept.
type Punctuation string

// The ways to go about punctuation.
const (
	PunctuationSpace Punctuation = ""     // as a blank: "wi-fi" is "wi fi", "rock'n'roll" is "rocknroll"
	PunctuationDrop  Punctuation = "drop" // not at all: "wifi"
	PunctuationKeep  Punctuation = "keep" // as it is: "wi-fi", "rock'n'roll"
)

// Normalize returns the form of a term by which it is found, which several terms
// may share. Case is folded, blanks are collapsed, punctuation becomes what
// Options.Punctuation says. Marks go where they are diacritics, of Latin, Greek and
// Cyrillic letters, and so do Hebrew and Arabic points; those of other writings,
// where they make another letter or are vowels, stay. Compatibility forms are
// their letters (NFKD), ø is o, ł is l, æ is ae. A colon that is kept is U+001F.
//
// It fails with index.ErrValue on what is no text: not UTF-8, over 512 bytes, or
// without anything but blanks and punctuation.
func (x *Index) Normalize(term string) (string, error) {
	key, err := x.key(term)
	if err != nil {
		return "", fmt.Errorf("suggest: %w", err)
	}
	return nameOf(key), nil
}

// name is the normalised form of a term.
func (x *Index) name(term string) (string, error) {
	name, err := x.normal(term)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, " ")
	if name == "" {
		return "", fmt.Errorf("%w: there is no letter in the term %q", index.ErrValue, term)
	}
	return name, nil
}

// key is what a term is known by: its normalised form and its spelling.
func (x *Index) key(term string) (string, error) {
	name, err := x.name(term)
	if err != nil {
		return "", err
	}
	spelling := spell(term)
	if len(spelling) > maxTerm {
		return "", fmt.Errorf("%w: the term has %d bytes when it is composed: at most %d are allowed", index.ErrValue, len(spelling), maxTerm)
	}
	return joinKey(name, spelling), nil
}

// spell is the spelling of a term: what is canonically equivalent is the same
// (NFC), and so are blanks. A colon, which ends it in a key, is U+001F.
func spell(term string) string {
	if !norm.NFC.IsNormalString(term) {
		term = norm.NFC.String(term)
	}
	var spelling strings.Builder
	spelling.Grow(len(term))
	blank := true // so that none is written in front
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

// escapedColon is a colon within a name or a spelling, which it would end.
const escapedColon = '\x1f'

// normal is Normalize of a prefix: a blank at its end counts, since "new " is
// not the beginning of "newton", and it may be empty.
func (x *Index) normal(term string) (string, error) {
	switch {
	case len(term) > maxTerm:
		return "", fmt.Errorf("%w: the term has %d bytes: at most %d are allowed", index.ErrValue, len(term), maxTerm)
	case !utf8.ValidString(term):
		return "", fmt.Errorf("%w: the term %q is not UTF-8", index.ErrValue, term)
	}
	text := term
	if !ascii(text) {
		// Folding can make what decomposes further.
		text = norm.NFKD.String(cases.Fold().String(norm.NFKD.String(text)))
		text = withoutDiacritics(text)
	}
	var name strings.Builder
	name.Grow(len(text))
	blank := true // so that none is written in front
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Z):
			r = ' '
		case isApostrophe(r) && x.opt.Punctuation != PunctuationKeep:
			continue
		case unicode.IsPunct(r) && x.opt.Punctuation == PunctuationSpace:
			r = ' '
		case unicode.IsPunct(r) && x.opt.Punctuation == PunctuationDrop:
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
		return "", fmt.Errorf("%w: the term has %d bytes when it is normalised: at most %d are allowed", index.ErrValue, name.Len(), maxTerm)
	}
	return name.String(), nil
}

// isApostrophe tells whether a character stands for letters that are left out, or
// for a sound, within a word.
func isApostrophe(r rune) bool {
	switch r {
	case '\'', '\u2018', '\u2019', '\u02bb', '\u02bc':
		return true
	}
	return false
}

// plain are letters that people type as others, and that do not decompose.
func plain(r rune) string {
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

// withoutDiacritics takes a decomposed text in folded case, and leaves out the
// marks of letters that are the same letters without them. The marks that stay are
// composed with their letters again, so that か is no beginning of が; only Hangul
// is not, where the beginning of a syllable is what somebody has typed so far.
func withoutDiacritics(text string) string {
	var kept strings.Builder
	kept.Grow(len(text))
	var letter rune // that the marks belong to; 0 at the beginning of a word
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
		if other := plain(r); other != "" {
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

// isSyllable tells whether a character is a Hangul syllable.
func isSyllable(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }

// isDiacritic tells whether a letter is the same one without a mark.
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
