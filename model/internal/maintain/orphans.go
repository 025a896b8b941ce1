package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/sleep"
	"retwis/maintain"
	"retwis/model/internal/schema"
	"retwis/model/internal/unique"
)

// orphans finds entries that lead to records which do not have them.
type orphans struct{ run *run }

// orphan is an entry whose record may not have it.
type orphan struct{ id, value string }

// Where entries are, as orphan.lua names it.
const (
	inSorted    = "z"
	inSet       = "s" // of a value
	inUnique    = "u"
	inUnindexed = "f" // of a unique index, even if the record is not indexed yet
	inBuilding  = "g" // of a value, even if the record is not indexed yet
	inAll       = "a"
	inExpires   = "e"
)

// orphanBatch is how many entries one script checks.
const orphanBatch = 20

// check checks the order of creation, the times of expiry and all indexes.
func (o *orphans) check(ctx context.Context) error {
	err := o.run.eachSortedSet(ctx, func(p *schema.Partition) string { return p.All }, func(ctx context.Context, p *schema.Partition, pairs []string) error {
		return o.checkIDs(ctx, p, names(pairs), inAll)
	})
	if err == nil {
		err = o.run.eachSortedSet(ctx, func(p *schema.Partition) string { return p.Expires }, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return o.checkIDs(ctx, p, names(pairs), inExpires)
		})
	}
	if err == nil {
		err = o.checkIndexes(ctx, o.run.t.Schema.Indexes)
	}
	return err
}

// checkIndexes checks all entries of some indexes.
func (o *orphans) checkIndexes(ctx context.Context, all []*schema.Index) error {
	var perValue []*schema.Index
	for _, x := range all {
		if x.PerValue {
			perValue = append(perValue, x)
		} else if err := o.checkIndex(ctx, x); err != nil {
			return err
		}
	}
	return (&orphanSets{o}).check(ctx, perValue)
}

// checkIDs checks ids in the order of creation, or of their expiry.
func (o *orphans) checkIDs(ctx context.Context, p *schema.Partition, ids []string, kind string) error {
	have, err := o.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	var suspects []orphan
	for _, id := range ids {
		if _, ok := have[id]; !ok {
			suspects = append(suspects, orphan{id: id})
		}
	}
	all, err := o.remove(ctx, p, kind, nil, suspects)
	found := "a place in the order of creation"
	if kind == inExpires {
		found = "a time of expiry"
	}
	o.report(nil, all, found)
	return err
}

// checkIndex checks all entries of one index.
func (o *orphans) checkIndex(ctx context.Context, x *schema.Index) error {
	key := func(p *schema.Partition) string { return o.run.t.Layout.IndexKey(p, x) }
	switch {
	case x.Unique && o.run.t.Layout.Spread():
		return o.run.eachHash(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return (&orphanClaims{o}).check(ctx, p, x, pairs)
		})
	case x.Unique:
		return o.run.eachHash(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
			return o.checkEntries(ctx, p, x, pairs)
		})
	}
	return o.run.eachSortedSet(ctx, key, func(ctx context.Context, p *schema.Partition, pairs []string) error {
		return o.checkEntries(ctx, p, x, pairs)
	})
}

// checkEntries checks a page of an index.
func (o *orphans) checkEntries(ctx context.Context, p *schema.Partition, x *schema.Index, pairs []string) error {
	kind := inSorted
	if x.Unique {
		kind = inUnique
	}
	var all []orphan
	var ids []string
	for i := 0; i+1 < len(pairs); i += 2 {
		e := orphan{pairs[i+1], pairs[i]}
		if !x.Unique {
			e.value, e.id, _ = x.SplitMember(pairs[i])
		}
		all, ids = append(all, e), append(ids, e.id)
	}
	have, err := o.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	suspects := slices.DeleteFunc(all, func(e orphan) bool { return have.have(e.id, x, e.value) })
	found, err := o.remove(ctx, p, kind, x, suspects)
	o.report(x, found, "")
	return err
}

