package query

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"retwis/model/internal/schema"
)

// parsedQuery is a query with resolved conditions.
type parsedQuery struct {
	e           *expr
	order       []ordering
	created     bool // results are in creation order
	reverse     bool // newest first
	limit       int
	among       *among // nil: all records
	countOnly   bool
	after       cursor // start of the page
	back        bool   // read backwards from after
	fingerprint string
}

// digest identifies a query by its conditions and order.
func (q *parsedQuery) digest(s *schema.Schema, name string, sets []Members) string {
	b := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	b = q.e.append(b, s)
	for _, o := range q.order {
		b = fmt.Appendf(b, ", %s %t", s.Fields[o.field].Name, o.desc)
	}
	switch {
	case q.reverse:
		b = append(b, " reverse"...)
	case q.created:
		b = append(b, " created"...)
	}
	for _, s := range sets {
		b = fmt.Appendf(b, ", in %q", s.Key())
	}
	sum := sha256.Sum256(b)
	return string(sum[:8])
}
