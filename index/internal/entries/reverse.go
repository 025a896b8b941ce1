package entries

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/internal/redis/scan"
)

// This file restores a partly or completely lost reverse index. Each entry contains its id, so
// the reverse index can be restored from the entries, except for ids with several entries: only
// the object of such an id can show which entry is right.

// maxLost limits the number of ids held in memory, at about 40 bytes each.
const maxLost = 4 << 20

// contents returns the members that the reverse index has for the ids of entries.
func (x *Index) contents(ctx context.Context, keys *partition.Keys, pairs []Entry) ([]rueidis.RedisMessage, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	ids := make([]string, len(pairs))
	for i, p := range pairs {
		ids[i] = p.ID
	}
	return x.Set.Client.Do(ctx, x.Set.Client.B().Hmget().Key(keys.Content).Field(ids...).Build()).ToArray()
}

// lost calls page with the entries of a partition that are missing from the reverse index, and
// with unreadable entries, which get an empty id. An entry may occur twice.
func (x *Index) lost(ctx context.Context, r *engine.Run, keys *partition.Keys, page func([]Entry) error) error {
	for pairs, err := range scan.SortedSet(ctx, x.Set.Client, keys.Index, pageSize) {
		if err != nil {
			return err
		}
		lost, err := x.lostOf(ctx, keys, pairs)
		if err == nil && len(lost) > 0 {
			err = page(lost)
		}
		if err == nil {
			err = r.Pace(ctx, len(pairs)/2)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lostOf returns the entries of a scan page that are missing from the reverse index.
func (x *Index) lostOf(ctx context.Context, keys *partition.Keys, scores []string) ([]Entry, error) {
	var lost, all []Entry
	for i := 0; i+1 < len(scores); i += 2 {
		id, err := x.opt.ID(scores[i])
		if err != nil || CheckID(id) != nil || x.Set.Of(id).Index != keys.Index {
			lost = append(lost, Entry{Value: scores[i]})
			continue
		}
		all = append(all, Entry{id, scores[i]})
	}
	contents, err := x.contents(ctx, keys, all)
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		if contents[i].IsNil() {
			lost = append(lost, p)
		}
	}
	return lost, nil
}

// restorable calls restore with the entries of a partition that are missing from the reverse
// index and are the only entries of their ids.
func (x *Index) restorable(ctx context.Context, r *engine.Run, keys *partition.Keys, restore func([]Entry) error) error {
	// If the set has more entries than the reverse index, some are lost or surplus.
	entries, err := x.Set.Client.Do(ctx, x.Set.Client.B().Zcard().Key(keys.Index).Build()).AsInt64()
	if err != nil {
		return err
	}
	known, err := x.Set.Client.Do(ctx, x.Set.Client.B().Hlen().Key(keys.Content).Build()).AsInt64()
	if err != nil || entries <= known {
		return err
	}
	seed := maphash.MakeSeed()
	passes := uint64(1 + (entries-known)/maxLost)
	for pass := range passes {
		sole, err := x.soleEntries(ctx, r, keys, seed, func(id uint64) bool { return id%passes == pass })
		if err != nil || len(sole) == 0 {
			return err
		}
		err = x.lost(ctx, r, keys, func(lost []Entry) error {
			soleLost := slices.DeleteFunc(lost, func(p Entry) bool {
				return p.ID == "" || sole[maphash.String(seed, p.ID)] != hashOf(seed, p.Value)
			})
			if len(soleLost) == 0 {
				return nil
			}
			return restore(soleLost)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// severalEntries marks an id with several entries. hashOf never returns 0.
const severalEntries = 0

// hashOf returns the hash of a member.
func hashOf(seed maphash.Seed, member string) uint64 { return maphash.String(seed, member) | 1 }

// soleEntries maps the hash of each id with lost entries to the hash of its only entry, or to
// severalEntries. It covers the ids whose hash accept allows. Ids with the same hash count as
// one id with several entries.
func (x *Index) soleEntries(ctx context.Context, r *engine.Run, keys *partition.Keys, seed maphash.Seed, accept func(id uint64) bool) (map[uint64]uint64, error) {
	entryOf := map[uint64]uint64{}
	err := x.lost(ctx, r, keys, func(lost []Entry) error {
		for _, p := range lost {
			id, entry := maphash.String(seed, p.ID), hashOf(seed, p.Value)
			if p.ID == "" || !accept(id) {
				continue
			}
			if other, ok := entryOf[id]; ok && other != entry {
				entry = severalEntries
			}
			entryOf[id] = entry
		}
		return nil
	})
	return entryOf, err
}

// scores returns the nonzero scores of entries by member.
func (x *Index) scores(ctx context.Context, keys *partition.Keys, pairs []Entry) (map[string]float64, error) {
	entries := make([]string, len(pairs))
	for i, p := range pairs {
		entries[i] = p.Value
	}
	scores, err := x.Set.Client.Do(ctx, x.Set.Client.B().Zmscore().Key(keys.Index).Member(entries...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	nonzero := map[string]float64{}
	for i, score := range scores {
		f, err := score.AsFloat64()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		if f != 0 {
			nonzero[entries[i]] = f
		}
	}
	return nonzero, nil
}
