package maintain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/internal/sleep"
	"retwis/maintain"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// checkOrphans checks the order of creation, the times of expiry and all indexes.
func (r *run) checkOrphans(ctx context.Context) error {
	err := r.eachSortedSet(ctx, func(p *schema.Partition) string { return p.All }, func(ctx context.Context, p *schema.Partition, pairs []string) error {
		return r.checkIDs(ctx, p, names(pairs), record.InAll)
	})
	if err == nil {
		err = r.eachSortedSet(ctx, func(p *schema.Partition) string { return p.Expires }, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return r.checkIDs(ctx, p, names(pairs), record.InExpires)
		})
	}
	if err == nil {
		err = r.checkIndexes(ctx, r.t.Schema.Indexes)
	}
	return err
}

// checkIndexes checks all entries of indexes.
func (r *run) checkIndexes(ctx context.Context, all []*schema.Index) error {
	var perValue []*schema.Index
	for _, x := range all {
		if x.PerValue {
			perValue = append(perValue, x)
		} else if err := r.checkIndex(ctx, x); err != nil {
			return err
		}
	}
	return r.checkSets(ctx, perValue)
}

// checkIDs checks ids in the order of creation or of expiry.
func (r *run) checkIDs(ctx context.Context, p *schema.Partition, ids []string, kind record.Place) error {
	known, err := r.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	var suspects []record.Orphan
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			suspects = append(suspects, record.Orphan{ID: id})
		}
	}
	all, err := r.removeOrphans(ctx, p, kind, nil, suspects)
	found := "a place in the order of creation"
	if kind == record.InExpires {
		found = "a time of expiry"
	}
	r.reportOrphans(nil, all, found)
	return err
}

// checkIndex checks all entries of one index.
func (r *run) checkIndex(ctx context.Context, x *schema.Index) error {
	key := func(p *schema.Partition) string { return r.t.Layout.IndexKey(p, x) }
	switch {
	case x.Unique && r.t.Layout.Spread():
		return r.eachHash(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return r.checkClaimPage(ctx, p, x, pairs)
		})
	case x.Unique:
		return r.eachHash(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return r.checkEntries(ctx, p, x, pairs)
		})
	}
	return r.eachSortedSet(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
		return r.checkEntries(ctx, p, x, pairs)
	})
}

// checkEntries checks a page of an index.
func (r *run) checkEntries(ctx context.Context, p *schema.Partition, x *schema.Index, pairs []string) error {
	kind := record.InSorted
	if x.Unique {
		kind = record.InUnique
	}
	var all []record.Orphan
	var ids []string
	for i := 0; i+1 < len(pairs); i += 2 {
		e := record.Orphan{ID: pairs[i+1], Value: pairs[i]}
		if !x.Unique {
			e.Value, e.ID, _ = x.SplitMember(pairs[i])
		}
		all, ids = append(all, e), append(ids, e.ID)
	}
	known, err := r.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	suspects := slices.DeleteFunc(all, func(e record.Orphan) bool { return known.has(e.ID, x, e.Value) })
	found, err := r.removeOrphans(ctx, p, kind, x, suspects)
	r.reportOrphans(x, found, "")
	return err
}

// removeOrphans returns the suspects that are orphans, and removes them unless this is a dry
// run.
func (r *run) removeOrphans(ctx context.Context, p *schema.Partition, kind record.Place, x *schema.Index, suspects []record.Orphan) ([]record.Orphan, error) {
	scope := record.Indexed
	switch {
	case r.mode == DryRun:
		scope = record.None
	case r.mode == migrate && kind == record.InSet:
		scope = record.Any // by now all records are indexed
	}
	return r.t.Orphans(ctx, p, scope, kind, x, suspects)
}

// reportOrphans reports orphans. found describes orphans that are not in an index.
func (r *run) reportOrphans(x *schema.Index, all []record.Orphan, found string) {
	if r.mode == migrate {
		return
	}
	for _, s := range all {
		if x != nil {
			found = x.Describe(s.Value)
			if s.ID == "" && x.PerValue {
				found += " in the directory of values, but in no record"
			} else if s.ID == "" {
				found = fmt.Sprintf("%s: %q", x.Name, schema.Shorten(s.Value))
			}
		}
		r.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: schema.Shorten(s.ID), Found: found})
	}
	r.repaired(len(all))
}

// contents maps the ids of records to their entries. Unreadable records are omitted.
type contents map[string][]schema.IndexValue

// has reports whether the content of a record includes an entry.
func (c contents) has(id string, x *schema.Index, value string) bool {
	return slices.Contains(c[id], schema.IndexValue{Number: x.Number, Value: value})
}

