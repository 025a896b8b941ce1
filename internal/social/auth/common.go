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

// commonGzip are some 35,000 passwords, words and names, sorted, one a line;
// scripts/common-passwords writes it.
//
//go:embed common.txt.gz
var commonGzip []byte

var commonWords = sync.OnceValue(func() []string {
	r, err := gzip.NewReader(bytes.NewReader(commonGzip))
	if err != nil {
		return nil // a test reads it
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
})

// mostExtra is how many characters around a common word leave it easy to guess.
const mostExtra = 4

// IsCommon reports whether a password is among those that are tried first: a common
// password, a word or a name, or one of these with digits for letters, a few characters
// around it, or written twice; a sequence, or one character repeated.
func IsCommon(password string) bool {
	return resembles(password, func(word string) bool {
		words := commonWords()
		_, found := slices.BinarySearch(words, word)
		return found
	}) || isSequence([]rune(password))
}

// IsName reports whether a password is one of these names, in the same disguises.
func IsName(password string, names ...string) bool {
	return resembles(password, func(word string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return word != "" && word == fold(name) })
	})
}

func fold(text string) string { return strings.ToLower(norm.NFKC.String(text)) }

// The characters that stand for letters; a 1 for two of them.
var disguises = []*strings.Replacer{
	strings.NewReplacer("0", "o", "1", "i", "!", "i", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t"),
	strings.NewReplacer("0", "o", "1", "l", "!", "l", "3", "e", "4", "a", "@", "a", "5", "s", "$", "s", "7", "t"),
}

func resembles(password string, is func(word string) bool) bool {
	whole := fold(password)
	half := ""
	if len(whole)%2 == 0 && whole[:len(whole)/2] == whole[len(whole)/2:] {
		half = whole[:len(whole)/2]
	}
	for _, text := range []string{whole, core(whole), half} {
		if text == "" {
			continue
		}
		if is(text) {
			return true
		}
		for _, disguise := range disguises {
			if plain := disguise.Replace(text); is(plain) || is(core(plain)) {
				return true
			}
		}
	}
	return false
}

// core returns a password without the digits and signs around it, if these are few.
func core(text string) string {
	inner := strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	if utf8.RuneCountInString(text)-utf8.RuneCountInString(inner) > mostExtra {
		return ""
	}
	return inner
}

// isSequence reports whether all characters are the same distance apart, as in
// "aaaaaaaa" and "23456789", or are only two.
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
