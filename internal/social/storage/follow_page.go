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

// Cursor is the last entry of a page: the time of the follow, as the server writes it, and the user
// ID; in other sorted sets, the score and the ID. Many follows can begin in the same second, so the
// time alone is not enough. Unlike the cursor of ZSCAN, it remains valid after a restart of the
// server or a failover.
type Cursor struct{ Since, ID string }

// FirstPage is the cursor of the first page. As a next cursor it marks the end. Its ID sorts after
// all other IDs, so that FirstPage also precedes entries with an infinite score.
var FirstPage = Cursor{Since: "+inf", ID: ":"}

func (c Cursor) String() string { return c.Since + "-" + c.ID }

// maxCursor limits the length of a cursor, in bytes.
const maxCursor = 64

// ParseCursor parses a cursor. It returns FirstPage for an empty text.
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

// PageCommand returns the command that reads a page of a set of follows, latest first: id, time,
// id, time ... The command has the whole script, because a pipeline cannot send the script again if
// the server does not have it.
func (s Follows) PageCommand(set string, after Cursor, n int) rueidis.Completed {
	return followPageScript.Command(s.client, []string{set}, []string{after.Since, after.ID, Itoa(int64(n))})
}

// Page reads a page of a set of follows; see PageCommand.
func (s Follows) Page(ctx context.Context, set string, after Cursor, n int) ([]string, error) {
	return followPageScript.Run(ctx, s.client, []string{set}, []string{after.Since, after.ID, Itoa(int64(n))}).AsStrSlice()
}

// Part is a part of a set of follows: the entries after a cursor. The zero value of After is not
// valid; FirstPage precedes all entries.
type Part struct {
	After Cursor
	Last  Cursor  // the last entry; FirstPage if the part extends to the end of the set
	Until float64 // skips later entries; 0 for no limit
}

// IDs reads up to n IDs of a part, latest first, and the cursor of the last ID. At the end of the
// part it returns fewer than n IDs. One round trip, O(log(size of the set) + n).
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
	integer, fraction, hasPoint := strings.Cut(text, ".")
	return IsDigits(integer) && (!hasPoint || IsDigits(fraction))
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
