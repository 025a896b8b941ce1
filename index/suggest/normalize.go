package suggest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"retwis/index"
	"retwis/internal/fold"
)

// maxTerm is the maximum length of a term in bytes, before and after normalization.
const maxTerm = 512

// Punctuation selects how normalization treats punctuation, the characters of the Unicode
// category P. In every case white space becomes a single blank, and symbols such as + and €
// stay. Apostrophes are removed, except with PunctuationKeep. PunctuationSpace keeps a # that
// follows another character, as in C#.
type Punctuation string

// The treatments of punctuation.
const (
	PunctuationSpace Punctuation = ""     // becomes a blank: "wi-fi" is "wi fi", "rock'n'roll" is "rocknroll"
	PunctuationDrop  Punctuation = "drop" // removed: "wifi"
	PunctuationKeep  Punctuation = "keep" // unchanged: "wi-fi", "rock'n'roll"
)

// name returns the normalized form of a term.
func (p Punctuation) name(term string) (string, error) {
	name, err := p.prefix(term)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, " ")
	if name == "" {
		return "", fmt.Errorf("%w: the term %q has no letters", index.ErrValue, term)
	}
	return name, nil
}

// prefix is like name for a prefix of a term, which may be empty. It keeps a trailing blank,
// since "new " is not a prefix of "newton".
func (p Punctuation) prefix(term string) (string, error) {
	switch {
	case len(term) > maxTerm:
		return "", fmt.Errorf("%w: the term has %d bytes: at most %d are allowed", index.ErrValue, len(term), maxTerm)
	case !utf8.ValidString(term):
		return "", fmt.Errorf("%w: the term %q is not UTF-8", index.ErrValue, term)
	}
	text := term
	if !fold.IsASCII(text) {
		text = decomposeHangul(fold.Letters(fold.Case(text)))
	}
	var name strings.Builder
	name.Grow(len(text))
	blank := true // to drop leading blanks
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Z):
			r = ' '
		case fold.IsApostrophe(r) && p != PunctuationKeep:
			continue
		case r == '#' && !blank && p == PunctuationSpace:
		case unicode.IsPunct(r) && p == PunctuationSpace:
			r = ' '
		case unicode.IsPunct(r) && p == PunctuationDrop:
			continue
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

// spell returns the displayed spelling of a term: composed (NFC), with blanks collapsed.
func spell(term string) (string, error) {
	if !norm.NFC.IsNormalString(term) {
		term = norm.NFC.String(term)
	}
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	spelling := strings.Join(strings.FieldsFunc(term, blank), " ")
	if len(spelling) > maxTerm {
		return "", fmt.Errorf("%w: the term has %d bytes when composed: at most %d are allowed", index.ErrValue, len(spelling), maxTerm)
	}
	return spelling, nil
}

// decomposeHangul decomposes Hangul syllables, since users type them letter by letter.
func decomposeHangul(text string) string {
	if !strings.ContainsFunc(text, isSyllable) {
		return text
	}
	var typed strings.Builder
	for _, r := range text {
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
