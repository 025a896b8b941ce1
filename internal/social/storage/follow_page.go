package storage

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

var (
	//go:embed follow_place.lua
	followPlaceSource string
	//go:embed follow_page.lua
	followPageSource string
	//go:embed follow_ids.lua
	followIDsSource string

	followPageScript = script.New(followPlaceSource, followPageSource).Retryable()
	followIDsScript  = script.New(followPlaceSource, followIDsSource).Retryable()
)

// Cursor is the last entry of a page: the time of its follow, as the server
// writes it, and its user id; or the score and the id of another sorted set. Many
// follows can begin in the same second, so the time alone is not enough. The order outlives a restart of the server and a
// failover, unlike the cursor of ZSCAN.
type Cursor struct{ Since, ID string }

// FirstPage is the cursor of the first page; as a next cursor it marks the end. Its id is
// after all others, those of entries with an infinite score too.
var FirstPage = Cursor{Since: "+inf", ID: ":"}

func (c Cursor) String() string { return c.Since + "-" + c.ID }

// maxCursor bounds a cursor, in bytes.
const maxCursor = 64

// ParseCursor reads the text of a cursor; an empty text is the first page.
func ParseCursor(text string) (Cursor, bool) {
	if text == "" {
		return FirstPage, true
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
func (s Follows) PageCommand(set string, after Cursor, n int) rueidis.Completed {
	return followPageScript.Command(s.client, []string{set}, []string{after.Since, after.ID, Itoa(int64(n))})
}

// Page reads a page of a set of follows; see PageCommand.
func (s Follows) Page(ctx context.Context, set string, after Cursor, n int) ([]string, error) {
	return followPageScript.Run(ctx, s.client, []string{set}, []string{after.Since, after.ID, Itoa(int64(n))}).AsStrSlice()
}

// Part is a part of a set of follows: the entries after a cursor. The zero value of After
// is not valid; First is before the whole set.
type Part struct {
	After Cursor
	Last  Cursor  // the last entry; First: the part ends with the set
	Until float64 // leaves out later entries; 0: none
}

// IDs reads up to n ids of a part, the latest first, and the cursor of the last one. At the
// end of the part there are fewer than n. One round trip, O(log(size of the set) + n).
func (s Follows) IDs(ctx context.Context, set string, part Part, n int) (ids []string, last Cursor, err error) {
	args := []string{part.After.Since, part.After.ID, "", "", "", Itoa(int64(n))}
	if part.Last != FirstPage {
		args[2], args[3] = part.Last.Since, part.Last.ID
	}
	if part.Until != 0 {
		args[4] = strconv.FormatFloat(part.Until, 'f', -1, 64)
	}
	page, err := followIDsScript.Run(ctx, s.client, []string{set}, args).AsStrSlice()
	if err != nil || len(page) < 3 {
		return nil, FirstPage, err
	}
	return strings.Split(page[0], ","), Cursor{Since: page[2], ID: page[1]}, nil
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
