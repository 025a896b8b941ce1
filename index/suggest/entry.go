package suggest

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"retwis/internal/redis/scan"
)

// Suggestion is a term and its number of searches.
type Suggestion struct {
	Term  string `json:"term"`  // as added, with blanks collapsed
	Count int64  `json:"count"` // with a half-life the decayed count, rounded
	// Payload is what the program stores with the term, such as an id: up to 512 bytes
	// of UTF-8 without control characters.
	Payload string `json:"payload,omitempty"`
}

// Entry is a term as All yields it.
type Entry struct {
	Suggestion
	Name string // the normalized form
}

// Cursor returns the place of the entry, for index.Page.After.
func (e Entry) Cursor() string { return scan.EncodeCursor(e.key()) }

func (e Entry) key() string { return joinKey(e.Name, spell(e.Term)) }

// term is a term as stored.
type term struct {
	key   string
	count float64 // with a half-life its logarithm; see add.lua

	payload string
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

// parseCount returns the term of a key and the text of its count.
func parseCount(key, text string) (term, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return term{}, false
	}
	count, err := strconv.ParseFloat(text, 64)
	if err != nil || count <= 0 {
		return term{}, false
	}
	return term{key: key, count: count}, true
}

// parseValue returns the term of a key and its value, a count, or a count, a line feed
// and a payload.
func parseValue(key, value string) (term, bool) {
	count, payload, _ := strings.Cut(value, "\n")
	t, ok := parseCount(key, count)
	t.payload = payload
	return t, ok
}

// maxCount is the greatest integer that is exact in Lua.
const maxCount = 1<<53 - 1

// decay converts stored counts to counts after decay.
type decay struct {
	halfLife time.Duration
	now      func() time.Time // nil: time.Now
}

// suggestion returns a stored term as a Suggestion.
func (d decay) suggestion(t term) Suggestion {
	return Suggestion{Term: spelling(t.key), Count: d.countOf(t.count), Payload: t.payload}
}

// countOf returns the count after decay.
func (d decay) countOf(count float64) int64 {
	if d.halfLife > 0 {
		count = math.Round(math.Exp2(count - d.time()))
	}
	return int64(min(count, maxCount))
}

// time returns the number of half-lives since 1970.
func (d decay) time() float64 {
	now := time.Now
	if d.now != nil {
		now = d.now
	}
	return float64(now().UnixMicro()) / float64(d.halfLife.Microseconds())
}
