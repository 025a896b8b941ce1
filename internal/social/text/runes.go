package text

import "unicode"

// before is the character before a position: it decides whether something can begin
// there.
type before struct{ r rune }

func (b *before) set(r rune) {
	// A joiner or a variation selector belongs to the character before it.
	if b.r != 0 && (unicode.Is(unicode.Variation_Selector, r) || isJoiner(r)) {
		return
	}
	b.r = r
}

// word reports a position inside a word. Scripts that write no spaces between words
// do not count.
func (b before) word() bool { return isWord(b.r) && !isUnspaced(b.r) }

// mention reports whether a mention can begin: not inside a word, an e-mail address,
// or the address of a page that was typed without http.
func (b before) mention() bool {
	return !b.word() && b.r != '@' && b.r != '＠' && b.r != '/'
}

// tag reports whether a tag can begin: not inside a word, an HTML entity (&#39;), or
// an address.
func (b before) tag() bool {
	return !b.word() && b.r != '#' && b.r != '＃' && b.r != '&' && b.r != '/'
}

// isWord reports the characters of words.
func isWord(r rune) bool {
	if r < 0x80 {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || isInnerMark(r) || unicode.In(r, unicode.Nd, unicode.Nl)
}

// isInnerMark reports the marks that are written on or around a letter, without those
// that make a symbol of what is before them (a keycap, a circle) and those that
// nobody sees.
func isInnerMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc) && !isIgnorable(r)
}

// isIgnorable reports characters that fonts do not draw, some of which are letters
// (Hangul fillers) or marks.
func isIgnorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isJoiner reports the joiners, which are parts of words in Persian and in the scripts
// of India.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// isUnspaced reports the letters of scripts that write no spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
