package text

import "unicode"

// before is the character before a position: it determines what can begin there.
type before struct{ r rune }

func (b *before) set(r rune) {
	// A joiner or a variation selector belongs to the character before it.
	if b.r != 0 && (unicode.Is(unicode.Variation_Selector, r) || isJoiner(r)) {
		return
	}
	b.r = r
}

// word reports whether the position is inside a word. Scripts without spaces between words do not
// count.
func (b before) word() bool { return isWord(b.r) && !isUnspaced(b.r) }

// mention reports whether a mention can begin: not inside a word, an email address, or a page
// address typed without http.
func (b before) mention() bool {
	return !b.word() && b.r != '@' && b.r != '＠' && b.r != '/'
}

// tag reports whether a tag can begin: not inside a word, an HTML entity (&#39;), or
// an address.
func (b before) tag() bool {
	return !b.word() && b.r != '#' && b.r != '＃' && b.r != '&' && b.r != '/'
}

// isWord reports whether r occurs in words.
func isWord(r rune) bool {
	if r < 0x80 {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || isInnerMark(r) || unicode.In(r, unicode.Nd, unicode.Nl)
}

// isInnerMark reports whether r is a mark written on or around a letter, excluding marks that turn
// the preceding character into a symbol (a keycap, a circle), and invisible ones.
func isInnerMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Mc) && !isIgnorable(r)
}

// isIgnorable reports whether fonts do not draw r, which may be a letter (Hangul fillers) or a
// mark.
func isIgnorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isJoiner reports whether r is a joiner, which is part of words in Persian and the scripts of
// India.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// isUnspaced reports whether r is a letter of a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
