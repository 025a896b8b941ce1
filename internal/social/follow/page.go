package follow

import (
	"context"
	_ "embed"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/script"
	"retwis/internal/social/layout"
)

var (
	//go:embed page.lua
	pageSource string
	pageScript = script.New(pageSource).Retryable()
)

// Cursor is the last entry of a page: the time of its follow, as the server
// writes it, and its user id; or the score and the id of another sorted set. Many
// follows can begin in the same second, so the time alone is not enough. The order outlives a restart of the server and a
// failover, unlike the cursor of ZSCAN.
type Cursor struct{ Since, ID string }

// First is the cursor of the first page; as a next cursor it marks the end. Its id is
// after all others, those of entries with an infinite score too.
var First = Cursor{Since: "+inf", ID: ":"}

func (c Cursor) String() string { return c.Since + "-" + c.ID }

// maxCursor bounds a cursor, in bytes.
const maxCursor = 64

// ParseCursor reads the text of a cursor; an empty text is the first page.
func ParseCursor(text string) (Cursor, bool) {
	if text == "" {
		return First, true
	}
	since, id, ok := strings.Cut(text, "-")
	if !ok || len(text) > maxCursor || !isDecimal(since) && since != "inf" || !IsDigits(id) {
		return Cursor{}, false
	}
	return Cursor{Since: since, ID: id}, true
}

// PageCommand reads a page of a set of follows, the latest first: id, time, id,
// time ... It carries the script in full, as a pipeline cannot fall back to it
// where the server does not know it.
func (s Store) PageCommand(set string, after Cursor, n int) rueidis.Completed {
	return s.client.B().Eval().Script(pageSource).Numkeys(1).Key(set).
		Arg(after.Since, after.ID, layout.Itoa(int64(n))).Build().ToRetryable()
}

// Page reads a page of a set of follows; see PageCommand.
func (s Store) Page(ctx context.Context, set string, after Cursor, n int) ([]string, error) {
	return pageScript.Run(ctx, s.client, []string{set}, []string{after.Since, after.ID, layout.Itoa(int64(n))}).AsStrSlice()
}

// isDecimal reports whether text is a plain decimal number: digits, and at most
// one point between them.
func isDecimal(text string) bool {
	whole, fraction, hasPoint := strings.Cut(text, ".")
	return IsDigits(whole) && (!hasPoint || IsDigits(fraction))
}

// IsDigits reports whether text consists of digits and is not empty.
func IsDigits(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}
