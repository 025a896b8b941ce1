package maintain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/maintain"
	"retwis/model/internal/schema"
)

// orphanSets finds entries of records that do not have them in the sets of values, and
// values in a directory that no record has.
type orphanSets struct{ orphans *orphans }

// check checks the sets that the directories of some indexes name, and those that they do
// not: a SCAN of the keys of every server.
func (o *orphanSets) check(ctx context.Context, all []*schema.Index) error {
	for _, x := range all {
		for i := range o.orphans.run.t.Layout.Parts {
			p := &o.orphans.run.t.Layout.Parts[i]
			for page, err := range scan.SortedSet(ctx, o.orphans.run.t.Client, o.orphans.run.t.Layout.IndexKey(p, x), step) {
				if err == nil {
					err = o.checkValues(ctx, p, x, names(page))
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
	return o.orphans.run.eachKey(ctx, o.orphans.run.t.Layout.ValuePrefix(), "zset", func(keys []string) (int, error) {
		values := map[place][]string{}
		for _, key := range keys {
			if p, e, ok := o.orphans.run.t.Layout.ParseValueKey(key); ok && slices.Contains(all, e.Index) {
				values[place{p, e.Index}] = append(values[place{p, e.Index}], e.Value)
			}
		}
		for at, some := range values {
			unlisted, err := o.unlisted(ctx, at.p, at.x, some)
			if err == nil {
				err = o.checkValues(ctx, at.p, at.x, unlisted)
			}
			if err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
}

// unlisted returns the values that are not in the directory.
func (o *orphanSets) unlisted(ctx context.Context, p *schema.Partition, x *schema.Index, values []string) ([]string, error) {
	list, err := o.orphans.run.t.Client.Do(ctx, o.orphans.run.t.Client.B().Zmscore().Key(o.orphans.run.t.Layout.IndexKey(p, x)).Member(values...).Build()).ToArray()
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

// checkValues checks the sets of some values: small ones in one pipeline.
func (o *orphanSets) checkValues(ctx context.Context, p *schema.Partition, x *schema.Index, values []string) error {
	if len(values) == 0 {
		return nil
	}
	t := o.orphans.run.t
	commands := make(rueidis.Commands, len(values))
	for i, value := range values {
		commands[i] = t.Client.B().Zrange().Key(o.key(p, x, value)).Min("0").Max(strconv.Itoa(step - 1)).Build()
	}
	var empty []string
	var small []orphan
	for i, reply := range t.Client.DoMulti(ctx, commands...) {
		value := values[i]
		ids, err := reply.AsStrSlice()
		if err != nil {
			return t.TypeError(ctx, err, o.key(p, x, value))
		}
		switch {
		case len(ids) == 0:
			empty = append(empty, value)
		case len(ids) < step:
			for _, id := range ids {
				small = append(small, orphan{id, value})
			}
		default:
			err = o.orphans.run.engine.Pages(ctx, scan.SortedSet(ctx, t.Client, o.key(p, x, value), step), func(pairs []string) (int, error) {
				var some []orphan
				for _, id := range names(pairs) {
					some = append(some, orphan{id, value})
				}
				return len(some), o.checkSome(ctx, p, x, some)
			})
			if err != nil {
				return err
			}
		}
	}
	for some := range slices.Chunk(small, step) {
		if err := o.checkSome(ctx, p, x, some); err != nil {
			return err
		}
		if err := o.orphans.run.engine.Step(ctx, len(some)); err != nil {
			return err
		}
	}
	return o.unlist(ctx, p, x, empty)
}

func (o *orphanSets) key(p *schema.Partition, x *schema.Index, value string) string {
	return o.orphans.run.t.Layout.ValueKey(p, schema.Entry{Index: x, Value: value})
}

// checkSome checks entries of one or several sets.
func (o *orphanSets) checkSome(ctx context.Context, p *schema.Partition, x *schema.Index, all []orphan) error {
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.id
	}
	have, err := o.orphans.contents(ctx, p, ids)
	if err != nil {
		return err
	}
	kind := inSet
	if o.orphans.run.mode == migrate {
		kind = inBuilding // all records are indexed by now that will be
	}
	byValue := map[string][]orphan{}
	for _, e := range all {
		if !have.have(e.id, x, e.value) {
			byValue[e.value] = append(byValue[e.value], e)
		}
	}
	for _, suspects := range byValue {
		found, err := o.orphans.remove(ctx, p, kind, x, suspects)
		if err != nil {
			return err
		}
		o.orphans.report(x, found, "")
	}
	return nil
}

// unlist removes values that no record has from the directory.
func (o *orphanSets) unlist(ctx context.Context, p *schema.Partition, x *schema.Index, values []string) error {
	if len(values) == 0 {
		return nil
	}
	t := o.orphans.run.t
	keys := []string{p.Meta, t.Layout.IndexKey(p, x)}
	for _, value := range values {
		keys = append(keys, o.key(p, x, value))
	}
	m, err := unlistScript.Run(ctx, t.Client, keys, append([]string{o.orphans.run.effect(), t.Registry.Stamp()}, values...)).ToMessage()
	if err != nil {
		return err
	}
	if m.IsString() {
		return t.Registry.SchemaError()
	}
	wrong, err := m.AsIntSlice()
	if err != nil || o.orphans.run.mode == migrate {
		return err
	}
	for _, i := range wrong {
		if i < 1 || int(i) > len(values) {
			return schema.ErrReply(nil)
		}
		o.orphans.run.engine.Found(maintain.Problem{Kind: maintain.Dangling, Found: x.Describe(values[i-1]) + " in the list of values, which no record has"})
	}
	o.orphans.run.repaired(len(wrong))
	return nil
}
