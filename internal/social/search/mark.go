package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"retwis/internal/fold"
)

// Marker finds the words of a query in the texts of posts, to highlight them.
type Marker struct{ words []markedWord }

// markedWord is a word of a query. A word in a script without spaces, or with a hyphen, has several
// parts.
type markedWord struct {
	parts  []string // folded
	prefix bool     // the last part is a prefix
}

// token is a word in a text.
type token struct {
	text     string // folded
	from, to int    // byte offsets
}

// tokens returns the words of a text.
func tokens(text string) []token {
	var all []token
	state, offset := -1, 0
	for rest := text; rest != ""; {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if first, _ := utf8.DecodeRuneInString(word); isPart(first) {
			all = append(all, token{text: folded(word), from: offset, to: offset + len(word)})
		}
		offset += len(word)
	}
	return all
}

// isPart reports whether a word may begin with r, which must not be a blank or punctuation.
func isPart(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsPunct(r) && !unicode.IsControl(r) }

// folded returns a word in the form in which words are compared.
func folded(word string) string {
	if fold.IsASCII(word) {
		return strings.ToLower(word)
	}
	return strings.Map(func(r rune) rune {
		if fold.IsApostrophe(r) {
			return '\''
		}
		return r
	}, fold.Letters(fold.Case(word)))
}

// add adds the words of a part of a query.
func (m *Marker) add(typed string) {
	w := markedWord{}
	typed, w.prefix = strings.CutSuffix(typed, "*")
	for _, t := range tokens(typed) {
		w.parts = append(w.parts, t.text)
	}
	if len(w.parts) > 0 {
		m.words = append(m.words, w)
	}
}

// Find returns the byte ranges of the words in a text, sorted and without overlaps.
func (m Marker) Find(text string) [][2]int {
	if len(m.words) == 0 {
		return nil
	}
	all := tokens(text)
	var found [][2]int
	for i := 0; i < len(all); i++ {
		longest := 0
		for _, w := range m.words {
			if n := len(w.parts); n > longest && w.begins(all[i:]) {
				longest = n
			}
		}
		if longest > 0 {
			found = append(found, [2]int{all[i].from, all[i+longest-1].to})
			i += longest - 1
		}
	}
	return found
}

// begins reports whether the tokens begin with the word.
func (w markedWord) begins(text []token) bool {
	last := len(w.parts) - 1
	if len(text) <= last || !slices.EqualFunc(w.parts[:last], text[:last], func(part string, t token) bool { return part == t.text }) {
		return false
	}
	return text[last].text == w.parts[last] || w.prefix && strings.HasPrefix(text[last].text, w.parts[last])
}
