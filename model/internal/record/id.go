package record

import (
	"context"
	"strconv"

	"retwis/internal/keys"
	"retwis/model/internal/schema"

	"github.com/oklog/ulid/v2"
	"github.com/redis/rueidis"
)

// newID is the id of a new record.
type newID struct {
	id string
	// after is the value that the counter must have for id to be the next one; "": the
	// id is used whatever the counter says.
	after string
}

// newID returns the id of a new record. If the counter is in the slot of the records,
// the script that writes the record increments it: the id is then the one expected
// next, because the key of the record must be known. A refused write uses no id, and
// does not leave the counter behind.
func (t *Table) newID(ctx context.Context, own string) (newID, error) {
	switch {
	case own != "":
		return newID{id: own}, nil
	case t.Options.IDs == schema.ULID:
		return newID{id: ulid.Make().String()}, nil
	case !t.countsInScript():
		n, err := t.Client.Do(ctx, t.Client.B().Incr().Key(t.Options.Counter()).Build()).AsInt64()
		return newID{id: strconv.FormatInt(n, 10)}, err
	}
	next := t.last.Add(1)
	return newID{strconv.FormatInt(next, 10), strconv.FormatInt(next-1, 10)}, nil
}

// given takes the id that the counter gave instead of the expected one.
func (t *Table) given(id int64) newID {
	t.last.Store(id)
	return newID{id: strconv.FormatInt(id, 10)}
}

// unused reverts the expectation that an id is used.
func (t *Table) unused(n newID) {
	if next, err := strconv.ParseInt(n.id, 10, 64); err == nil && n.after != "" {
		t.last.CompareAndSwap(next, next-1)
	}
}

// countsInScript reports whether a script that writes a record can use the counter,
// which must be in the same slot.
func (t *Table) countsInScript() bool {
	return t.Options.IDs == schema.Counter && !t.Spread() &&
		(t.Client.Mode() != rueidis.ClientModeCluster || keys.Tag(t.Options.Counter()) == keys.Tag(t.Options.Name))
}
