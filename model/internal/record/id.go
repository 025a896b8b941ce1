package record

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oklog/ulid/v2"
	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/model/internal/schema"
)

// newID is the id of a new record.
type newID struct {
	id string
	// after is the value that the counter must have for id to be the next one; "": the
	// id is used whatever the counter says.
	after string
	own   bool // the caller's, in a model whose ids come from a counter
}

// idSpace gives ids to new records.
type idSpace struct{ t *Table }

func (t *Table) idSpace() idSpace { return idSpace{t} }

// newID returns the id of a new record. If the counter is in the slot of the records,
// the script that writes the record increments it: the id is then the one expected
// next, because the key of the record must be known. A refused write uses no id, and
// does not leave the counter behind.
func (s idSpace) newID(ctx context.Context, own string) (newID, error) {
	switch {
	case own != "":
		return newID{id: own, own: s.t.Options.IDs == schema.Counter}, nil
	case s.t.Options.IDs == schema.ULID:
		return newID{id: ulid.Make().String()}, nil
	case !s.countsInScript():
		n, err := s.t.Client.Do(ctx, s.t.Client.B().Incr().Key(s.t.Options.Counter()).Build()).AsInt64()
		return newID{id: strconv.FormatInt(n, 10)}, err
	}
	next := s.t.last.Add(1)
	return newID{id: strconv.FormatInt(next, 10), after: strconv.FormatInt(next-1, 10)}, nil
}

// given takes the id that the counter gave instead of the expected one.
func (s idSpace) given(id int64) newID {
	s.t.last.Store(id)
	return newID{id: strconv.FormatInt(id, 10)}
}

// unused reverts the expectation that an id is used.
func (s idSpace) unused(n newID) {
	if next, err := strconv.ParseInt(n.id, 10, 64); err == nil && n.after != "" {
		s.t.last.CompareAndSwap(next, next-1)
	}
}

// countsInScript reports whether a script that writes a record can use the counter,
// which must be in the same slot.
func (s idSpace) countsInScript() bool {
	return s.t.Options.IDs == schema.Counter && !s.t.Layout.Spread() &&
		(s.t.Client.Mode() != rueidis.ClientModeCluster || keys.Tag(s.t.Options.Counter()) == keys.Tag(s.t.Options.Name))
}

// maxOwn is the largest id that a caller may choose beside the counter.
const maxOwn = 1<<53 - 1

// checkOwn refuses ids that cannot be beside those of a counter.
func checkOwn(id string) error {
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n > maxOwn || strconv.FormatUint(n, 10) != id {
		return fmt.Errorf("%w: id %q: where ids come from a counter, the caller's own is an integer up to %d, without leading zeros; leave it empty for the next one",
			schema.ErrValue, schema.Shorten(id), int64(maxOwn))
	}
	return nil
}

// raise raises the counter to the largest of the ids that callers have chosen, so that
// it does not give these to others.
func (s idSpace) raise(ctx context.Context, all []*batch) error {
	most := ""
	for _, b := range all {
		for _, c := range b.changes {
			if c.own && (len(c.id) > len(most) || len(c.id) == len(most) && c.id > most) {
				most = c.id
			}
		}
	}
	if most == "" {
		return nil
	}
	return raiseScript.Run(ctx, s.t.Client, []string{s.t.Options.Counter()}, []string{most}).Error()
}
