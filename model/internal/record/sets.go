package record

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// An index that answers equality only has a sorted set of ids for each value. A script
// uses no keys but those that it is given: it cannot know what another writer has made of
// a record meanwhile. So a script that meets a set whose key it was not given writes
// nothing, and replies which ones it needs.

// MissingSets is returned if a script was not given the keys of sets of values. Nothing
// was written.
type MissingSets struct{ Entries []schema.Entry }

func (m *MissingSets) Error() string { return "other writers have changed a record meanwhile" }

// Unwrap makes the error an ErrConflict.
func (m *MissingSets) Unwrap() error { return schema.ErrConflict }

// maxMissing is how often a script is given more keys: each time another writer must have
// changed a record.
const maxMissing = 100

// WithSets calls do, which runs a script with the keys of the sets of some entries, and
// again with more entries if the script lacks keys.
func WithSets(entries *[]schema.Entry, do func() error) error {
	var err error
	for range maxMissing {
		err = do()
		var missing *MissingSets
		if !errors.As(err, &missing) {
			return err
		}
		*entries = append(*entries, missing.Entries...)
	}
	return err
}

// setsOfContents reads the contents of records, and returns their entries in sets of
// values: one pipeline, or nothing if the model has no such sets.
func (t *Table) setsOfContents(ctx context.Context, ids ...string) ([][]schema.Entry, error) {
	all := make([][]schema.Entry, len(ids))
	if !slices.ContainsFunc(t.Schema.Indexes, func(x *schema.Index) bool { return x.PerValue }) {
		return all, nil
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = t.Client.B().Hget().Key(t.Layout.Of(id).Content).Field(id).Build()
	}
	for i, reply := range t.Client.DoMulti(ctx, commands...) {
		text, err := reply.ToString()
		switch {
		case err == nil:
			all[i] = t.setsOfContent(schema.Content(text))
		case !rueidis.IsRedisNil(err):
			return nil, t.TypeError(ctx, err)
		}
	}
	return all, nil
}

// setsOfContent returns the entries of a record in sets of values; none if its content is
// damaged, as scripts see it.
func (t *Table) setsOfContent(content schema.Content) []schema.Entry {
	_, values, err := schema.Unpack(content)
	if err != nil {
		return nil
	}
	var all []schema.Entry
	for _, v := range values {
		if x := t.Schema.Numbered(v.Number); x != nil && x.PerValue {
			all = append(all, schema.Entry{Index: x, Value: v.Value})
		}
	}
	return all
}
