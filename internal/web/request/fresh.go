package request

import (
	"slices"
	"strconv"
	"strings"
)

// Changed redirects after a change. The next pages show the change, whichever process serves them.
// ids are the IDs of the changed posts; zeros are ignored.
func (req *Request) Changed(to string, ids ...int64) error {
	req.SetCookie(freshCookie, formatFresh(append(ids, req.fresh...)), freshFor)
	return req.Redirect(to)
}

// maxFresh is the maximum number of posts in the cookie. Older changes are dropped.
const maxFresh = 8

// formatFresh formats the IDs of changed posts, the latest first, separated by dots.
func formatFresh(ids []int64) string {
	var texts []string
	for i, id := range ids {
		if id != 0 && !slices.Contains(ids[:i], id) && len(texts) < maxFresh {
			texts = append(texts, strconv.FormatInt(id, 10))
		}
	}
	if len(texts) == 0 {
		return "0"
	}
	return strings.Join(texts, ".")
}

// parseFresh parses the output of formatFresh and rejects everything else.
func parseFresh(value string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(value, ".") {
		if id, ok := ParseID(text); ok && len(ids) < maxFresh {
			ids = append(ids, id)
		}
	}
	return ids
}
