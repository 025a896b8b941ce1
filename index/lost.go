package index

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/redis/rueidis"

	engine "retwis/internal/maintain"
	"retwis/internal/partition"
)

// Entries that are not in the reverse index, which may be lost as a whole. Each
// entry holds its id, so what was lost can be made of the entries: of all but
// those whose id has several, of which nobody can tell which one is right.

// maxLost is how many ids are remembered at a time, about 40 bytes each.
const maxLost = 4 << 20

// pair is an entry and its id.
type pair struct{ id, member string }

// lostEntries calls a function with the entries of a partition that are not in the
// reverse index, and those that cannot be read, whose id is empty: in pages, and an
// entry maybe twice.
func (x *Lexical) lostEntries(ctx context.Context, r *engine.Run, keys *partition.Keys, page func([]pair) error) error {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		found, err := x.set.Client.Do(ctx, x.set.Client.B().Zscan().Key(keys.Index).Cursor(cursor).Count(upkeepStep).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		cursor = found.Cursor
		for some := range slices.Chunk(found.Elements, 2*upkeepStep) {
			lost, err := x.lostOf(ctx, keys, some)
			if err == nil && len(lost) > 0 {
				err = page(lost)
			}
			if err == nil {
				err = r.Pace(ctx, len(some)/2)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lostOf returns which entries of a page of a scan are not in the reverse index.
func (x *Lexical) lostOf(ctx context.Context, keys *partition.Keys, scores []string) ([]pair, error) {
	var lost, all []pair
	var ids []string
	for i := 0; i+1 < len(scores); i += 2 {
		id, err := x.id(scores[i])
		if err != nil || checkID(id) != nil || x.set.Of(id).Index != keys.Index {
			lost = append(lost, pair{"", scores[i]})
			continue
		}
		all, ids = append(all, pair{id, scores[i]}), append(ids, id)
	}
	if len(ids) == 0 {
		return lost, nil
	}
	contents, err := x.set.Client.Do(ctx, x.set.Client.B().Hmget().Key(keys.Content).Field(ids...).Build()).ToArray()
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

// restorable calls a function with the entries of a partition that are not in the
// reverse index and that are the only one of their id.
func (x *Lexical) restorable(ctx context.Context, r *engine.Run, keys *partition.Keys, restore func([]pair) error) error {
	// Each entry is one of the reverse index, or one too many.
	entries, err := x.set.Client.Do(ctx, x.set.Client.B().Zcard().Key(keys.Index).Build()).AsInt64()
	if err != nil {
		return err
	}
	known, err := x.set.Client.Do(ctx, x.set.Client.B().Hlen().Key(keys.Content).Build()).AsInt64()
	if err != nil || entries <= known {
		return err
	}
	seed := maphash.MakeSeed()
	slices := uint64(1 + (entries-known)/maxLost)
	for s := range slices {
		// Hashes of ids, and of the one entry of each; several is not the hash of
		// one. What shares its hash with another by chance is left alone.
		const several = 0
		entryOf := map[uint64]uint64{}
		err := x.lostEntries(ctx, r, keys, func(lost []pair) error {
			for _, p := range lost {
				id, entry := maphash.String(seed, p.id), maphash.String(seed, p.member)|1
				if p.id == "" || id%slices != s {
					continue
				}
				if other, ok := entryOf[id]; ok && other != entry {
					entry = several
				}
				entryOf[id] = entry
			}
			return nil
		})
		if err != nil || len(entryOf) == 0 {
			return err
		}
		err = x.lostEntries(ctx, r, keys, func(lost []pair) error {
			var only []pair
			for _, p := range lost {
				if p.id != "" && entryOf[maphash.String(seed, p.id)] == maphash.String(seed, p.member)|1 {
					only = append(only, p)
				}
			}
			if len(only) == 0 {
				return nil
			}
			return restore(only)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scoresOf returns the scores of entries that are not 0, by entry.
func (x *Lexical) scoresOf(ctx context.Context, keys *partition.Keys, pairs []pair) (map[string]float64, error) {
	members := make([]string, len(pairs))
	for i, p := range pairs {
		members[i] = p.member
	}
	scores, err := x.set.Client.Do(ctx, x.set.Client.B().Zmscore().Key(keys.Index).Member(members...).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	wrong := map[string]float64{}
	for i, score := range scores {
		f, err := score.AsFloat64()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		if f != 0 {
			wrong[members[i]] = f
		}
	}
	return wrong, nil
}
