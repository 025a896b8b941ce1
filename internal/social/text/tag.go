package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// MaxTag is the maximum length of a tag in characters (code points), without #.
const MaxTag = 50

// maxTagText limits the length of a typed tag, in bytes.
const maxTagText = MaxTag * utf8.UTFMax

// FoldTag returns the form in which a tag is stored, and whether it is a tag: letters, digits and
// underscores of any script, at least one of them a letter, with or without #. The form is NFKC in
// lower case. Folding a folded tag does not change it.
func FoldTag(typed string) (folded string, ok bool) {
	if rest, marked := strings.CutPrefix(typed, "＃"); marked {
		typed = rest
	} else {
		typed = strings.TrimPrefix(typed, "#")
	}
	n, folded := tag(typed)
	return folded, folded != "" && n == len(typed)
}

// tag returns the length of the tag at the beginning of a text, and its folded form, which is empty
// if there is no tag.
func tag(text string) (n int, folded string) {
	letter, separated := false, false
scan:
	for at, r := range text {
		switch {
		case isTagRune(r) && (at > 0 || !isInnerMark(r)):
			separated = false
			letter = letter || isTagLetter(r)
			if n = at + utf8.RuneLen(r); n > maxTagText {
				return 0, ""
			}
		case isSeparator(r) && at > 0 && !separated: // only between two tag characters
			separated = true
		default:
			break scan
		}
	}
	if !letter {
		return 0, ""
	}
	folded = fold(text[:n])
	if utf8.RuneCountInString(folded) > MaxTag {
		return 0, ""
	}
	return n, folded
}

func isTagRune(r rune) bool   { return isWord(r) && !isIgnorable(r) }
func isTagLetter(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) }

// isSeparator reports whether r joins two parts of a word: l·l in Catalan, the dot between foreign
// names in Japanese, the joiners.
func isSeparator(r rune) bool {
	return r == '·' || r == '・' || r == '\uff65' || isJoiner(r)
}

// fold returns the folded form of a tag, or empty if no letter remains. Folding can take several
// rounds, for example for a character whose compatibility form has capitals.
func fold(typed string) string {
	if isPlainTag(typed) {
		return typed
	}
	for range 4 {
		folded := foldOnce(typed)
		if folded == typed {
			return folded
		}
		typed = folded
	}
	return "" // no character is known to need more rounds
}

func foldOnce(typed string) string {
	folded := norm.NFKC.String(cases.Lower(language.Und).String(norm.NFKC.String(typed)))
	folded = strings.Map(func(r rune) rune {
		// Some compatibility forms are several words with spaces between them.
		if isTagRune(r) || isSeparator(r) && !isJoiner(r) {
			return r
		}
		return -1
	}, folded)
	folded = strings.TrimLeftFunc(folded, func(r rune) bool { return isSeparator(r) || isInnerMark(r) })
	folded = strings.TrimRightFunc(folded, isSeparator)
	if strings.IndexFunc(folded, isTagLetter) < 0 {
		return ""
	}
	return folded
}

// isPlainTag reports whether a tag is its own folded form, as most are.
func isPlainTag(typed string) bool {
	for i := range len(typed) {
		c := typed[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
