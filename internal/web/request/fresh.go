package request

import (
	"slices"
	"strconv"
	"strings"
)

// Changed redirects after a change; the next pages show it, whichever process serves them.
// ids are the posts that were changed: 0 stands for none.
func (req *Request) Changed(to string, ids ...int64) error {
	req.SetCookie(freshCookie, formatFresh(append(ids, req.fresh...)), freshFor)
	return req.Redirect(to)
}

// maxFresh is how many posts the cookie names: those that were changed last.
const maxFresh = 8

// formatFresh writes the posts that were changed, the last ones first, with a dot
// between two.
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

// parseFresh reads what formatFresh has written, and nothing else.
func parseFresh(value string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(value, ".") {
		if id, ok := ParseID(text); ok && len(ids) < maxFresh {
			ids = append(ids, id)
		}
	}
	return ids
}
