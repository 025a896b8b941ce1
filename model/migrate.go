package model

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"retwis/maintain"
)

// migrateTable puts the declaration of a table into force and builds its indexes.
func migrateTable(ctx context.Context, t *table, opt maintain.Options) (maintenanceReport, error) {
	r := newRun(t, migrate, opt)
	if err := t.checkKeys(ctx); err != nil {
		return r.result(), err
	}
	migrations, err := r.beginMigrate(ctx)
	if err == nil && slices.ContainsFunc(migrations, func(name string) bool { return name != "" }) {
		if err = r.alignAll(ctx); err == nil {
			err = r.checkOlder(ctx)
		}
		if err == nil {
			err = r.endMigrate(ctx, migrations)
		}
	}
	return r.result(), err
}

// checkOlder refuses to end the first migration of keys that are older than the model
// unless Options.Adopt says which of them are records.
func (r *run) checkOlder(ctx context.Context) error {
	if r.unknown == 0 || r.t.opt.Adopt != nil {
		return nil
	}
	for i := range r.t.parts {
		p := &r.t.parts[i]
		older, err := r.t.client.Do(ctx, r.t.client.B().Hexists().Key(p.meta).Field("older").Build()).AsBool()
		if err != nil {
			return err
		}
		if older {
			example := ""
			if len(r.unknownKeys) > 0 {
				example = fmt.Sprintf(" such as %q", shortened(r.unknownKeys[0]))
			}
			return fmt.Errorf("%w: %d%s: say by Options.Adopt which of them are records", ErrUnknown, r.unknown, example)
		}
	}
	return nil
}

// beginMigrate puts the declaration into force. It returns the name of the migration
// of each partition, or "" for one that is done.
func (r *run) beginMigrate(ctx context.Context) (migrations []string, err error) {
	t := r.t
	schema, err := json.Marshal(t.stored())
	if err != nil {
		return nil, err
	}
	identities := t.schema.identities()
	proposed := rand.Text()
	for i := range t.parts {
		p := &t.parts[i]
		keys := []string{p.meta}
		args := []string{t.digest, string(schema), proposed}
		for j, x := range t.schema.indexes {
			sorted := "0"
			if !x.Unique {
				sorted = "1"
				keys = append(keys, t.indexKey(p, x))
			}
			args = append(args, identities[j], sorted)
		}
		name, err := migrateBeginScript.Run(ctx, t.client, keys, args).ToString()
		if err != nil {
			return nil, err
		}
		migrations = append(migrations, name)
	}
	return migrations, nil
}

// alignAll aligns all records, in the order of their creation, and then those that no
// model wrote.
func (r *run) alignAll(ctx context.Context) error {
	for i := range r.t.parts {
		if err := r.alignInOrder(ctx, &r.t.parts[i]); err != nil {
			return err
		}
	}
	if err := r.unindexed(ctx); err != nil {
		return err
	}
	// A unique index whose declaration has changed may have values that no record has
	// any more.
	for _, x := range r.t.schema.indexes {
		if !x.Unique {
			continue
		}
		built, err := r.t.isBuilt(ctx, x, r.t.parts)
		if err != nil {
			return err
		}
		if built {
			continue
		}
		if err := (&orphans{r}).checkIndex(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// alignInOrder aligns the records of a partition in the order of creation.
func (r *run) alignInOrder(ctx context.Context, p *partition) error {
	score, last := "", ""
	for {
		list, err := orderScript.Run(ctx, r.t.client, []string{p.all}, []string{score, last, fmt.Sprint(step)}).AsStrSlice()
		if err != nil || len(list) < 2 {
			return err
		}
		ids := names(list)
		if err := (&aligner{r}).align(ctx, ids); err != nil {
			return err
		}
		if err := r.Step(ctx, len(ids)); err != nil {
			return err
		}
		last, score = list[len(list)-2], list[len(list)-1]
	}
}

// endMigrate marks the indexes as built, and deletes the keys of indexes that are no
// longer declared.
func (r *run) endMigrate(ctx context.Context, migrations []string) error {
	t := r.t
	identities := t.schema.identities()
	for i := range t.parts {
		if migrations[i] == "" {
			continue
		}
		p := &t.parts[i]
		published, err := t.registeredIn(ctx, p)
		if err != nil {
			return err
		}
		inUse := make([]string, len(t.schema.indexes))
		for j, x := range t.schema.indexes {
			inUse[j] = t.indexKey(p, x)
		}
		keys := []string{p.meta}
		for identity, called := range published.indexes {
			_, key, _ := strings.Cut(called, " ")
			if key = p.index(key); !slices.Contains(identities, identity) && !slices.Contains(inUse, key) {
				keys = append(keys, key)
			}
		}
		ended, err := migrateEndScript.Run(ctx, t.client, keys, append([]string{t.digest, migrations[i]}, identities...)).AsBool()
		if err != nil {
			return err
		}
		if !ended {
			return t.otherSchema()
		}
	}
	for _, x := range t.schema.indexes {
		x.state.built.Store(true)
	}
	return nil
}
