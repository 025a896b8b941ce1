package auth

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// commonGzip holds some 35,000 passwords, words and names, sorted, one per line;
// scripts/common-passwords writes it.
//
//go:embed common.txt.gz
var commonGzip []byte

var commonWords = sync.OnceValue(func() []string {
	r, err := gzip.NewReader(bytes.NewReader(commonGzip))
	if err != nil {
		return nil // a test verifies that the data can be read
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
})

// maxExtra is the maximum number of characters around a common word that is still easy to guess.
const maxExtra = 4

// IsCommon reports whether a password is among those that attackers try first: a common password, a
// word or a name, also with digits in place of letters, with a few characters around it, or written
// twice; a sequence; or one repeated character.
func IsCommon(password string) bool {
	return resembles(password, func(word string) bool {
		words := commonWords()
		_, found := slices.BinarySearch(words, word)
		return found
	}) || isSequence([]rune(password))
}

// IsName reports whether a password is one of names, or a variation of one as for IsCommon.
func IsName(password string, names ...string) bool {
	return resembles(password, func(word string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return word != "" && word == fold(name) })
	})
}

func fold(text string) string { return strings.ToLower(norm.NFKC.String(text)) }

// disguises replace digits and signs with the letters that they resemble. They differ in whether 1
// and ! become i or l.
var disguises = []*strings.Replacer{
	strings.NewReplacer("0", "o", "1", "i", "!", "i", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t"),
	strings.NewReplacer("0", "o", "1", "l", "!", "l", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t"),
}

// resembles reports whether match accepts a password or one of its variations.
func resembles(password string, match func(word string) bool) bool {
	folded := fold(password)
	half := ""
	if len(folded)%2 == 0 && folded[:len(folded)/2] == folded[len(folded)/2:] {
		half = folded[:len(folded)/2]
	}
	for _, text := range []string{folded, core(folded), half} {
		if text == "" {
			continue
		}
		if match(text) {
			return true
		}
		for _, disguise := range disguises {
			if plain := disguise.Replace(text); match(plain) || match(core(plain)) {
				return true
			}
		}
	}
	return false
}

// core returns a password without the digits and signs around it, or an empty string if there are
// more than maxExtra.
func core(text string) string {
	inner := strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if utf8.RuneCountInString(text)-utf8.RuneCountInString(inner) > maxExtra {
		return ""
	}
	return inner
}

// isSequence reports whether all characters are the same distance apart, as in "aaaaaaaa" and
// "23456789", or there are only two different ones.
func isSequence(text []rune) bool {
	var distinct []rune
	for _, r := range text {
		if !slices.Contains(distinct, r) {
			distinct = append(distinct, r)
		}
	}
	if len(distinct) <= 2 {
		return true
	}
	for i := 2; i < len(text); i++ {
		if text[i]-text[i-1] != text[1]-text[0] {
			return false
		}
	}
	return true
}