// remove returns the entries whose records do not have them, and removes them unless
// this is a dry run. Entries in a set all have its value.
func (o *orphans) remove(ctx context.Context, p *schema.Partition, kind string, x *schema.Index, suspects []orphan) ([]orphan, error) {
	t := o.run.t
	key, directory, number := "", "", 0
	switch kind {
	case inAll:
		key = p.All
	case inExpires:
		key = p.Expires
	case inSet, inBuilding:
		if len(suspects) == 0 {
			return nil, nil
		}
		key, directory, number = t.Layout.ValueKey(p, schema.Entry{Index: x, Value: suspects[0].value}), t.Layout.IndexKey(p, x), x.Number
	default:
		key, number = t.Layout.IndexKey(p, x), x.Number
	}
	var all []orphan
	for some := range slices.Chunk(suspects, orphanBatch) {
		keys := []string{p.Meta, p.Content, key, cmp.Or(directory, key)}
		args := []string{o.run.effect(), t.Registry.Stamp(), kind, strconv.Itoa(number)}
		for _, s := range some {
			keys = append(keys, p.Record(s.id))
			args = append(args, s.id, s.value)
		}
		m, err := orphanScript.Run(ctx, t.Client, keys, args).ToMessage()
		if err != nil {
			return nil, t.TypeError(ctx, err, keys...)
		}
		if m.IsString() {
			return nil, t.Registry.SchemaError()
		}
		wrong, err := m.AsIntSlice()
		if err != nil {
			return nil, err
		}
		for _, i := range wrong {
			if i < 1 || int(i) > len(some) {
				return nil, schema.ErrReply(nil)
			}
			all = append(all, some[i-1])
		}
	}
	return all, nil
}

// report reports orphans.
func (o *orphans) report(x *schema.Index, all []orphan, found string) {
	if o.run.mode == migrate {
		return
	}
	for _, s := range all {
		if x != nil {
			found = x.Describe(s.value)
			if s.id == "" {
				found = fmt.Sprintf("%s: %q", x.Name, schema.Shorten(s.value))
			}
		}
		o.run.engine.Found(maintain.Problem{Kind: maintain.Dangling, ID: schema.Shorten(s.id), Found: found})
	}
	o.run.repaired(len(all))
}

// contents are the entries of records by id. It lacks unreadable ones.
type contents map[string][]schema.IndexValue

func (c contents) have(id string, x *schema.Index, value string) bool {
	return slices.Contains(c[id], schema.IndexValue{Number: x.Number, Value: value})
}

// contents reads the entries of records in a partition.
func (o *orphans) contents(ctx context.Context, p *schema.Partition, ids []string) (contents, error) {
	all := make(contents, len(ids))
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return all, nil
	}
	list, err := o.run.t.Client.Do(ctx, o.run.t.Client.B().Hmget().Key(p.Content).Field(ids...).Build()).ToArray()
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

// orphanClaims finds unique values whose records, in other partitions, do not have
// them.
type orphanClaims struct{ orphans *orphans }

// orphanClaim is a value whose record does not seem to have it.
type orphanClaim struct {
	key       string
	entry     schema.Entry
	text      string // what the hash says
	misplaced bool   // the value belongs to another hash
}

// check checks a page of a unique index.
func (o *orphanClaims) check(ctx context.Context, p *schema.Partition, x *schema.Index, pairs []string) error {
	key := o.orphans.run.t.Layout.IndexKey(p, x)
	have, err := o.contentsOf(ctx, pairs)
	if err != nil {
		return err
	}
	var suspects []orphanClaim
	for i := 0; i+1 < len(pairs); i += 2 {
		e, c := schema.Entry{Index: x, Value: pairs[i]}, unique.ParseClaim(pairs[i+1])
		switch misplaced := o.orphans.run.t.Layout.UniqueKey(e) != key; {
		case misplaced, !have.have(c.ID, x, e.Value) && !inProgress(c.Deadline):
			suspects = append(suspects, orphanClaim{key, e, pairs[i+1], misplaced})
		case have.have(c.ID, x, e.Value) && c.Deadline != "" && o.orphans.run.mode != DryRun:
			if _, err := o.orphans.run.t.Claims.Has(ctx, e, pairs[i+1], false); err != nil { // and confirms it
				return err
			}
		}
	}
	return o.checkSuspects(ctx, suspects)
}