// contents reads the entries of records in a partition.
func (r *run) contents(ctx context.Context, p *schema.Partition, ids []string) (contents, error) {
	all := make(contents, len(ids))
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return all, nil
	}
	list, err := r.t.Client.Do(ctx, r.t.Client.B().Hmget().Key(p.Content).Field(ids...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	for i := range list {
		text, err := list[i].ToString()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, entries, err := schema.Unpack(schema.Content(text))
		if errors.Is(err, schema.ErrContent) {
			continue
		}
		all[ids[i]] = entries
	}
	return all, nil
}

// orphanClaim is a unique value that its record does not seem to have.
type orphanClaim struct {
	key       string
	entry     schema.Entry
	text      string // value in the hash
	misplaced bool   // the value belongs to another hash
}

// checkClaimPage checks a page of a unique index.
func (r *run) checkClaimPage(ctx context.Context, p *schema.Partition, x *schema.Index, pairs []string) error {
	key := r.t.Layout.IndexKey(p, x)
	known, err := r.contentsOfClaims(ctx, pairs)
	if err != nil {
		return err
	}
	var suspects []orphanClaim
	for i := 0; i+1 < len(pairs); i += 2 {
		e, c := schema.Entry{Index: x, Value: pairs[i]}, unique.ParseClaim(pairs[i+1])
		switch misplaced := r.t.Layout.UniqueKey(e) != key; {
		case misplaced, !known.has(c.ID, x, e.Value) && !inProgress(c.Deadline):
			suspects = append(suspects, orphanClaim{key, e, pairs[i+1], misplaced})
		case known.has(c.ID, x, e.Value) && c.Deadline != "" && r.mode != DryRun:
			if _, err := r.t.Claims.Has(ctx, e, pairs[i+1], false); err != nil { // also confirms the claim
				return err
			}
		}
	}
	return r.checkSuspects(ctx, suspects)
}

// contentsOfClaims reads the entries of the records named in claims.
func (r *run) contentsOfClaims(ctx context.Context, pairs []string) (contents, error) {
	byPart := map[*schema.Partition][]string{}
	for i := 1; i < len(pairs); i += 2 {
		id := unique.ParseClaim(pairs[i]).ID
		byPart[r.t.Layout.Of(id)] = append(byPart[r.t.Layout.Of(id)], id)
	}
	known := contents{}
	for p, ids := range byPart {
		partition, err := r.contents(ctx, p, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, partition)
	}
	return known, nil
}

// inProgress reports whether the record of a claim may still be written. It tolerates a local
// clock that is up to unique.Lease ahead.
func inProgress(deadline string) bool {
	ms, err := strconv.ParseInt(deadline, 10, 64)
	return err == nil && time.Since(time.UnixMilli(ms)) < unique.Lease
}

// minDryRunChecks is the minimum number of times that a dry run checks a value before it
// reports the value.
const minDryRunChecks = 4

// checkSuspects removes values that their records do not have. A writer releases old values
// shortly after it has written the record. A dry run therefore checks suspects repeatedly, for
// unique.Grace or as long as its patience allows, before it reports them. Other runs do not
// wait: releasing a value early does no harm.
func (r *run) checkSuspects(ctx context.Context, suspects []orphanClaim) error {
	begin := time.Now()
	wait := min(unique.Grace, r.t.Patience)
	wait = max(wait, r.waitLeft)
	for checks := 1; len(suspects) > 0; checks++ {
		var err error
		if suspects, err = r.unchangedClaims(ctx, suspects); err != nil {
			return err
		}
		left := wait - time.Since(begin)
		if r.mode != DryRun || left <= 0 && checks >= minDryRunChecks {
			break
		}
		if !sleep.For(ctx, max(time.Millisecond, min(time.Millisecond<<min(checks, 20), left))) {
			return ctx.Err()
		}
	}
	r.waitLeft -= time.Since(begin)
	for _, s := range suspects {
		if err := r.dropClaim(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// unchangedClaims returns the claims that have not changed in the hash, except claims of
// records that are not indexed yet.
func (r *run) unchangedClaims(ctx context.Context, suspects []orphanClaim) ([]orphanClaim, error) {
	b := r.t.Client.B()
	var commands rueidis.Commands
	for _, s := range suspects {
		id := unique.ParseClaim(s.text).ID
		p := r.t.Layout.Of(id)
		commands = append(commands, b.Hget().Key(s.key).Field(s.entry.Value).Build(),
			b.Exists().Key(p.Record(id)).Build(), b.Hexists().Key(p.Content).Field(id).Build())
	}
	replies := r.t.Client.DoMulti(ctx, commands...)
	var unchanged []orphanClaim
	for i, s := range suspects {
		now, err := replies[3*i].ToString()
		if rueidis.IsRedisNil(err) || err == nil && now != s.text {
			continue
		}
		exists, err2 := replies[3*i+1].AsBool()
		indexed, err3 := replies[3*i+2].AsBool()
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		if s.misplaced || indexed || !exists {
			unchanged = append(unchanged, s)
		}
	}
	return unchanged, nil
}

// dropClaim reports a value that its record does not have, and removes the value if the claim
// is still unchanged after the record was read.
func (r *run) dropClaim(ctx context.Context, s orphanClaim) error {
	u := r.t.Claims
	c := unique.ParseClaim(s.text)
	if !s.misplaced {
		claim := c
		if r.mode == DryRun {
			claim.Deadline = "" // do not revoke the claim
		}
		has, err := u.Revoke(ctx, s.entry, claim)
		if err != nil || has {
			return err
		}
	}
	r.reportOrphans(s.entry.Index, []record.Orphan{{ID: c.ID, Value: s.entry.Value}}, "")
	if r.mode == DryRun {
		return nil
	}
	return u.Replace(ctx, s.key, s.entry.Value, s.text, "")
}

// checkSets checks the sets listed in the directories of indexes, and unlisted sets: a SCAN of
// the keys of every server.
func (r *run) checkSets(ctx context.Context, all []*schema.Index) error {
	for _, x := range all {
		for i := range r.t.Layout.Parts {
			p := &r.t.Layout.Parts[i]
			for page, err := range scan.SortedSet(ctx, r.t.Client, r.t.Layout.IndexKey(p, x), step) {
				if err == nil {
					err = r.checkValues(ctx, p, x, names(page))
				}
				if err != nil {
					return err
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	type place struct {
		p *schema.Partition
		x *schema.Index
	}
	return r.eachKey(ctx, r.t.Layout.ValuePrefix(), "zset", func(keys []string) (int, error) {
		byPlace := map[place][]string{}
		for _, key := range keys {
			if p, e, ok := r.t.Layout.ParseValueKey(key); ok && slices.Contains(all, e.Index) {
				byPlace[place{p, e.Index}] = append(byPlace[place{p, e.Index}], e.Value)
			}
		}
		for at, values := range byPlace {
			unlisted, err := r.unlisted(ctx, at.p, at.x, values)
			if err == nil {
				err = r.checkValues(ctx, at.p, at.x, unlisted)
			}
			if err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
}

// unlisted returns the values missing from the directory.
func (r *run) unlisted(ctx context.Context, p *schema.Partition, x *schema.Index, values []string) ([]string, error) {
	list, err := r.t.Client.Do(ctx, r.t.Client.B().Zmscore().Key(r.t.Layout.IndexKey(p, x)).Member(values...).Build()).ToArray()
	if err != nil || len(list) != len(values) {
		return nil, errors.Join(err, schema.ErrReply(err))
	}
	var all []string
	for i, value := range values {
		if list[i].IsNil() {
			all = append(all, value)
		}
	}
	return all, nil
}

// checkValues checks the sets of values. Small sets are read in one pipeline.
func (r *run) checkValues(ctx context.Context, p *schema.Partition, x *schema.Index, values []string) error {
	if len(values) == 0 {
		return nil
	}
	t := r.t
	commands := make(rueidis.Commands, len(values))
	for i, value := range values {
		commands[i] = t.Client.B().Zrange().Key(t.Layout.ValueKey(p, schema.Entry{Index: x, Value: value})).Min("0").Max(strconv.Itoa(step - 1)).Build()
	}
	var empty, small []record.Orphan
	for i, reply := range t.Client.DoMulti(ctx, commands...) {
		value := values[i]
		ids, err := reply.AsStrSlice()
		if err != nil {
			return t.TypeError(ctx, err, t.Layout.ValueKey(p, schema.Entry{Index: x, Value: value}))
		}
		switch {
		case len(ids) == 0:
			empty = append(empty, record.Orphan{Value: value})
		case len(ids) < step:
			for _, id := range ids {
				small = append(small, record.Orphan{ID: id, Value: value})
			}
		default:
			err = r.engine.Pages(ctx, scan.SortedSet(ctx, t.Client, t.Layout.ValueKey(p, schema.Entry{Index: x, Value: value}), step), func(pairs []string) (int, error) {
				var entries []record.Orphan
				for _, id := range names(pairs) {
					entries = append(entries, record.Orphan{ID: id, Value: value})
				}
				return len(entries), r.checkSetEntries(ctx, p, x, entries)
			})
			if err != nil {
				return err
			}
		}
	}
	for chunk := range slices.Chunk(small, step) {
		if err := r.checkSetEntries(ctx, p, x, chunk); err != nil {
			return err
		}
		if err := r.engine.Step(ctx, len(chunk)); err != nil {
			return err
		}
	}
	wrong, err := r.removeOrphans(ctx, p, record.InDirectory, x, empty)
	r.reportOrphans(x, wrong, "")
	return err
}

// checkSetEntries checks entries of one or several sets.
func (r *run) checkSetEntries(ctx context.Context, p *schema.Partition, x *schema.Index, all []record.Orphan) error {
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.ID
	}
	known, err := r.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	byValue := map[string][]record.Orphan{}
	for _, e := range all {
		if !known.has(e.ID, x, e.Value) {
			byValue[e.Value] = append(byValue[e.Value], e)
		}
	}
	for _, suspects := range byValue {
		found, err := r.removeOrphans(ctx, p, record.InSet, x, suspects)
		if err != nil {
			return err
		}
		r.reportOrphans(x, found, "")
	}
	return nil
}
