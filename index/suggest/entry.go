package suggest

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/internal/scan"
)

// Suggestion is a term and its number of searches.
type Suggestion struct {
	Term  string `json:"term"`  // as added, with blanks collapsed
	Count int64  `json:"count"` // with a half-life the decayed count, rounded
}

// Entry is a term as All yields it.
type Entry struct {
	Suggestion
	Name string // the normalized form
}

// Cursor returns the place of the entry, for index.Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.key()) }

func (e Entry) key() string { return joinKey(e.Name, spell(e.Term)) }

// joinKey returns the key that identifies a term, name:spelling. The name is the
// normalized form; a spelling equal to the name is left out: banana: and banana:Banana.
func joinKey(name, spelling string) string {
	if spelling == name {
		return name + ":"
	}
	return name + ":" + spelling
}

// nameOf returns the name in a key.
func nameOf(key string) string {
	name, _, _ := strings.Cut(key, ":")
	return name
}

// spelling returns the spelling in a key.
func spelling(key string) string {
	name, spelling, _ := strings.Cut(key, ":")
	if spelling == "" {
		spelling = name
	}
	return strings.ReplaceAll(spelling, string(escapedColon), ":")
}

// term is a term as stored.
type term struct {
	key   string
	count float64 // with a half-life its logarithm; see add.lua
}

// compare orders terms by rank: the more frequent first, then by the bytes of their
// names, then of their spellings.
func compare(a, b term) int {
	if by := cmp.Compare(b.count, a.count); by != 0 {
		return by
	}
	aName, aSpelling, _ := strings.Cut(a.key, ":")
	bName, bSpelling, _ := strings.Cut(b.key, ":")
	return cmp.Or(strings.Compare(aName, bName), strings.Compare(aSpelling, bSpelling))
}

// parseEntry parses a member of the index, name:spelling:count.
func parseEntry(member string) (term, bool) {
	at := strings.LastIndexByte(member, ':')
	if at < 0 || !isKey(member[:at]) {
		return term{}, false
	}
	return parseCount(member[:at], member[at+1:])
}

// isKey reports whether a text has the form name:spelling.
func isKey(text string) bool {
	return strings.Count(text, ":") == 1 && text[0] != ':'
}

// parseCount returns the term of a key and the text of its count.
func parseCount(key, text string) (term, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return term{}, false
	}
	count, err := strconv.ParseFloat(text, 64)
	if err != nil || count <= 0 {
		return term{}, false
	}
	return term{key, count}, true
}

// maxCount is the greatest integer that is exact in Lua.
const maxCount = 1<<53 - 1

// suggestion returns a stored term as a Suggestion.
func (x *Index) suggestion(t term) Suggestion {
	return Suggestion{Term: spelling(t.key), Count: x.countOf(t.count)}
}

// countOf returns the count after decay.
func (x *Index) countOf(count float64) int64 {
	if x.opt.HalfLife > 0 {
		count = math.Round(math.Exp2(count - x.time()))
	}
	return int64(min(count, maxCount))
}

// time returns the number of half-lives since 1970.
func (x *Index) time() float64 {
	now := time.Now
	if x.now != nil {
		now = x.now
	}
	return float64(now().UnixMicro()) / float64(x.opt.HalfLife.Microseconds())
}
