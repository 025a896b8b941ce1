package suggest

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/index/internal/partition"
)

// Suggestion is a term and how often it was searched for.
type Suggestion struct {
	Term  string `json:"term"`  // as it was first added
	Count int64  `json:"count"` // with a half-life what is left of it, rounded
}

// Entry is a term as All yields it.
type Entry struct {
	Suggestion
	Name string // the normalised form
}

// Cursor is for index.Page.After, to go on behind this entry.
func (e Entry) Cursor() string { return partition.EncodeCursor(e.Name) }

// term is a term as it is kept.
type term struct {
	name     string
	count    float64 // with a half-life the logarithm of it; see add.lua
	original string
}

// compare orders terms by how they are suggested: the more frequent first, those
// of one count by the bytes of their names.
func compare(a, b term) int {
	if by := cmp.Compare(b.count, a.count); by != 0 {
		return by
	}
	return strings.Compare(a.name, b.name)
}

// parseEntry takes a member of the index apart, name:count:original.
func parseEntry(member string) (term, bool) {
	name, value, ok := strings.Cut(member, ":")
	if !ok || name == "" {
		return term{}, false
	}
	return parseValue(name, value)
}

// parseValue takes what is known of a name apart, count:original.
func parseValue(name, value string) (term, bool) {
	digits, original, ok := strings.Cut(value, ":")
	if !ok || strings.Trim(digits, "0123456789.") != "" {
		return term{}, false
	}
	count, err := strconv.ParseFloat(digits, 64)
	if err != nil || count <= 0 {
		return term{}, false
	}
	return term{name: name, count: count, original: original}, true
}

// maxCount is the greatest count: the next would not be exact in a script.
const maxCount = 1<<53 - 1

// shown is a term for the user.
func (x *Index) shown(t term) Suggestion {
	return Suggestion{Term: t.original, Count: x.countOf(t.count)}
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
