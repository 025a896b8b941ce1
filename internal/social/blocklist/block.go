package blocklist

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"retwis/internal/fold"
	"retwis/internal/social"
)

// Kind is the kind of a block.
type Kind string

// The kinds.
const (
	Word    Kind = "word"    // a word, or several consecutive words, in any case and with any accents
	Domain  Kind = "domain"  // the domain of a link, including its subdomains
	Address Kind = "address" // the address of a person, or a network such as 192.0.2.0/24
)

// Kinds are all kinds.
var Kinds = []Kind{Word, Domain, Address}

const (
	// MaxOfKind is the maximum number of blocks of a kind.
	MaxOfKind = 1000
	// maxWords is the maximum number of words in a block.
	maxWords = 5
	// maxValue limits the value of a block, in bytes.
	maxValue = 200
	// maxDuration is the maximum duration of a block with an end.
	maxDuration = 10 * 366 * 24 * time.Hour
)

// Block is a word, a domain or an address that is not allowed on the site.
type Block struct {
	Kind  Kind
	Value string // in the form that Clean returns
	Since time.Time
	Until time.Time // zero for no end
}

// Ended reports whether a block has ended.
func (b Block) Ended(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

func (b Block) field() string { return string(b.Kind) + " " + b.Value }

func (b Block) stored() string {
	until := int64(0)
	if !b.Until.IsZero() {
		until = b.Until.Unix()
	}
	return fmt.Sprintf("%d %d", b.Since.Unix(), until)
}

// Parse parses a stored block; ok is false if it is damaged.
func Parse(field, stored string) (b Block, ok bool) {
	kind, value, _ := strings.Cut(field, " ")
	clean, err := Clean(Kind(kind), value)
	since, until, _ := strings.Cut(stored, " ")
	from, sinceErr := strconv.ParseInt(since, 10, 64)
	to, untilErr := strconv.ParseInt(until, 10, 64)
	if err != nil || clean != value || sinceErr != nil || untilErr != nil || to < 0 {
		return Block{}, false
	}
	b = Block{Kind: Kind(kind), Value: value, Since: time.Unix(from, 0).UTC()}
	if to > 0 {
		b.Until = time.Unix(to, 0).UTC()
	}
	return b, true
}

// Clean returns a value in the form that is stored, or *InvalidError.
func Clean(kind Kind, typed string) (string, error) {
	typed = strings.TrimSpace(typed)
	if len(typed) > maxValue || !utf8.ValidString(typed) {
		return "", social.Invalid("value", "This is too long. Use at most {n} bytes.", maxValue)
	}
	switch kind {
	case Word:
		words := wordsOf(typed)
		if len(words) == 0 || len(words) > maxWords {
			return "", social.Invalid("value", "Use 1 to {n} words.", maxWords)
		}
		return strings.Join(words, " "), nil
	case Domain:
		if domain := domainOf(typed); domain != "" {
			return domain, nil
		}
		return "", social.Invalid("value", "Use a domain such as example.com.")
	case Address:
		if network, ok := networkOf(typed); ok {
			return network, nil
		}
		return "", social.Invalid("value", "Use an address such as 192.0.2.7, or a network such as 192.0.2.0/24.")
	}
	return "", social.Invalid("kind", "Use word, domain or address.")
}

// domainOf returns the domain of a web address, or of a typed domain, in its ASCII form and without
// www. It is empty for any other text.
func domainOf(typed string) string {
	if strings.Contains(typed, "://") {
		u, err := url.Parse(typed)
		if err != nil {
			return ""
		}
		typed = u.Hostname()
	}
	host := strings.TrimPrefix(fold.Host(typed), "www.")
	if !strings.Contains(host, ".") || strings.ContainsAny(host, " /?#@:*") {
		return ""
	}
	return host
}

// minBits are the shortest allowed network prefixes, so that a mistake does not block everybody.
const (
	minBits4 = 8
	minBits6 = 16
)

// networkOf returns an address, or a network with the bits after its prefix cleared, in the form
// that is stored.
func networkOf(typed string) (string, bool) {
	if addr, err := netip.ParseAddr(typed); err == nil && addr.Zone() == "" {
		return addr.Unmap().String(), true
	}
	network, err := netip.ParsePrefix(typed)
	if err != nil || network.Addr().Is4() && network.Bits() < minBits4 || network.Addr().Is6() && network.Bits() < minBits6 {
		return "", false
	}
	network = network.Masked()
	if network.IsSingleIP() {
		return network.Addr().String(), true
	}
	return network.String(), true
}
