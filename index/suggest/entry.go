package suggest

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/internal/scan"
)

// Suggestion is a term and how often it was searched for.
type Suggestion struct {
	Term  string `json:"term"`  // as it was added, but for blanks
	Count int64  `json:"count"` // with a half-life what is left of it, rounded
}

// Entry is a term as All yields it.
type Entry struct {
	Suggestion
	Name string // the normalised form
}

// Cursor is for index.Page.After, to go on behind this entry.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.key()) }

func (e Entry) key() string { return joinKey(e.Name, spell(e.Term)) }

// A term is known by its key, name:spelling, where the name is its normalised form
// by which it is found. Terms that are spelled differently are different terms. A
// spelling that is the name is left out: banana: and banana:Banana.

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

// spelling returns a term as it was added.
func spelling(key string) string {
	name, spelling, _ := strings.Cut(key, ":")
	if spelling == "" {
		spelling = name
	}
	return strings.ReplaceAll(spelling, string(escapedColon), ":")
}

// term is a term as it is kept.
type term struct {
	key   string
	count float64 // with a half-life the logarithm of it; see add.lua
}

// compare orders terms by how they are suggested: the more frequent first, those
// of one count by the bytes of their names, then of their spellings.
func compare(a, b term) int {
	if by := cmp.Compare(b.count, a.count); by != 0 {
		return by
	}
	aName, aSpelling, _ := strings.Cut(a.key, ":")
	bName, bSpelling, _ := strings.Cut(b.key, ":")
	return cmp.Or(strings.Compare(aName, bName), strings.Compare(aSpelling, bSpelling))
}

// parseEntry takes a member of the index apart, name:spelling:count.
func parseEntry(member string) (term, bool) {
	at := strings.LastIndexByte(member, ':')
	if at < 0 || !isKey(member[:at]) {
		return term{}, false
	}
	return parseCount(member[:at], member[at+1:])
}

// isKey tells whether a text is name:spelling.
func isKey(text string) bool {
	return strings.Count(text, ":") == 1 && text[0] != ':'
}

// parseCount makes a term of a key and what is known of it, its count.
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

// maxCount is the greatest count: the next would not be exact in a script.
const maxCount = 1<<53 - 1

// shown is a term for the user.
func (x *Index) shown(t term) Suggestion {
	return Suggestion{Term: spelling(t.key), Count: x.countOf(t.count)}
}

// countOf is what is left of a count by now.
func (x *Index) countOf(count float64) int64 {
	if x.opt.HalfLife > 0 {
		count = math.Round(math.Exp2(count - x.time()))
	}
	return int64(min(count, maxCount))
}

// time is how many half-lives have passed since 1970.
func (x *Index) time() float64 {
	now := time.Now
	if x.now != nil {
		now = x.now
	}
	return float64(now().UnixMicro()) / float64(x.opt.HalfLife.Microseconds())
}
