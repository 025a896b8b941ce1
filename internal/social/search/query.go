package search

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"retwis/internal/i18n"
	"retwis/internal/social"

	"retwis/internal/social/text"
)

// MaxQuery is the maximum length of a query, in characters.
const MaxQuery = 500

// Query is a parsed query. It can have these operators:
//
//	from:ada            posts by @ada; from:me by the viewer
//	to:ada              replies to @ada, and posts that mention @ada
//	#tag, @ada          posts with a tag; posts that mention @ada
//	has:link, is:reply
//	has:picture         posts with pictures; -has:picture without
//	before:2026-10-01   posts before a day (UTC); after:2026-10-01 after it
//
// text.Parse parses everything else. An operator that is not understood counts as a word, and Notes
// returns a note about it.
type Query struct {
	parts     []part
	before    time.Time // start of a day; zero for no bound
	after     time.Time // start of a day; zero for no bound
	pictures  pictures
	marker    Marker
	operators []typedOperator
}

// pictures is the condition of a query on the pictures of posts.
type pictures int

const (
	anyPictures pictures = iota
	withPictures
	withoutPictures
)

// allow reports whether a post meets the condition.
func (p pictures) allow(post social.Post) bool {
	return p == anyPictures || (p == withPictures) == (post.Media != "")
}

// typedOperator is a word that starts with the name of an operator.
type typedOperator struct {
	word       string
	understood bool
}

// part is a part of a query: text for text.Parse, or a user to resolve.
type part struct {
	text string
	user string // set instead of text
	to   bool   // posts to the user instead of posts by the user
}

// Parse parses a query. It returns *InvalidError if the query is too long.
func Parse(typed string) (*Query, error) {
	typed, err := clean(typed)
	if err != nil {
		return nil, err
	}
	q := &Query{}
	for rest := typed; rest != ""; {
		n := q.next(rest)
		rest = rest[n:]
	}
	return q, nil
}

// clean removes control characters from a query, or returns *InvalidError if it is too long.
func clean(typed string) (string, error) {
	typed = strings.TrimSpace(social.CleanRunes(typed))
	if utf8.RuneCountInString(typed) > MaxQuery {
		return "", social.Invalid("q", "Your search is too long. Use at most {n} characters.", MaxQuery)
	}
	return typed, nil
}

// add adds text for text.Parse.
func (q *Query) add(s string) { q.parts = append(q.parts, part{text: s}) }

// next parses the next part of a query and returns its length.
func (q *Query) next(rest string) int {
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsSpace(first) || first == '(' || first == ')':
		q.add(rest[:size])
		return size
	case isQuote(first):
		end := strings.IndexFunc(rest[size:], isQuote)
		if end < 0 {
			q.add(rest) // text.Parse reports the missing quote
			return len(rest)
		}
		_, closing := utf8.DecodeRuneInString(rest[size+end:])
		q.add(rest[:size+end+closing])
		q.marker.add(rest[size : size+end])
		return size + end + closing
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || isQuote(r) })
	if end < 0 {
		end = len(rest)
	}
	word, minus := strings.CutPrefix(rest[:end], "-")
	understood := q.bound(word, minus)
	if !understood {
		if minus {
			q.add("-")
		}
		understood = q.operator(word)
	}
	if !understood {
		q.word(word, minus)
	}
	if _, ok := hintOf(word); ok {
		q.operators = append(q.operators, typedOperator{rest[:end], understood})
	}
	return end
}

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' }

// word adds a word. It replaces a colon that text.Parse would take for an operator.
func (q *Query) word(word string, minus bool) {
	if name, _, found := strings.Cut(word, ":"); found && fields[name+":"] {
		word = strings.Replace(word, ":", " ", 1)
	}
	q.add(word)
	if !minus && word != "OR" {
		q.marker.add(word)
	}
}

// fields are the exact terms that text.Parse accepts.
var fields = map[string]bool{
	FromTerm: true, ToTerm: true, MentionTerm: true, TagTerm: true, "has:": true, "is:": true,
}

// HasPicture is the operator for posts with pictures. The index has no such term, because the
// pictures of a post can change without its text.
const HasPicture = "has:picture"

// bound handles an operator that applies to the whole query, and reports whether word is such an
// operator.
func (q *Query) bound(word string, minus bool) bool {
	if strings.EqualFold(word, HasPicture) {
		if q.pictures = withPictures; minus {
			q.pictures = withoutPictures
		}
		return true
	}
	name, value, _ := strings.Cut(strings.ToLower(word), ":")
	return !minus && (name == "before" || name == "after") && q.day(name == "after", value)
}

// operator adds word if it is an operator, and reports whether it is one.
func (q *Query) operator(word string) bool {
	if strings.HasPrefix(word, "#") || strings.HasPrefix(word, "＃") {
		return q.tag(word)
	}
	if rest, found := strings.CutPrefix(word, "@"); found && social.CheckName(rest) == nil {
		q.add(Term(MentionTerm, strings.ToLower(rest)))
		return true
	}
	name, value, found := strings.Cut(word, ":")
	if !found || value == "" {
		return false
	}
	switch strings.ToLower(name) {
	case "from", "to":
		user := strings.TrimLeft(value, "@＠")
		if user == "" {
			return false
		}
		q.parts = append(q.parts, part{user: user, to: strings.EqualFold(name, "to")})
		return true
	case "tag":
		return q.tag(value)
	case "has", "is":
		if term := strings.ToLower(word); term == HasLink || term == IsReply {
			q.add(term)
			return true
		}
	}
	return false
}

