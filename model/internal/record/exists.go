package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"retwis/model/internal/schema"
)

// targets holds the models to which fields with the option "exists" refer. The script that
// writes a record checks references to models in its slot. References to other models are
// checked by a read before the write, so a referenced record can be deleted in between.
type targets struct {
	mu  sync.RWMutex
	all map[int][]*Table // by field number
}

// add adds a model that a field refers to.
func (g *targets) add(field int, to *Table) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[int][]*Table{}
	}
	same := func(t *Table) bool { return t == to || t.Options.Name == to.Options.Name && t.sameSlot(to) }
	g.all[field] = append(slices.DeleteFunc(slices.Clone(g.all[field]), same), to) // a new list, since readers may hold the old one
}

// models returns the models that a field refers to.
func (g *targets) models(field int) []*Table {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.all[field]
}

// reference is a reference to a record that must exist.
type reference struct {
	field int
	id    string
	keys  []string // keys of records in the same slot, one of which must exist
}

// maxReferences is the maximum length of a list with the option "exists".
const maxReferences = 1000

// required returns the references of a change whose records must exist.
func (t *Table) required(c *change) ([]reference, error) {
	if len(t.Schema.Exists) == 0 {
		return nil, nil
	}
	var all []reference
	for i := 0; i < len(c.set); i += 2 {
		field := t.Schema.Number(c.set[i])
		if !slices.Contains(t.Schema.Exists, field) {
			continue
		}
		f := &t.Schema.Fields[field]
		ids, err := f.References(c.set[i+1])
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %s: %w", schema.ErrValue, f.Name, err)
		case len(ids) > maxReferences:
			return nil, fmt.Errorf("%w: %s has %d references: a list with the option exists has at most %d", schema.ErrValue, f.Name, len(ids), maxReferences)
		case len(t.targets.models(field)) == 0 && len(ids) > 0:
			return nil, fmt.Errorf("%w: the records that field %s refers to must exist: call model.Relate with the stores of %s and of the referenced model before records are written",
				schema.ErrNotRelated, f.Name, t.Options.Name)
		}
		for _, id := range ids {
			all = append(all, reference{field: field, id: id})
		}
	}
	return all, nil
}

// checkReferences returns an error if a change refers to a missing record in another slot. The
// script checks references within the slot. References that the record already has are not
// checked.
func (t *Table) checkReferences(ctx context.Context, c *change) error {
	all, err := t.required(c)
	if err != nil {
		return err
	}
	c.references = nil
	var remote []reference
	for _, r := range all {
		isRemote := false
		for _, to := range t.targets.models(r.field) {
			if t.sameSlot(to) {
				r.keys = append(r.keys, to.Layout.Of(r.id).Record(r.id))
			} else {
				isRemote = true
			}
		}
		if isRemote {
			remote = append(remote, r)
		} else {
			c.references = append(c.references, r)
		}
	}
	if len(remote) == 0 {
		return nil
	}
	missing, err := t.missing(ctx, remote)
	if err != nil || len(missing) == 0 {
		return err
	}
	existing, err := t.referredTo(ctx, c, missing)
	if err != nil {
		return err
	}
	for _, r := range missing {
		switch {
		case slices.Contains(existing[r.field], r.id) || slices.ContainsFunc(t.targets.models(r.field), func(to *Table) bool { return to == t && r.id == c.id }):
		case len(r.keys) > 0:
			c.references = append(c.references, r) // the referenced record may be in the slot of the record
		default:
			return t.dangling(r.field, r.id)
		}
	}
	return nil
}

// missing returns the references whose records do not exist in models in other slots: one
// pipeline per model.
func (t *Table) missing(ctx context.Context, remote []reference) ([]reference, error) {
	found := make([]bool, len(remote))
	var models []*Table
	for _, r := range remote {
		for _, to := range t.targets.models(r.field) {
			if !t.sameSlot(to) && !slices.Contains(models, to) {
				models = append(models, to)
			}
		}
	}
	for _, to := range models {
		var indexes []int
		var ids []string
		for i, r := range remote {
			if !found[i] && slices.Contains(t.targets.models(r.field), to) {
				indexes, ids = append(indexes, i), append(ids, r.id)
			}
		}
		for i, reply := range to.Rows.ExistMany(ctx, ids) {
			exists, err := reply.AsBool()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", to.Options.Name, err)
			}
			found[indexes[i]] = exists
		}
	}
	var missing []reference
	for i, r := range remote {
		if !found[i] {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// referredTo returns the ids in those fields of the stored record that references use.
func (t *Table) referredTo(ctx context.Context, c *change, references []reference) (map[int][]string, error) {
	if c.operation == "create" {
		return nil, nil
	}
	var fields []int
	for _, r := range references {
		if !slices.Contains(fields, r.field) {
			fields = append(fields, r.field)
		}
	}
	stored := make([]schema.Text, len(t.Schema.Fields))
	if _, err := t.Rows.ParseSome(c.id, t.Rows.DoSome(ctx, []string{c.id}, fields)[0], fields, stored); err != nil {
		return nil, err
	}
	had := map[int][]string{}
	for _, field := range fields {
		if stored[field].OK {
			had[field], _ = t.Schema.Fields[field].References(stored[field].Value) // none if damaged
		}
	}
	return had, nil
}

// dangling returns the error for a reference to a missing record.
func (t *Table) dangling(field int, id string) error {
	var names []string
	for _, to := range t.targets.models(field) {
		if !slices.Contains(names, to.Options.Name) {
			names = append(names, to.Options.Name)
		}
	}
	return &schema.DanglingError{Field: t.Schema.Fields[field].Name, Model: strings.Join(names, " or "), ID: id}
}

// checksBefore reports whether references must be checked before a record is written.
func (t *Table) checksBefore() bool {
	return slices.ContainsFunc(t.Schema.Exists, func(field int) bool {
		return slices.ContainsFunc(t.targets.models(field), func(to *Table) bool { return !t.sameSlot(to) })
	})
}

// danglingAt returns the error for a missing reference, reported by apply.lua by number. If the
// stored record already has the reference, danglingAt excludes existing references from the
// check and returns errAgain.
func (t *Table) danglingAt(ctx context.Context, c *change, number *rueidis.RedisMessage) error {
	n, err := number.AsInt64()
	if err != nil || n < 1 || int(n) > len(c.references) {
		return errors.Join(err, schema.ErrReply(err))
	}
	existing, err := t.referredTo(ctx, c, c.references)
	if err != nil {
		return err
	}
	has := func(r reference) bool { return slices.Contains(existing[r.field], r.id) }
	if r := c.references[n-1]; !has(r) {
		return t.dangling(r.field, r.id)
	}
	c.references = slices.DeleteFunc(slices.Clone(c.references), has)
	return errAgain
}
