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
// and symbols, such as + and €, stay.
type Punctuation string

// The ways to go about punctuation.
const (
	PunctuationSpace Punctuation = ""     // as a blank: "rock'n'roll" is "rock n roll"
	PunctuationDrop  Punctuation = "drop" // not at all: "rocknroll"
	PunctuationKeep  Punctuation = "keep" // as it is: "rock'n'roll"
)

// Normalize returns the form of a term by which it is found: decomposed (NFKD),
// without marks, in folded case, blanks collapsed. A colon that is kept is
// U+001F in it, since it ends the name in an entry. Terms with the same form are
// the same term. It fails with index.ErrValue on what is no text: not UTF-8, over
// 512 bytes, or without anything but blanks and punctuation.
func (x *Index) Normalize(term string) (string, error) {
	name, err := x.name(term)
	if err != nil {
		return "", fmt.Errorf("suggest: %w", err)
	}
	return name, nil
}

// name is Normalize for the methods that wrap their errors.
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
	}
	var name strings.Builder
	name.Grow(len(text))
	blank := true // so that none is written in front
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case unicode.In(r, unicode.Mn, unicode.Cf):
			continue
		case unicode.IsSpace(r), unicode.IsControl(r), unicode.In(r, unicode.Z):
			r = ' '
		case unicode.IsPunct(r) && x.opt.Punctuation == PunctuationSpace:
			r = ' '
		case unicode.IsPunct(r) && x.opt.Punctuation == PunctuationDrop:
			continue
		case r == ':':
			r = '\x1f'
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

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
