package record

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// removal describes the removal of a record, or of leftovers, with its entries.
type removal struct {
	id   string
	via  *schema.Entry // the record must have this entry; otherwise only the entry is removed
	gone bool          // only remove leftovers of a missing record
	near []*referrer   // fields in the same slot that may refer to the record
	// passed holds the members to ignore in the index of each field.
	passed map[*referrer][]string
}

// refers reports whether a record has the entry that is required for its removal.
func (r *removal) refers(k *known) bool { return r.via == nil || slices.Contains(k.entries, *r.via) }

// referred is returned if a record refers to the record to be deleted.
type referred struct{ by *referrer }

func (r *referred) Error() string { return "another record refers to the record" }

// Remains describes a missing record, with its leftover content as read.
type Remains struct {
	ID      string
	Content schema.Content
}

// RemoveRemains removes leftovers of missing records: one pipeline. It returns the ids of the
// records that do exist.
func (t *Table) RemoveRemains(ctx context.Context, all []Remains) (exist []string, err error) {
	apps := make([]*application, len(all))
	for i, m := range all {
		apps[i] = t.removing(m.ID, m.Content)
		apps[i].mode, apps[i].force = mustBeNew, true
	}
	for i, err := range t.applyAll(ctx, apps) {
		switch {
		case errors.Is(err, errExists):
			exist = append(exist, all[i].ID)
		case err != nil:
			return exist, err
		}
	}
	return exist, nil
}

// removing returns the application that deletes a record.
func (t *Table) removing(id string, content schema.Content) *application {
	return &application{c: &change{id: id}, mode: eitherWay, known: t.parseKnown(content), removes: true}
}

// remove removes a record.
func (t *Table) remove(ctx context.Context, r *removal) error {
	return t.removeMany(ctx, []*removal{r})[0]
}

// removeMany removes records: a pipeline that reads their contents, and a pipeline that removes the
// records.
func (t *Table) removeMany(ctx context.Context, all []*removal) []error {
	errs := make([]error, len(all))
	commands := make(rueidis.Commands, len(all))
	for i, r := range all {
		commands[i] = t.Client.B().Hget().Key(t.Layout.Of(r.id).Content).Field(r.id).Build()
	}
	var apps []*application
	var positions []int
	for i, reply := range t.Client.DoMulti(ctx, commands...) {
		text, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			errs[i] = t.TypeError(ctx, err)
			continue
		}
		r := all[i]
		a := t.removing(r.id, schema.Content(text))
		a.removal = r
		a.force = t.Options.Adopt != nil && t.Options.Adopt(r.id)
		if r.gone {
			a.mode = mustBeNew
		}
		if !r.refers(&a.known) {
			errs[i] = t.removeWrongEntry(ctx, r)
			continue
		}
		apps, positions = append(apps, a), append(positions, i)
	}
	for j, err := range t.applyAll(ctx, apps) {
		r := all[positions[j]]
		switch {
		case errors.Is(err, errLeft):
			err = t.removeWrongEntry(ctx, r)
		case errors.Is(err, errExists):
			err = errKept
		}
		errs[positions[j]] = err
	}
	return errs
}

// removeWrongEntry removes an entry that the record does not have, and returns errLeft.
func (t *Table) removeWrongEntry(ctx context.Context, r *removal) error {
	kind := InSorted
	if r.via.Index.PerValue {
		kind = InSet
	}
	_, err := t.Orphans(ctx, t.Layout.Of(r.id), Any, kind, r.via.Index, []Orphan{{r.id, r.via.Value}})
	if err != nil {
		return err
	}
	return errLeft
}

// appendGuards appends the index entries that apply.lua must count before it deletes a record:
// the entries of records that may refer to the record.
func (r *removal) appendGuards(keys, args []string) (_, _ []string, err error) {
	for _, f := range r.near {
		entry, err := f.entry(r.id)
		if err != nil {
			return nil, nil, err
		}
		partition := &f.from.Layout.Parts[0]
		key, from, to := f.members(partition, entry)
		command := "ZLEXCOUNT"
		if from == "" {
			command, from, to = "ZCOUNT", "-inf", "+inf"
		}
		keys = append(keys, partition.Meta, key)
		args = append(args, f.from.Registry.Stamp(), command, from, to, strconv.Itoa(len(r.passed[f])), digit(f.rule != schema.Restrict))
	}
	return keys, args, nil
}

// entry returns the entry of records that refer to an id.
func (r *referrer) entry(id string) (schema.Entry, error) {
	value, err := r.index.ValueOf(r.from.Schema, id)
	return schema.Entry{Index: r.index, Value: value}, err
}

// members returns the key with the records that have an entry, and their range in the key;
// empty: all members.
func (r *referrer) members(p *schema.Partition, e schema.Entry) (key, from, to string) {
	if r.index.PerValue {
		return r.from.Layout.ValueKey(p, e), "", ""
	}
	from, to = schema.PrefixRange(e.Value).Lex()
	return r.from.Layout.IndexKey(p, r.index), from, to
}

// id returns the record id in a member of the index, given its entry.
func (r *referrer) id(e schema.Entry, member string) string {
	if r.index.PerValue {
		return member
	}
	return member[len(e.Value):]
}
