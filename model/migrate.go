package model

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"retwis/internal/nodes"
)

// Migrate puts the declaration of this Store into force, and brings all records
// into its indexes, while others read and write. Nothing is done where Pending is
// empty.
//
// From the moment that it begins, writers of other declarations get ErrSchema:
// they would not keep up the new indexes. So do queries on an index that is not
// yet built, or is to be dropped, within a second; indexes that both have serve
// throughout. Records that no model wrote, of a layout that is older than it, are
// found by their keys and brought in where Upkeep.Adopt says so, in the order of
// their ids where these come from a counter. Without it the Report counts them as
// Unknown, and the first Migrate of such a layout does all but end: it returns
// ErrUnknown, and the indexes stay to be built. At the end the keys of indexes that are no longer declared
// are deleted, but for those that Options.Keys named.
//
// Where an index becomes unique and two records have the same value, the one that
// was created first has it, unless a writer gives it to another record while Migrate
// has not come to the first; of records in different partitions, or that no model
// wrote, it is the one that Migrate comes to first. Of the other the Report tells as "taken". It is found
// by all else. It has the value when the other leaves it; until then it can be
// written as soon as its value changes, writing it otherwise returns ErrTaken, and
// Verify tells of it again. A record that cannot
// be read is told as invalid, and left as it is.
//
// One that was cut short does no harm. The next begins anew, or goes on from the
// Cursor of the other's progress; two at once do the same work twice. A program of
// the old declaration that is started again, and calls Migrate too, would take it
// all back: let one place call it, such as a step of the deployment.
//
// It costs two round trips for 100 records, and a SCAN of the keys of every server.
func (s *Store[T]) Migrate(ctx context.Context, up Upkeep) (Report, error) {
	report, err := s.t.migrate(ctx, up)
	return report, s.t.wrap(err)
}

func (t *table) migrate(ctx context.Context, up Upkeep) (Report, error) {
	r := t.newRun(migrate, up)
	if err := t.checkKeys(ctx); err != nil {
		return r.report, err
	}
	walks, err := t.beginMigrate(ctx)
	if err != nil || !slices.ContainsFunc(walks, func(name string) bool { return name != "" }) {
		return r.report, err
	}
	if err := r.migrateAll(ctx, hexSum(strings.Join(walks, " "))[:16]); err != nil {
		return r.report, err
	}
	if err := r.checkOlder(ctx); err != nil {
		return r.report, err
	}
	return r.report, t.endMigrate(ctx, walks)
}

// checkOlder refuses to end the first Migrate of a layout that is older than the
// model where nobody has said which keys are records.
func (r *run) checkOlder(ctx context.Context) error {
	if r.report.Unknown == 0 || r.up.Adopt != nil {
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
			if len(r.report.UnknownKeys) > 0 {
				example = fmt.Sprintf(" such as %q", shortened(r.report.UnknownKeys[0]))
			}
			return fmt.Errorf("%w: %d%s: say by Upkeep.Adopt which of them are records", ErrUnknown, r.report.Unknown, example)
		}
	}
	return nil
}

// beginMigrate puts the declaration into force. It returns the name of the walk
// through the records of each partition, or nothing for one in which it is over.
func (t *table) beginMigrate(ctx context.Context) (walks []string, err error) {
	schema, err := json.Marshal(t.stored())
	if err != nil {
		return nil, err
	}
	identities := t.identities()
	proposed := rand.Text()
	for i := range t.parts {
		p := &t.parts[i]
		keys := []string{p.meta}
		args := []string{t.digest, string(schema), proposed}
		for j, x := range t.indexes {
			sorted := "0"
			if !x.Unique {
				sorted = "1"
				keys = append(keys, t.indexKey(p, x))
			}
			args = append(args, identities[j], sorted)
		}
		name, err := t.scripts.migrateBegin.Run(ctx, t.client, keys, args).ToString()
		if err != nil {
			return nil, err
		}
		walks = append(walks, name)
	}
	return walks, nil
}

// migrateAll aligns all records, in the order of their creation, and then those
// that no model wrote.
func (r *run) migrateAll(ctx context.Context, name string) error {
	t := r.t
	masters, err := nodes.Masters(ctx, t.client)
	if err != nil {
		return err
	}
	parts := []part{t.ordered("all", r.align), r.recordPart(masters)}
	// What was unique, and has changed its declaration, may have left values
	// that no record has any more.
	for _, x := range t.indexes {
		if !x.Unique {
			continue
		}
		built, err := t.isBuilt(ctx, x, t.parts)
		if err != nil {
			return err
		}
		if !built {
			parts = append(parts, r.strayPart(x))
		}
	}
	return r.walk(ctx, name, parts)
}

// ordered makes a part that walks through all records in the order of creation.
func (t *table) ordered(name string, page func(context.Context, []string) error) part {
	step := func(ctx context.Context, place int, cursor string) (int, string, error) {
		score, id, _ := strings.Cut(cursor, " ")
		args := []string{score, id, fmt.Sprint(upkeepStep)}
		list, err := t.scripts.order.Run(ctx, t.client, []string{t.parts[place].all}, args).AsStrSlice()
		if err != nil || len(list) < 2 {
			return 0, "", err
		}
		var ids []string
		for i := 0; i+1 < len(list); i += 2 {
			ids = append(ids, list[i])
		}
		if err := page(ctx, ids); err != nil {
			return 0, "", err
		}
		return len(ids), list[len(list)-1] + " " + list[len(list)-2], nil
	}
	return part{name, t.partitions(), step}
}

// endMigrate marks the indexes as built, and deletes the keys of those that are
// no longer declared.
func (t *table) endMigrate(ctx context.Context, walks []string) error {
	identities := t.identities()
	for i := range t.parts {
		if walks[i] == "" {
			continue
		}
		p := &t.parts[i]
		r, err := t.registeredIn(ctx, p)
		if err != nil {
			return err
		}
		inUse := make([]string, len(t.indexes))
		for j, x := range t.indexes {
			inUse[j] = t.indexKey(p, x)
		}
		keys := []string{p.meta}
		for identity, called := range r.indexes {
			_, key, _ := strings.Cut(called, " ")
			if key = p.index(key); !slices.Contains(identities, identity) && !slices.Contains(inUse, key) {
				keys = append(keys, key)
			}
		}
		ended, err := t.scripts.migrateEnd.Run(ctx, t.client, keys, append([]string{t.digest, walks[i]}, identities...)).AsBool()
		if err != nil {
			return err
		}
		if !ended {
			return t.otherSchema()
		}
	}
	for _, x := range t.indexes {
		x.state.built.Store(true)
	}
	return nil
}