// contentsOf reads the entries of the records that claims name.
func (o *orphanClaims) contentsOf(ctx context.Context, pairs []string) (contents, error) {
	byPart := map[*schema.Partition][]string{}
	for i := 1; i < len(pairs); i += 2 {
		id := unique.ParseClaim(pairs[i]).ID
		byPart[o.orphans.run.t.Layout.Of(id)] = append(byPart[o.orphans.run.t.Layout.Of(id)], id)
	}
	have := contents{}
	for p, ids := range byPart {
		some, err := o.orphans.contents(ctx, p, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(have, some)
	}
	return have, nil
}

// inProgress reports whether the record of a claim may still be written. It allows for
// clocks that are late.
func inProgress(deadline string) bool {
	ms, err := strconv.ParseInt(deadline, 10, 64)
	return err == nil && time.Since(time.UnixMilli(ms)) < unique.Lease
}

// dryRunLooks is how often a dry run looks at a value, at least, before it reports it.
const dryRunLooks = 4

// checkSuspects removes values whose records do not have them. A writer gives back the
// values that its record has left shortly after it has written the record: a dry run
// waits that long before it reports one, and longer while it may; it looks again however
// long the first look took. Giving a value back early does no harm.
func (o *orphanClaims) checkSuspects(ctx context.Context, suspects []orphanClaim) error {
	begin := time.Now()
	wait := min(unique.Grace, o.orphans.run.t.Patience)
	wait = max(wait, o.orphans.run.waitLeft)
	for looks := 1; len(suspects) > 0; looks++ {
		var err error
		if suspects, err = o.unchanged(ctx, suspects); err != nil {
			return err
		}
		left := wait - time.Since(begin)
		if o.orphans.run.mode != DryRun || left <= 0 && looks >= dryRunLooks {
			break
		}
		if !sleep.For(ctx, max(time.Millisecond, min(time.Millisecond<<min(looks, 20), left))) {
			return ctx.Err()
		}
	}
	o.orphans.run.waitLeft -= time.Since(begin)
	for _, s := range suspects {
		if err := o.drop(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns the claims whose hash says the same as before, without those of
// records that are not indexed yet.
func (o *orphanClaims) unchanged(ctx context.Context, suspects []orphanClaim) ([]orphanClaim, error) {
	b := o.orphans.run.t.Client.B()
	var commands rueidis.Commands
	for _, s := range suspects {
		id := unique.ParseClaim(s.text).ID
		p := o.orphans.run.t.Layout.Of(id)
		commands = append(commands, b.Hget().Key(s.key).Field(s.entry.Value).Build(),
			b.Exists().Key(p.Record(id)).Build(), b.Hexists().Key(p.Content).Field(id).Build())
	}
	replies := o.orphans.run.t.Client.DoMulti(ctx, commands...)
	var still []orphanClaim
	for i, s := range suspects {
		now, err := replies[3*i].ToString()
		if rueidis.IsRedisNil(err) || err == nil && now != s.text {
			continue
		}
		there, err2 := replies[3*i+1].AsBool()
		indexed, err3 := replies[3*i+2].AsBool()
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		if s.misplaced || indexed || !there {
			still = append(still, s)
		}
	}
	return still, nil
}

// drop reports a value whose record does not have it, and removes it if the hash still
// says the same after the record was asked.
func (o *orphanClaims) drop(ctx context.Context, s orphanClaim) error {
	u := o.orphans.run.t.Claims
	c := unique.ParseClaim(s.text)
	if !s.misplaced {
		asked := c
		if o.orphans.run.mode == DryRun {
			asked.Deadline = "" // revokes nothing
		}
		has, err := u.Revoke(ctx, s.entry, asked)
		if err != nil || has {
			return err
		}
	}
	o.orphans.report(s.entry.Index, []orphan{{c.ID, s.entry.Value}}, "")
	if o.orphans.run.mode == DryRun {
		return nil
	}
	return u.Replace(ctx, s.key, s.entry.Value, s.text, "")
}
