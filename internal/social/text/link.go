package text

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLink limits the length of an address, in bytes.
	maxLink = 1000
	// shownLink is how much of an address is shown, in characters.
	shownLink = 40
)

// link finds an address at the beginning of a text. It returns the length of the text that looks
// like an address, or 0, and the address without the punctuation of the surrounding sentence. The
// address is empty if it is malformed, too long, or has a user name, which only serves to deceive.
func link(text string) (address string, n int) {
	host := len("http://")
	if !hasPrefixFold(text, "http://") {
		if host++; !hasPrefixFold(text, "https://") {
			return "", 0
		}
	}
	first, _ := utf8.DecodeRuneInString(text[host:])
	n = len(text)
	var before rune
	inPath, unspaced := false, isUnspaced(first)
	for at, r := range text[host:] {
		// In scripts without spaces, text can follow an address without a space. Letters of such a
		// script can also be part of the address, as in http://例え.jp and
		// https://ja.wikipedia.org/wiki/東京.
		begins := inPath && (before == '/' || before == '=')
		unspaced = unspaced || begins && isUnspaced(r)
		if !(inLink(r) || begins && unicode.Is(unicode.So, r)) || isUnspaced(r) && !unspaced {
			n = host + at
			break
		}
		inPath = inPath || r == '/' || r == '?' || r == '#'
		before = r
	}
	if n > maxLink {
		return "", n
	}
	address = trimLink(text[:n])
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.IndexFunc(u.Hostname(), isWord) < 0 {
		return "", n
	}
	return address, n
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// inLink reports whether r may occur in an address. Outside ASCII, only letters and digits may
// occur; characters that look like a slash or a dot may not.
func inLink(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r != 0x7f && !strings.ContainsRune("<>\"\\^`", r)
	}
	return isWord(r) && !isIgnorable(r) && !unicode.IsSpace(r)
}

// trimLink removes the punctuation of the sentence from the end of an address, and closing brackets
// without an opening one in the address.
func trimLink(address string) string {
	for address != "" {
		end := len(address) - 1
		switch last := address[end : end+1]; last {
		case ".", ",", ":", ";", "!", "?", "'", "|", "(", "[", "{":
		case ")", "]", "}":
			if open := openingBracket[last]; strings.Count(address, open) >= strings.Count(address, last) {
				return address
			}
		default:
			return address
		}
		address = address[:end]
	}
	return address
}

// openingBracket maps closing brackets to opening ones.
var openingBracket = map[string]string{")": "(", "]": "[", "}": "{"}

// target returns the address that a link leads to, with the scheme in lower case.
func target(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	return strings.ToLower(scheme) + "://" + rest
}

// Shown returns the text displayed for a segment: a link without its scheme, and only the beginning
// of a long link. The end of the host, which tells where the link leads, is always included.
func (s Segment) Shown() string {
	if s.Kind != Link {
		return s.Text
	}
	_, shown, _ := strings.Cut(s.Target, "://")
	if rest, ok := strings.CutPrefix(shown, "www."); ok && strings.Contains(rest, ".") {
		shown = rest
	}
	end := strings.IndexAny(shown, "/?#")
	if end == len(shown)-1 && shown[end] == '/' {
		return cut(shown[:end], end)
	}
	if end < 0 {
		end = len(shown)
	}
	return cut(shown, end)
}

// cut shortens an address whose host ends at the given byte.
func cut(shown string, host int) string {
	if n := utf8.RuneCountInString(shown[:host]); n > shownLink {
		runes := []rune(shown[:host])
		shown = "…" + string(runes[n-shownLink:]) + shown[host:]
		host = len("…") + len(string(runes[n-shownLink:]))
	}
	if utf8.RuneCountInString(shown) <= shownLink+1 {
		return shown
	}
	runes := []rune(shown)
	keep := max(shownLink, utf8.RuneCountInString(shown[:host]))
	if keep >= len(runes) {
		return shown
	}
	return string(runes[:keep]) + "…"
}
