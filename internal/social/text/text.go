// Package text finds what can be clicked in the text of a post: links, mentions of people and tags.
// It does not depend on a database or HTML.
//
// The functions never fail: malformed links, mentions and tags are plain text. They take time
// proportional to the length of the text.
package text

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a segment.
type Kind uint8

// The kinds of segments.
const (
	Plain   Kind = iota
	Link         // an address of http or https
	Mention      // @name
	Tag          // #tag
)

// Segment is a part of a text. The concatenated Texts of all segments are the text.
type Segment struct {
	Kind   Kind
	Text   string // as typed
	Target string // the address of a link, the name of a mention without @, the folded tag without #
}

// Limits on the distinct mentions, tags and links that count in one text. Further ones can be
// clicked, but cause no notification and are not listed anywhere.
const (
	MaxMentions = 10
	MaxTags     = 10
	MaxLinks    = 10
)

// Parse splits a text.
func Parse(body string) []Segment {
	var segments []Segment
	plain := 0 // start of the plain text before the position
	emit := func(from, to int, s Segment) {
		if plain < from {
			segments = append(segments, Segment{Kind: Plain, Text: body[plain:from]})
		}
		s.Text = body[from:to]
		segments = append(segments, s)
		plain = to
	}
	var before before
	for at := 0; at < len(body); {
		r, size := rune(body[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(body[at:])
		}
		end := at + size
		switch r {
		case 'h', 'H':
			address, n := link(body[at:])
			if n == 0 {
				break
			}
			// An address, even a malformed one, contains no mentions or tags.
			r, end = '/', at+n
			if address != "" && !before.word() {
				end = at + len(address)
				emit(at, end, Segment{Kind: Link, Target: target(address)})
			}
		case '@', '＠':
			if !before.mention() {
				break
			}
			if n, ok := name(body[end:]); ok {
				emit(at, end+n, Segment{Kind: Mention, Target: body[end : end+n]})
				end += n
				r = 'a'
			}
		case '#', '＃':
			if !before.tag() {
				break
			}
			if n, folded := tag(body[end:]); folded != "" {
				emit(at, end+n, Segment{Kind: Tag, Target: folded})
				end += n
				r = 'a'
			}
		}
		before.set(r)
		at = end
	}
	if plain < len(body) {
		segments = append(segments, Segment{Kind: Plain, Text: body[plain:]})
	}
	return segments
}

// Mentions returns the names that a text mentions, without @, as first typed: at most MaxMentions,
// ignoring repetitions that differ only in case.
func Mentions(body string) []string { return targets(body, Mention, "@＠", MaxMentions) }

// Tags returns the tags of a text, folded and without #: at most MaxTags, each once.
func Tags(body string) []string { return targets(body, Tag, "#＃", MaxTags) }

// Links returns the addresses of a text: at most MaxLinks, each once.
func Links(body string) []string { return targets(body, Link, ":", MaxLinks) }

func targets(body string, kind Kind, marks string, limit int) []string {
	if !strings.ContainsAny(body, marks) {
		return nil
	}
	var all []string
	seen := make(map[string]bool)
	for _, s := range Parse(body) {
		if s.Kind != kind {
			continue
		}
		if key := strings.ToLower(s.Target); !seen[key] {
			seen[key] = true
			if all = append(all, s.Target); len(all) == limit {
				break
			}
		}
	}
	return all
}

// maxName is the maximum length of a name that can be mentioned.
const maxName = 20

// name returns the length of the name at the beginning of a text, and whether it can be mentioned:
// it must not be part of a longer word or the beginning of an email or federated address.
func name(text string) (int, bool) {
	n := 0
	for n < len(text) && isNameByte(text[n]) {
		if n++; n > maxName {
			return 0, false
		}
	}
	if n == 0 {
		return 0, false
	}
	next, _ := utf8.DecodeRuneInString(text[n:])
	return n, next != '@' && next != '＠' && (!isWord(next) || isUnspaced(next))
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
