package query

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"retwis/model/internal/schema"
)

// cursor is the position of a query in one of its scans, with the names of its plan.
type cursor struct {
	scan int
	position
	names []string // names of the chosen candidates, or the number of the ordered index
}

// text encodes a cursor of the query with a fingerprint.
func (c cursor) text(fingerprint string) string {
	b := append([]byte(nil), fingerprint...)
	b = binary.AppendUvarint(b, uint64(c.scan))
	for _, s := range append([]string{c.at, c.score}, c.names...) {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// maxCursor is the maximum length of a cursor in bytes. A cursor contains a member and the
// names of the chosen candidates.
const maxCursor = 16384

// parseCursor decodes a cursor of the query with a fingerprint.
func parseCursor(text, fingerprint string) (cursor, error) {
	var c cursor
	if len(text) > maxCursor {
		return c, fmt.Errorf("%w: it has %d bytes", schema.ErrCursor, len(text))
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, fmt.Errorf("%w: %w", schema.ErrCursor, err)
	}
	if len(b) < len(fingerprint) || string(b[:len(fingerprint)]) != fingerprint {
		return c, schema.ErrCursor
	}
	b = b[len(fingerprint):]
	number, n := binary.Uvarint(b)
	if n <= 0 || number > 1<<31 {
		return c, schema.ErrCursor
	}
	c.scan = int(number)
	words := []string{}
	for b = b[n:]; len(b) > 0; {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return c, schema.ErrCursor
		}
		b = b[n:]
		words = append(words, string(b[:length]))
		b = b[length:]
	}
	if len(words) < 2 || !isScore(words[1]) {
		return c, schema.ErrCursor
	}
	c.position, c.names = position{at: words[0], score: words[1], begun: true}, words[2:]
	return c, nil
}

// isScore reports whether a text is empty or a score in the format of Redis.
func isScore(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return s == "" || err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) && strings.Trim(s, "0123456789.+-e") == ""
}
