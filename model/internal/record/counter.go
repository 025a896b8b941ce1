package record

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// incr adds n to a counter of so many bits.
func (t *Table) incr(ctx context.Context, id, field string, n int64, bits int) (int64, error) {
	low, high := "", ""
	if bits < 64 {
		most := int64(math.MaxInt64) >> (64 - bits)
		low, high = strconv.FormatInt(-most-1, 10), strconv.FormatInt(most, 10)
	}
	p := t.Of(id)
	args := []string{id, field, strconv.Itoa(t.Options.ChangeLog), strconv.FormatInt(n, 10), low, high}
	defer t.Rows.Writes.Add(id)
	list, err := counterScript.Run(ctx, t.Client, []string{p.Record(id), p.Changes}, args).ToArray()
	if err != nil {
		return 0, t.counterError(id, field, err)
	}
	switch word, _ := list[0].ToString(); word {
	case "NOTFOUND":
		return 0, t.Outcome(id, word)
	case "OVERFLOW":
		return 0, fmt.Errorf("%w: %s of id %q cannot be changed by %d: the number would not fit into %d bits",
			schema.ErrValue, field, schema.Shorten(id), n, bits)
	}
	sum, err := list[1].AsInt64()
	if err != nil {
		return 0, t.counterError(id, field, err)
	}
	return sum, nil
}

// counterError describes an error of a record that holds something else.
func (t *Table) counterError(id, field string, err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok && strings.Contains(e.Error(), "not an integer") {
		return fmt.Errorf("%w: key %q, field %s: %w", schema.ErrCorrupt, t.Of(id).Record(id), field, err)
	}
	return t.Rows.readError(id, err)
}
