// Package fold normalizes the spellings of a word so that they match: upper and lower case, full
// width, ligatures, accents, kinds of apostrophes.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Case folds case and compatibility forms, such as full width, and decomposes the text (NFKD).
func Case(text string) string {
	// Folding can produce characters that decompose further.
	return norm.NFKD.String(cases.Fold().String(norm.NFKD.String(text)))
}

// hosts maps host names as browsers do. Unlike a strict profile, browsers accept underscores, and
// hyphens anywhere.
var hosts = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(false))

// Host returns a host name as a browser requests it: in lower case, with other letters in ASCII
// form (Punycode), without leading or trailing dots. For an invalid name it returns the best
// approximation.
func Host(typed string) string {
	host, err := hosts.ToASCII(typed)
	if err != nil {
		// If the whole name cannot be mapped, map each part separately.
		parts := strings.FieldsFunc(norm.NFKC.String(typed), func(r rune) bool { return r == '.' || r == '。' })
		for i, part := range parts {
			if parts[i], err = hosts.ToASCII(part); err != nil {
				parts[i] = cases.Fold().String(part)
			}
		}
		host = strings.Join(parts, ".")
	}
	return strings.Trim(host, ".")
}

// Visible removes invisible characters: format characters, joiners, variation selectors, fillers.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800' {
			return -1
		}
		return r
	}, text)
}

// Letters removes the diacritics of text that Case has folded: the marks of Latin, Greek and Cyrillic
// letters, and the points of Hebrew and Arabic. Marks of other scripts, which form another letter
// or are vowels, are recomposed with their letters (NFC), so that か is not a prefix of が. Letters
// that do not decompose become what people type instead: ø becomes o, ł becomes l, æ becomes ae.
func Letters(text string) string {
	var kept strings.Builder
	kept.Grow(len(text))
	var letter rune // the letter to which the next marks belong; 0 at the start of a word
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
	return norm.NFC.String(kept.String())
}

// IsApostrophe reports whether a character is an apostrophe or a similar letter within a
// word.
func IsApostrophe(r rune) bool {
	switch r {
	case '\'', '\u2018', '\u2019', '\u02bb', '\u02bc':
		return true
	}
	return false
}

// IsASCII reports whether text has only ASCII characters. Letters does not change such text, and
// Case only changes its upper case.
func IsASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// smallCapitals maps letters of phonetic alphabets that people use in words to ASCII letters. The
// small capitals do not decompose.
var smallCapitals = map[rune]string{
	'ᴀ': "a", 'ʙ': "b", 'ᴄ': "c", 'ᴅ': "d", 'ᴇ': "e", 'ꜰ': "f", 'ɢ': "g", 'ʜ': "h", 'ɪ': "i", 'ᴊ': "j", 'ᴋ': "k", 'ʟ': "l", 'ᴍ': "m",
	'ɴ': "n", 'ᴏ': "o", 'ᴘ': "p", 'ꞯ': "q", 'ʀ': "r", 'ꜱ': "s", 'ᴛ': "t", 'ᴜ': "u", 'ᴠ': "v", 'ᴡ': "w", 'ʏ': "y", 'ᴢ': "z",
}

// asciiOf returns the ASCII letters that are commonly typed for a letter that does not decompose,
// or "".
func asciiOf(r rune) string {
	if r < utf8.RuneSelf {
		return ""
	}
	if letter := smallCapitals[r]; letter != "" {
		return letter
	}
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

// isDiacritic reports whether a letter remains the same letter without a mark.
func isDiacritic(letter, mark rune) bool {
	return unicode.In(letter, unicode.Latin, unicode.Greek, unicode.Cyrillic) ||
		unicode.In(mark, unicode.Hebrew, unicode.Arabic, unicode.Variation_Selector) ||
		unicode.Is(unicode.Arabic, letter) || letter == 0 && unicode.Is(unicode.Inherited, mark)
}
