package suggest

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"retwis/internal/redis/scan"
)

// Suggestion is a term and its number of searches.
type Suggestion struct {
	Term  string `json:"term"`  // in its most frequent spelling, with blanks collapsed
	Count int64  `json:"count"` // searches in all spellings; with a half-life decayed and rounded
	// Payload is stored with the term, such as an id: up to 512 bytes of UTF-8 without control
	// characters.
	Payload string `json:"payload,omitempty"`
}

// Entry is a term yielded by All.
type Entry struct {
	Suggestion
	Name string // the normalized form
}

// Cursor returns the position of the entry, for index.Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.Name) }

// term is a term as stored.
type term struct {
	name, spelling string
	count          float64 // with a half-life, a logarithm; see add.lua

	payload string
}

// compare compares terms by rank: most frequent first, then by name.
func compare(a, b term) int {
	return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
}

// parseEntry parses a member of the index: a name, a tab and a head.
func parseEntry(member string) (term, bool) {
	name, head, found := strings.Cut(member, "\t")
	if !found || name == "" {
		return term{}, false
	}
	return parseValue(name, head)
}

// parseValue returns the term of a name and its value: see value.lua.
func parseValue(name, value string) (term, bool) {
	head, rest, _ := strings.Cut(value, "\n")
	digits, spelling, _ := strings.Cut(head, "\t")
	t := term{name: name, spelling: cmp.Or(spelling, name)}
	if strings.Trim(digits, "0123456789.") != "" {
		return t, false
	}
	var err error
	t.count, err = strconv.ParseFloat(digits, 64)
	t.payload, _, _ = strings.Cut(rest, "\n")
	return t, err == nil && t.count > 0
}

// maxCount is the largest integer that is exact in Lua.
const maxCount = 1<<53 - 1

// suggestion converts a stored term. now is the time of the server.
func (x *Index) suggestion(t term, now float64) Suggestion {
	return Suggestion{Term: t.spelling, Count: x.countOf(t.count, now), Payload: t.payload}
}

// countOf returns the count after decay.
func (x *Index) countOf(count, now float64) int64 {
	if x.opt.HalfLife > 0 {
		count = math.Round(math.Exp2(count - now))
	}
	return int64(min(count, maxCount))
}