// tag adds a tag, and reports whether it is valid.
func (q *Query) tag(typed string) bool {
	tag, ok := text.FoldTag(typed)
	if ok {
		q.add(Term(TagTerm, tag))
	}
	return ok
}

// day sets a bound on the times of posts, before or after a day, and reports whether the day is
// valid.
func (q *Query) day(after bool, value string) bool {
	day, err := time.Parse(time.DateOnly, value)
	switch {
	case err != nil:
		return false
	case after:
		if next := day.AddDate(0, 0, 1); next.After(q.after) {
			q.after = next
		}
	case q.before.IsZero() || day.Before(q.before):
		q.before = day
	}
	return true
}

// hint explains how an operator is written: a sentence about the typed word, and optionally an
// example.
type hint struct {
	text    i18n.Message
	example string
}

var (
	writeAs         = i18n.T("“{word}” is searched for as words: write {example}.")
	writeDayAs      = i18n.T("“{word}” is searched for as words: write the day as in {example}.")
	unknownOperator = hint{i18n.T("“{word}” isn't an operator, so it is searched for as words."), ""}
)

// hints has a hint for each operator, including some operators of other sites.
var hints = map[string]hint{
	"from": {writeAs, "from:ada"}, "to": {writeAs, "to:ada"}, "tag": {writeAs, "tag:redis"},
	"has":    {i18n.T("“{word}” is searched for as words: only has:link and has:picture are supported."), ""},
	"is":     {i18n.T("“{word}” is searched for as words: only is:reply is supported."), ""},
	"before": {writeDayAs, "before:2026-11-01"}, "after": {writeDayAs, "after:2026-11-01"},
	"since": {writeAs, "after:2026-11-01"}, "until": {writeAs, "before:2026-11-01"},
	"author": {writeAs, "from:ada"}, "by": {writeAs, "from:ada"}, "mentions": {writeAs, "@ada"}, "hashtag": {writeAs, "tag:redis"},
	"lang": unknownOperator, "language": unknownOperator, "filter": unknownOperator, "in": unknownOperator, "domain": unknownOperator,
	"during": {writeAs, "after:2026-09-30 before:2026-11-01"},
}

// hintOf returns the hint for the operator whose name a word begins with; ok is false for other
// words.
func hintOf(word string) (h hint, ok bool) {
	name, value, found := strings.Cut(word, ":")
	if !found || strings.HasPrefix(value, "/") {
		return h, false
	}
	h, ok = hints[strings.ToLower(name)]
	return h, ok
}

// Notes returns sentences about the operators that were not understood.
func (q *Query) Notes() (all []i18n.Message) {
	for _, o := range q.operators {
		word, minus := strings.CutPrefix(o.word, "-")
		name, value, _ := strings.Cut(strings.ToLower(word), ":")
		h, _ := hintOf(word)
		note := h.text.With(o.word)
		if h.example != "" {
			note = h.text.With(o.word, h.example)
		}
		switch isDay := name == "before" || name == "after"; {
		case o.understood:
			continue
		case isDay && !minus && value != "":
			note = i18n.T("“{word}” isn't a date, so its words are searched for. Write {example}.", o.word, name+":2026-11-01")
		case minus && name == "after":
			note = i18n.T("“{word}” is searched for as words: write before: without the minus.", o.word)
		case minus && name == "before":
			note = i18n.T("“{word}” is searched for as words: write after: without the minus.", o.word)
		case value == "" && isDay:
			note = i18n.T("“{word}” is searched for as words: write the day as in {example}, without a space.", o.word, h.example)
		case value == "" && h.example != "":
			note = i18n.T("“{word}” is searched for as words: write {example}, without a space.", o.word, h.example)
		}
		all = append(all, note)
	}
	return all
}

// NotesOnOperators returns sentences about the operators in a search for people and tags, which
// does not support operators.
func (q *Query) NotesOnOperators() (all []i18n.Message) {
	for _, o := range q.operators {
		all = append(all, i18n.T("“{word}” only works when searching posts.", o.word))
	}
	return all
}

// Names returns the texts to search for among people and among tags. Both are the whole query, or
// empty if the query has operators or other syntax for posts. A query that begins with @ or #
// searches only for people or only for tags.
func Names(typed string) (people, tags string) {
	typed = strings.TrimSpace(typed)
	switch {
	case strings.ContainsAny(typed, `:()*"“”„`) || strings.HasPrefix(typed, "-") || strings.Contains(typed, " -") ||
		slices.Contains(strings.Fields(typed), "OR"):
		return "", ""
	case strings.HasPrefix(typed, "#"), strings.HasPrefix(typed, "＃"):
		return "", typed
	case strings.HasPrefix(typed, "@"), strings.HasPrefix(typed, "＠"):
		return typed, ""
	}
	return typed, typed
}

// Marker returns a Marker for the words of the query.
func (q *Query) Marker() Marker { return q.marker }
