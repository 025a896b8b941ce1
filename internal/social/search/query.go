package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"retwis/internal/social"

	"retwis/internal/social/text"
)

// MaxQuery bounds what is typed, in characters.
const MaxQuery = 500

// Query is what was typed, with its operators:
//
//	from:ada            posts by @ada; from:me by the viewer
//	to:ada              replies to @ada, and posts that mention @ada
//	#tag, @ada          posts with a tag, or that mention somebody
//	has:link, is:reply
//	has:picture         posts with pictures; -has:picture without
//	before:2026-10-01   posts before a day (UTC); after:2026-10-01 after it
//
// All else is for text.Parse. An operator that is not understood is a word, about which there is a
// note.
type Query struct {
	parts     []part
	before    time.Time // the beginning of a day; zero: no bound
	after     time.Time // likewise: from then on
	pictures  pictures
	marker    Marker
	operators []typedOperator
}

// pictures says whether the posts of a query have pictures.
type pictures int

const (
	anyPictures pictures = iota
	withPictures
	withoutPictures
)

// allow reports whether a post may be found.
func (p pictures) allow(post social.Post) bool {
	return p == anyPictures || (p == withPictures) == (post.Media != "")
}

// typedOperator is a word with the name of an operator.
type typedOperator struct {
	word       string
	understood bool
}

// part is a part of a query: text for text.Parse, or a user to resolve.
type part struct {
	text string
	user string // in place of the text
	to   bool   // the posts to the user, not those from them
}

// Parse reads what was typed. It returns *InvalidError for what is too long.
func Parse(typed string) (*Query, error) {
	typed, err := cleaned(typed)
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

// cleaned returns what was typed without control characters, or *InvalidError for too much.
func cleaned(typed string) (string, error) {
	typed = strings.TrimSpace(social.CleanRunes(typed))
	if utf8.RuneCountInString(typed) > MaxQuery {
		return "", social.Invalid("q", fmt.Sprintf("Your search is too long. Use at most %d characters.", MaxQuery))
	}
	return typed, nil
}

// add adds text for text.Parse.
func (q *Query) add(s string) { q.parts = append(q.parts, part{text: s}) }

// next reads the next part of what was typed, and returns its length.
func (q *Query) next(rest string) int {
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case unicode.IsSpace(first) || first == '(' || first == ')':
		q.add(rest[:size])
		return size
	case isQuote(first):
		end := strings.IndexFunc(rest[size:], isQuote)
		if end < 0 {
			q.add(rest) // text.Parse says what is missing
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
	if hint(word) != "" {
		q.operators = append(q.operators, typedOperator{rest[:end], understood})
	}
	return end
}

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' }

// word adds a word. A colon in it is no operator of text.Parse.
func (q *Query) word(word string, minus bool) {
	if name, _, found := strings.Cut(word, ":"); found && fields[name+":"] {
		word = strings.Replace(word, ":", " ", 1)
	}
	q.add(word)
	if !minus && word != "OR" {
		q.marker.add(word)
	}
}

// fields are the exact terms that text.Parse gets.
var fields = map[string]bool{
	FromTerm: true, ToTerm: true, MentionTerm: true, TagTerm: true, "has:": true, "is:": true,
}

// HasPicture is the operator for posts with pictures. The index has no such term: an edit can change
// the pictures and not the text.
const HasPicture = "has:picture"

// bound notes a word that holds for the whole query, and reports whether it is one.
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

// operator adds a word that is an operator, and reports whether it is one.
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

func (q *Query) tag(typed string) bool {
	tag, ok := text.FoldTag(typed)
	if ok {
		q.add(Term(TagTerm, tag))
	}
	return ok
}

// day bounds the times of posts: before a day, or after it.
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

// hints say how each operator is written. Some are those of other sites.
var hints = map[string]string{
	"from": "write from:ada", "to": "write to:ada", "tag": "write tag:redis",
	"has": "only has:link and has:picture are known", "is": "only is:reply is known",
	"before": "write the day as in before:2026-11-01", "after": "write the day as in after:2026-11-01",
	"since": "write after:2026-11-01", "until": "write before:2026-11-01",
	"author": "write from:ada", "by": "write from:ada", "mentions": "write @ada", "hashtag": "write tag:redis",
	"lang": noOperator, "language": noOperator, "filter": noOperator, "in": noOperator, "domain": noOperator,
	"during": "write after:2026-09-30 before:2026-11-01",
}

const noOperator = "there is no such operator"

// hint says how the operator is written whose name a word begins with; it is empty for other words.
func hint(word string) string {
	name, value, found := strings.Cut(word, ":")
	if !found || strings.HasPrefix(value, "/") {
		return ""
	}
	return hints[strings.ToLower(name)]
}

// Notes are sentences about the operators that were not understood.
func (q *Query) Notes() (all []string) {
	for _, o := range q.operators {
		word, minus := strings.CutPrefix(o.word, "-")
		how := hint(word)
		name, value, _ := strings.Cut(strings.ToLower(word), ":")
		switch isDay := name == "before" || name == "after"; {
		case o.understood:
			continue
		case isDay && !minus && value != "":
			all = append(all, fmt.Sprintf("“%s” isn't a date, so its words are searched for. Write %s:2026-11-01.", o.word, name))
			continue
		case minus && name == "after":
			how = "write before: without the minus"
		case minus && name == "before":
			how = "write after: without the minus"
		case value == "" && how != noOperator:
			how += ", without a space"
		}
		all = append(all, fmt.Sprintf("“%s” is searched for as words: %s.", o.word, how))
	}
	return all
}

// NotesOnOperators are sentences about the operators in a search that has none: for people and tags.
func (q *Query) NotesOnOperators() (all []string) {
	for _, o := range q.operators {
		all = append(all, fmt.Sprintf("“%s” means nothing here: such words work in a search for posts.", o.word))
	}
	return all
}

// Names returns what a query looks for among people and tags: all that was typed, where that has
// neither operators nor the signs of a search for posts. A name or a tag with its sign is one of
// these only.
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

// Marker returns what finds the words of the query in a text.
func (q *Query) Marker() Marker { return q.marker }
