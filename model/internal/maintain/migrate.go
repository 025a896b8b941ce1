package maintain

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/redis/scan"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Migrate puts the declaration of a table into force and builds its indexes.
func Migrate(ctx context.Context, t *record.Table, opt maintain.Options) (Report, error) {
	r := newRun(t, migrate, opt)
	if err := t.CheckTypes(ctx); err != nil {
		return r.result(), err
	}
	if err := r.checkKinds(ctx); err != nil {
		return r.result(), err
	}
	migrations, err := r.beginMigrate(ctx)
	switch {
	case err != nil:
	case slices.ContainsFunc(migrations, func(name string) bool { return name != "" }):
		if err = r.alignAll(ctx); err == nil {
			err = r.checkOlder(ctx)
		}
		if err == nil {
			err = r.endMigrate(ctx, migrations)
		}
	case t.Options.Adopt != nil: // other programs may have written records
		err = r.unindexed(ctx)
	}
	return r.result(), err
}

// checkKinds returns an error if the declaration changes the kind of fields, and none of the
// existing records can be read with it.
func (r *run) checkKinds(ctx context.Context) error {
	t := r.t
	changed, err := t.Registry.Changed(ctx)
	if err != nil || len(changed) == 0 {
		return err
	}
	var failed error
	for i := range t.Layout.Parts {
		for page, err := range scan.SortedSet(ctx, t.Client, t.Layout.Parts[i].All, step) {
			if err != nil {
				return err
			}
			targets, err := r.targets(ctx, names(page))
			if err != nil {
				return err
			}
			for _, w := range targets {
				if w.exists && w.err == nil {
					return nil
				} else if w.exists {
					failed = w.err
				}
			}
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("no record can be read with the new declaration (%s): declare the field under another name, and copy its values: %w", strings.Join(changed, ", "), failed)
}

// checkOlder refuses to finish the first migration if there are keys older than the model,
// unless Options.Adopt decides which of them are records.
func (r *run) checkOlder(ctx context.Context) error {
	if r.unknown == 0 || r.t.Options.Adopt != nil {
		return nil
	}
	for i := range r.t.Layout.Parts {
		p := &r.t.Layout.Parts[i]
		older, err := r.t.Client.Do(ctx, r.t.Client.B().Hexists().Key(p.Meta).Field("older").Build()).AsBool()
		if err != nil {
			return err
		}
		if older {
			example := ""
			if len(r.unknownKeys) > 0 {
				example = fmt.Sprintf(" such as %q", schema.Shorten(r.unknownKeys[0]))
			}
			return fmt.Errorf("%w: %d%s: set Options.Adopt to decide which of them are records", schema.ErrUnknown, r.unknown, example)
		}
	}
	return nil
}

// beginMigrate puts the declaration into force. It returns the name of the migration of each
// partition, or "" for a partition that needs none.
func (r *run) beginMigrate(ctx context.Context) (migrations []string, err error) {
	t := r.t
	schema, err := json.Marshal(t.Layout.Stored())
	if err != nil {
		return nil, err
	}
	identities := t.Schema.Identities()
	proposed := rand.Text()
	for i := range t.Layout.Parts {
		p := &t.Layout.Parts[i]
		keys := []string{p.Meta}
		args := []string{t.Registry.Digest, string(schema), proposed}
		for j, x := range t.Schema.Indexes {
			sorted := "0"
			if !x.Unique && !x.PerValue {
				sorted = "1"
				keys = append(keys, t.Layout.IndexKey(p, x))
			}
			args = append(args, identities[j], sorted)
		}
		name, err := migrateBeginScript.Run(ctx, t.Client, keys, args).ToString()
		if err != nil {
			return nil, err
		}
		migrations = append(migrations, name)
	}
	return migrations, nil
}

// alignAll aligns all records in creation order, and then the records that no model wrote.
func (r *run) alignAll(ctx context.Context) error {
	for i := range r.t.Layout.Parts {
		if err := r.alignInOrder(ctx, &r.t.Layout.Parts[i]); err != nil {
			return err
		}
	}
	if err := r.unindexed(ctx); err != nil {
		return err
	}
	// An index that did not start empty may contain values that no record has any longer.
	var building []*schema.Index
	for _, x := range r.t.Schema.Indexes {
		if !x.Unique && !x.PerValue {
			continue
		}
		built, err := r.t.Registry.IsBuilt(ctx, x, r.t.Layout.Parts)
		if err != nil {
			return err
		}
		if !built {
			building = append(building, x)
		}
	}
	return r.checkIndexes(ctx, building)
}

// alignInOrder aligns the records of a partition in the order of creation.
func (r *run) alignInOrder(ctx context.Context, p *schema.Partition) error {
	score, last := "", ""
	for {
		list, err := orderScript.Run(ctx, r.t.Client, []string{p.All}, []string{score, last, fmt.Sprint(step)}).AsStrSlice()
		if err != nil || len(list) < 2 {
			return err
		}
		ids := names(list)
		if err := r.align(ctx, ids); err != nil {
			return err
		}
		if err := r.engine.Step(ctx, len(ids)); err != nil {
			return err
		}
		last, score = list[len(list)-2], list[len(list)-1]
	}
}

// dropSets deletes the sets of the values of an index, in batches, while the declaration with a
// digest is in force.
func (r *run) dropSets(ctx context.Context, p *schema.Partition, name, digest string) error {
	t := r.t
	directory := p.Index(name)
	left, err := t.Client.Do(ctx, t.Client.B().Zcard().Key(directory).Build()).AsInt64()
	if err != nil {
		return err
	}
	for ; left > 0; left -= step { // programs with the previous declaration may add more
		values, err := t.Client.Do(ctx, t.Client.B().Zrange().Key(directory).Min("0").Max(strconv.Itoa(step-1)).Build()).AsStrSlice()
		if err != nil || len(values) == 0 {
			return err
		}
		keys := []string{p.Meta, directory}
		for _, value := range values {
			keys = append(keys, p.Value(name, value))
		}
		dropped, err := migrateDropScript.Run(ctx, t.Client, keys, append([]string{digest}, values...)).AsBool()
		if err != nil {
			return err
		}
		if !dropped {
			return t.Registry.SchemaError()
		}
		if err := r.engine.Step(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// endMigrate marks the indexes as built, and deletes the keys of indexes that are no
// longer declared.
func (r *run) endMigrate(ctx context.Context, migrations []string) error {
	t := r.t
	identities := t.Schema.Identities()
	for i := range t.Layout.Parts {
		if migrations[i] == "" {
			continue
		}
		p := &t.Layout.Parts[i]
		published, err := t.Registry.Published(ctx, p)
		if err != nil {
			return err
		}
		inUse := make([]string, len(t.Schema.Indexes))
		for j, x := range t.Schema.Indexes {
			inUse[j] = t.Layout.IndexKey(p, x)
		}
		keys := []string{p.Meta}
		for identity, entry := range published.Indexes {
			_, name, _ := strings.Cut(entry, " ")
			key := p.Index(name)
			if slices.Contains(identities, identity) || slices.Contains(inUse, key) {
				continue
			}
			if !schema.PerValue(identity) {
				keys = append(keys, key)
				continue
			}
			// The directory stays as long as it has values, since programs with the previous
			// declaration may still write some.
			if err := r.dropSets(ctx, p, name, t.Registry.Digest); err != nil {
				return err
			}
		}
		ended, err := migrateEndScript.Run(ctx, t.Client, keys, append([]string{t.Registry.Digest, migrations[i]}, identities...)).AsBool()
		if err != nil {
			return err
		}
		if !ended {
			return t.Registry.SchemaError()
		}
	}
	for _, x := range t.Schema.Indexes {
		x.State.Built.Store(true)
	}
	return nil
}
