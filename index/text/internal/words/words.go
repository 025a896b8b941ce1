// Package words splits text in any script into the words of a full-text index.
//
// Words are the words of Unicode (UAX #29), folded as in index/suggest: case, accents,
// full-width forms and kinds of apostrophes make no difference. Scripts without spaces between
// words are split into characters, which are indexed in pairs.
package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"

	"retwis/internal/fold"
)

// MaxWord is the maximum length of a word, in bytes. Longer words are truncated.
const MaxWord = 64

// Atom is a word, or one character of a script without spaces between words.
type Atom struct {
	Text   string
	Stem   string // stem of a word, if it differs from the text
	Single bool   // a character
	Joined bool   // a character that directly follows another character
}

// StemMark is the prefix of terms that are stems. No word contains it.
const StemMark = "~"

// Splitter splits texts. It is safe for concurrent use.
type Splitter struct {
	stem func(*snowballstem.Env) bool // nil: words have no stems
}

// New returns a Splitter that stems words in a language, one of Languages. If language is
// empty, the Splitter does not stem.
func New(language string) (*Splitter, error) {
	stem := stemmers()[language]
	if language != "" && stem == nil {
		return nil, fmt.Errorf("%q is not a language with a stemmer: use one of %s", language, strings.Join(Languages(), ", "))
	}
	return &Splitter{stem: stem}, nil
}

// Atoms returns the words and characters of a text, in order.
func (s *Splitter) Atoms(text string) []Atom {
	if !fold.IsASCII(text) {
		text = norm.NFC.String(fold.Case(strings.ToValidUTF8(text, " ")))
	}
	c := collector{splitter: s}
	state := -1
	for text != "" {
		var segment string
		segment, text, state = uniseg.FirstWordInString(text, state)
		c.segment(segment)
	}
	return c.atoms
}

// Terms returns the terms of atoms, sorted and without duplicates: words and their stems, pairs
// of joined characters, Chinese characters, and other characters that stand alone.
func Terms(atoms []Atom) []string {
	terms := make([]string, 0, len(atoms))
	for i, a := range atoms {
		paired := i+1 < len(atoms) && atoms[i+1].Joined
		if paired {
			terms = append(terms, a.Text+atoms[i+1].Text)
		}
		if !a.Single || !a.Joined && !paired || isHan(a.Text) {
			terms = append(terms, a.Text)
		}
		if a.Stem != "" {
			terms = append(terms, StemMark+a.Stem)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Wanted returns the terms that a text containing the atoms consecutively must have: one from
// each list. It omits Chinese characters that are part of a pair.
func (s *Splitter) Wanted(atoms []Atom) [][]string {
	wanted := make([][]string, 0, len(atoms))
	for i, a := range atoms {
		paired := i+1 < len(atoms) && atoms[i+1].Joined
		switch {
		case paired:
			wanted = append(wanted, []string{a.Text + atoms[i+1].Text})
		case !a.Joined:
			wanted = append(wanted, s.forms(a))
		}
	}
	slices.SortFunc(wanted, slices.Compare)
	return slices.CompactFunc(wanted, slices.Equal)
}

// forms returns terms, at least one of which a text must have to contain a form of a word: the
// word, its stem, and the word that is its own stem.
func (s *Splitter) forms(a Atom) []string {
	switch {
	case s.stem == nil || a.Single:
		return []string{a.Text}
	case a.Stem == "":
		return []string{a.Text, StemMark + a.Text}
	}
	return []string{a.Text, a.Stem, StemMark + a.Stem}
}

// isForm reports whether two words are forms of the same word.
func isForm(a, b Atom) bool {
	stem := cmp.Or(b.Stem, b.Text)
	return a.Text == b.Text || a.Text == stem || a.Stem == stem
}

// Contain reports whether a text contains the atoms of a phrase consecutively.
func Contain(text, phrase []Atom) bool {
	for ; len(text) >= len(phrase); text = text[1:] {
		if startsWith(text, phrase) {
			return true
		}
	}
	return false
}

// startsWith reports whether a text starts with the atoms of a phrase.
func startsWith(text, phrase []Atom) bool {
	for i, a := range phrase {
		if !isForm(text[i], a) {
			return false
		}
	}
	return true
}

// isHan reports whether a text starts with a Chinese character.
func isHan(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.Is(unicode.Han, r)
}

// collector collects atoms from the segments of a text.
type collector struct {
	splitter *Splitter
	atoms    []Atom
	joined   bool // the last rune became an atom of its own
}

// segment adds the words and characters of a segment between two word boundaries.
func (c *collector) segment(segment string) {
	start := 0 // of the current word
	var before rune
	for i, r := range segment {
		size := utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(segment[i+size:])
		switch {
		case unspaced(r):
			c.word(segment[start:i])
			c.atoms = append(c.atoms, Atom{Text: string(r), Single: true, Joined: c.joined})
			c.joined = true
			start = i + size
		case splits(before, r, next):
			c.word(segment[start:i])
			c.joined = false
			start = i + size
		}
		before = r
	}
	c.word(segment[start:])
}

// splits reports whether a rune separates words although UAX #29 considers it part of a word,
// such as the point in "example.com". The point in "3.14" does not separate words.
func splits(before, r, after rune) bool {
	if unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.So, unicode.Cf) || r == '_' || dropped(r) {
		return false
	}
	return (r != '.' && r != ',') || !unicode.IsDigit(before) || !unicode.IsDigit(after)
}

// dropped reports whether a rune within a word is ignored: apostrophes, quotes as in Hebrew
// abbreviations, the Catalan middle dot, skin tones of emoji.
func dropped(r rune) bool {
	switch r {
	case '"', '\u05f3', '\u05f4', '\u00b7', '\u20e3':
		return true
	}
	return fold.IsApostrophe(r) || r >= 0x1f3fb && r <= 0x1f3ff || unicode.In(r, unicode.Cf, unicode.Variation_Selector)
}

// word adds a word if the text has letters, digits or symbols.
func (c *collector) word(text string) {
	if text == "" {
		return
	}
	c.joined = false
	text = strings.Trim(text, "_")
	if !strings.ContainsFunc(text, significant) {
		return
	}
	folded := foldWord(text)
	if folded == "" {
		return
	}
	a := Atom{Text: Cut(folded, MaxWord)}
	if c.splitter.stem != nil && !strings.ContainsFunc(text, unicode.IsDigit) {
		if stem := c.splitter.stemOf(text); stem != folded {
			a.Stem = Cut(stem, MaxWord-len(StemMark))
		}
	}
	c.atoms = append(c.atoms, a)
}

// significant reports whether a rune is a letter, a number or a symbol.
func significant(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.So)
}

// stemOf returns the folded stem of a word.
func (s *Splitter) stemOf(word string) string {
	word = strings.Map(func(r rune) rune {
		switch r = unicode.ToLower(r); {
		case fold.IsApostrophe(r):
			return '\''
		case r == 'ё': // unknown to the stemmer
			return 'е'
		}
		return r
	}, word)
	env := snowballstem.NewEnv(word)
	s.stem(env)
	return foldWord(env.Current())
}

// foldWord returns the indexed form of a word.
func foldWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if dropped(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, word)
	if fold.IsASCII(word) {
		return word
	}
	return fold.Letters(norm.NFD.String(word))
}

// Cut truncates a text to at most size bytes, at a rune boundary.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// unspaced reports whether a rune belongs to a script without spaces between words, or to a
// script that attaches particles to words, such as Hangul.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet) &&
		unicode.In(r, unicode.L, unicode.M, unicode.Nl)
}
