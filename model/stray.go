package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"
)

// stray is an entry that may lead to a record which does not have it.
type stray struct{ id, value string }

// Where entries are, as stray.lua names them.
const (
	inSorted       = "z"
	inUnique       = "u"
	unindexedOwner = "f" // of a unique index, also where the record is not indexed yet
	inAll          = "a"
	inExpires      = "e"
)

// strayBatch is how many entries one script looks at.
const strayBatch = 20

// strays returns those entries that do lead to records which do not have them,
// and removes them where the run mends.
func (r *run) strays(ctx context.Context, p *partition, kind string, x *indexSpec, suspects []stray) ([]stray, error) {
	t := r.t
	place, number := "", 0
	switch kind {
	case inAll:
		place = p.all
	case inExpires:
		place = p.expires
	default:
		place, number = t.indexKey(p, x), x.number
	}
	does := mend
	if r.mode == look {
		does = look
	}
	var all []stray
	for some := range slices.Chunk(suspects, strayBatch) {
		keys := []string{p.meta, p.content, place}
		args := []string{string(does), t.stamp(), kind, strconv.Itoa(number)}
		for _, s := range some {
			keys = append(keys, p.of(s.id))
			args = append(args, s.id, s.value)
		}
		m, err := t.scripts.stray.Run(ctx, t.client, keys, args).ToMessage()
		if err != nil {
			return nil, err
		}
		if m.IsString() {
			return nil, t.otherSchema()
		}
		wrong, err := m.AsIntSlice()
		if err != nil {
			return nil, err
		}
		for _, i := range wrong {
			if i < 1 || int(i) > len(some) {
				return nil, errReply(nil)
			}
			all = append(all, some[i-1])
		}
	}
	return all, nil
}

// tellStrays reports stray entries.
func (r *run) tellStrays(x *indexSpec, all []stray, where string) {
	if r.mode == migrate {
		return
	}
	for _, s := range all {
		found := where
		if x != nil {
			found = x.described(s.value)
			if s.id == "" {
				found = fmt.Sprintf("%s: %q", x.Name, shortened(s.value))
			}
		}
		r.found(Problem{Kind: dangling, ID: shortened(s.id), Found: found})
	}
	r.mended(len(all))
}

// contents are what records have in the indexes, by id, without those of which
// nothing can be read.
type contents map[string][]packed

func (c contents) have(id string, x *indexSpec, value string) bool {
	return slices.Contains(c[id], packed{x.number, value})
}

func (t *table) contentsOf(ctx context.Context, p *partition, ids []string) (contents, error) {
	all := make(contents, len(ids))
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return all, nil
	}
	list, err := t.client.Do(ctx, t.client.B().Hmget().Key(p.content).Field(ids...).Build()).ToArray()
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
		_, entries, err := unpack(content(text))
		if errors.Is(err, errContent) {
			continue
		}
		all[ids[i]] = entries
	}
	return all, nil
}

// strayParts are the parts of a run that look at what leads to records.
func (r *run) strayParts() []part {
	t := r.t
	all := []part{
		t.scanned("all", false, func(p *partition) string { return p.all }, func(ctx context.Context, p *partition, pairs []string) error {
			return r.listedPage(ctx, p, pairs, inAll)
		}),
		t.scanned("expires", false, func(p *partition) string { return p.expires }, func(ctx context.Context, p *partition, pairs []string) error {
			return r.listedPage(ctx, p, pairs, inExpires)
		}),
	}
	for _, x := range t.indexes {
		all = append(all, r.strayPart(x))
	}
	return all
}

// listedPage looks at ids in the order of creation, or of their expiry.
func (r *run) listedPage(ctx context.Context, p *partition, pairs []string, kind string) error {
	var ids []string
	for i := 0; i+1 < len(pairs); i += 2 {
		ids = append(ids, pairs[i])
	}
	have, err := r.t.contentsOf(ctx, p, ids)
	if err != nil {
		return err
	}
	var suspects []stray
	for _, id := range ids {
		if _, ok := have[id]; !ok {
			suspects = append(suspects, stray{id: id})
		}
	}
	wrong, err := r.strays(ctx, p, kind, nil, suspects)
	where := "a place in the order of creation"
	if kind == inExpires {
		where = "a time at which it expires"
	}
	r.tellStrays(nil, wrong, where)
	return err
}

// strayPart looks at all entries of one index.
func (r *run) strayPart(x *indexSpec) part {
	t := r.t
	kind := inSorted
	name := "index." + strconv.Itoa(x.number)
	key := func(p *partition) string { return t.indexKey(p, x) }
	if x.Unique && t.spread() {
		return t.scanned(name, true, key, func(ctx context.Context, p *partition, pairs []string) error {
			return r.strayClaims(ctx, p, x, pairs)
		})
	}
	if x.Unique {
		kind = inUnique
	}
	return t.scanned(name, x.Unique, key, func(ctx context.Context, p *partition, pairs []string) error {
		var all []stray
		var ids []string
		for i := 0; i+1 < len(pairs); i += 2 {
			s := stray{pairs[i+1], pairs[i]}
			if !x.Unique {
				s.value, s.id, _ = x.idOf(pairs[i])
			}
			all, ids = append(all, s), append(ids, s.id)
		}
		have, err := t.contentsOf(ctx, p, ids)
		if err != nil {
			return err
		}
		suspects := slices.DeleteFunc(all, func(s stray) bool { return have.have(s.id, x, s.value) })
		wrong, err := r.strays(ctx, p, kind, x, suspects)
		r.tellStrays(x, wrong, "")
		return err
	})
}
