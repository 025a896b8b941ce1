package record

import (
	"context"
	"strconv"

	"retwis/internal/keys"
	"retwis/model/internal/schema"

	"github.com/oklog/ulid/v2"
	"github.com/redis/rueidis"
)

// newID is the id of a record that is to be created.
type newID struct {
	id string
	// after is what the counter has to say for it to be the next one; nothing: it
	// is the record's, whatever the counter says.
	after string
}

// newID returns the id of a new record. Where the counter is in the slot of the
// records, the script that writes the record takes it: the id is then the one that
// is expected to be the next, so that the key of the record can be named. No id is
// used up, and no counter left behind, by a write that is refused.
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

// given is the id that the counter has given instead of the expected one.
func (t *Table) given(id string) (newID, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err == nil {
		t.last.Store(n)
	}
	return newID{id: id}, err
}

// unused takes back the expectation that an id is used.
func (t *Table) unused(n newID) {
	if next, err := strconv.ParseInt(n.id, 10, 64); err == nil && n.after != "" {
		t.last.CompareAndSwap(next, next-1)
	}
}

// countsInScript tells whether a script that writes a record may use the counter:
// it is in the same slot.
func (t *Table) countsInScript() bool {
	return t.Options.IDs == schema.Counter && !t.Spread() &&
		(t.Client.Mode() != rueidis.ClientModeCluster || keys.Tag(t.Options.Counter()) == keys.Tag(t.Options.Name))
}
