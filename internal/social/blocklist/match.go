package blocklist

import (
	"net/netip"
	"strings"
	"time"
	"unicode"

	"retwis/internal/fold"
	"retwis/internal/social/text"
)

// matcher is the list in a form for matching. It is immutable.
type matcher struct {
	words    map[string]Block // by their words, separated by single spaces
	longest  int              // the maximum number of words in a block
	unspaced []Block          // words of scripts without spaces
	domains  map[string]Block
	networks []network
}

type network struct {
	prefix netip.Prefix
	block  Block
}

func newMatcher(blocks []Block) *matcher {
	m := &matcher{words: map[string]Block{}, domains: map[string]Block{}}
	for _, b := range blocks {
		switch b.Kind {
		case Word:
			if strings.ContainsFunc(b.Value, isUnspaced) {
				m.unspaced = append(m.unspaced, b)
				continue
			}
			m.words[b.Value] = b
			m.longest = max(m.longest, 1+strings.Count(b.Value, " "))
		case Domain:
			m.domains[b.Value] = b
		case Address:
			prefix, err := netip.ParsePrefix(b.Value)
			if addr, single := netip.ParseAddr(b.Value); single == nil {
				prefix, err = addr.Prefix(addr.BitLen())
			}
			if err == nil {
				m.networks = append(m.networks, network{prefix, b})
			}
		}
	}
	return m
}

// word reports whether a text contains a blocked word.
func (m *matcher) word(typed string, now time.Time) bool {
	if m.longest == 0 && len(m.unspaced) == 0 {
		return false
	}
	words := wordsOf(typed)
	for i := range words {
		for n := 1; n <= m.longest && i+n <= len(words); n++ {
			if b, ok := m.words[strings.Join(words[i:i+n], " ")]; ok && !b.Ended(now) {
				return true
			}
		}
	}
	if len(m.unspaced) == 0 {
		return false
	}
	all := strings.Join(words, " ")
	for _, b := range m.unspaced {
		if strings.Contains(all, b.Value) && !b.Ended(now) {
			return true
		}
	}
	return false
}

// link reports whether a text contains a link to a blocked domain or one of its subdomains.
func (m *matcher) link(typed string, now time.Time) bool {
	if len(m.domains) == 0 {
		return false
	}
	for _, part := range text.Parse(typed) {
		if part.Kind == text.Link && m.domain(domainOf(part.Target), now) {
			return true
		}
	}
	return false
}

func (m *matcher) domain(host string, now time.Time) bool {
	for host != "" {
		if b, ok := m.domains[host]; ok && !b.Ended(now) {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// address reports whether an address is blocked.
func (m *matcher) address(addr netip.Addr, now time.Time) bool {
	for _, n := range m.networks {
		if n.prefix.Contains(addr) && !n.block.Ended(now) {
			return true
		}
	}
	return false
}

// wordsOf returns the words of a text, folded like the words of a search: without case, accents and
// letter forms, and without invisible characters.
func wordsOf(typed string) []string {
	visible := strings.Map(func(r rune) rune {
		if fold.IsApostrophe(r) {
			return -1
		}
		return r
	}, fold.Visible(typed))
	return strings.FieldsFunc(fold.Letters(fold.Case(visible)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// isUnspaced reports whether r is a letter of a script without spaces between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
