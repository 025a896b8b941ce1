package takeout

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// slot is an ID reserved for an imported post.
type slot struct {
	id     int64
	source string // the source of the post that has the ID
	state  state
}

// state is the progress of the import of a post.
type state uint8

const (
	free    state = iota // no post has the ID
	written              // the post is written, but not on all lists
	done                 // the post is on all lists, or was deleted since
	foreign              // another post has the ID, or the key has another type
)

// assign returns the slots of entries: IDs that earlier imports used, IDs that an interrupted
// import reserved for exactly these entries, and new IDs for the other entries. If dry is set, it
// reserves no new IDs.
func (s *Archives) assign(ctx context.Context, author int64, entries []entry, dry bool) ([]slot, error) {
	reserved, err := s.reserved(ctx, author)
	if err != nil {
		return nil, err
	}
	known := make(map[string]slot)
	slots := make([]slot, len(entries))
	var missing []int
	for n, ids := range reserved {
		if n == len(reserved)-1 {
			if missing = assignKnown(entries, known, slots); resumes(entries, missing, ids) {
				for i, at := range missing {
					slots[at] = ids[i]
				}
				return slots, nil
			}
		}
		for _, id := range ids {
			if id.state == written || id.state == done {
				known[id.source] = id
			}
		}
	}
	missing = assignKnown(entries, known, slots)
	if len(missing) == 0 || dry {
		return slots, nil
	}
	first, err := s.reserve(ctx, author, int64(len(missing)))
	for i, at := range missing {
		slots[at].id = first + int64(i)
	}
	return slots, err
}

// reserve reserves consecutive IDs and returns the first. `imported_posts` lists these IDs, because
// they do not follow the order of the times of all posts. An interruption leaves IDs unused.
func (s *Archives) reserve(ctx context.Context, author, posts int64) (first int64, err error) {
	b := s.DB.Client.B()
	last, err := s.DB.Client.Do(ctx, b.Incrby().Key(storage.NextPostID).Increment(posts).Build()).AsInt64()
	first = last - posts + 1
	for _, key := range []string{storage.ImportedPosts, storage.ImportedKey(author)} {
		if err == nil {
			err = s.DB.Client.Do(ctx, b.Zadd().Key(key).ScoreMember().
				ScoreMember(float64(first), storage.FormatRange(first, last)).Build().ToRetryable()).Error()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("social: reserve IDs for posts: %w", err)
	}
	return first, nil
}

// assignKnown gives entries the slots that are known, and returns the entries without a known slot.
func assignKnown(entries []entry, known map[string]slot, slots []slot) (missing []int) {
	for i, e := range entries {
		var ok bool
		if slots[i], ok = known[e.source]; !ok {
			missing = append(missing, i)
		}
	}
	return missing
}

// resumes reports whether ids were reserved for exactly the missing entries.
func resumes(entries []entry, missing []int, ids []slot) bool {
	if len(ids) != len(missing) {
		return false
	}
	for i, at := range missing {
		if ids[i].state == foreign || ids[i].state != free && ids[i].source != entries[at].source {
			return false
		}
	}
	return true
}

// slotPage is how many posts are read at a time.
const slotPage = 500

// reserved returns the IDs reserved by a user's imports, earliest import first. About one round
// trip per 500 IDs.
func (s *Archives) reserved(ctx context.Context, author int64) ([][]slot, error) {
	members, err := s.DB.Client.Do(ctx, s.DB.Client.B().Zrange().Key(storage.ImportedKey(author)).Min("0").Max("-1").Build()).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("social: key %s: %w", storage.ImportedKey(author), err)
	}
	var all [][]slot
	for _, member := range members {
		first, last, ok := storage.ParseRange(member)
		if !ok || last-first >= maxPosts {
			return nil, fmt.Errorf("social: key %s has %.40q: check the database", storage.ImportedKey(author), member)
		}
		var slots []slot
		for ; first <= last; first += slotPage {
			ids, err := s.read(ctx, author, first, min(last, first+slotPage-1))
			if err != nil {
				return nil, err
			}
			slots = append(slots, ids...)
		}
		all = append(all, slots)
	}
	return all, nil
}

// read returns the slots with the IDs from first to last. One round trip.
func (s *Archives) read(ctx context.Context, author, first, last int64) ([]slot, error) {
	b := s.DB.Client.B()
	var members []string
	var cmds rueidis.Commands
	for id := first; id <= last; id++ {
		members = append(members, storage.Itoa(id))
		cmds = append(cmds, b.Hmget().Key(storage.PostKey(id)).Field("user_id", "source", "deleted").Build())
	}
	cmds = append(cmds, b.Zmscore().Key(storage.ArchiveKey(author)).Member(members...).Build())
	res := s.DB.Client.DoMulti(ctx, cmds...)
	listed, err := res[len(members)].ToArray()
	if err != nil {
		return nil, fmt.Errorf("social: key %s: %w", storage.ArchiveKey(author), err)
	}
	slots := make([]slot, len(members))
	for i := range slots {
		entry := slot{id: first + int64(i)}
		fields, err := reply.Fields(res[i])
		switch {
		case rediserr.IsWrongType(res[i].Error()):
			entry.state = foreign
		case err != nil:
			return nil, fmt.Errorf("social: read a post: %w", err)
		case fields[0] == "":
		case fields[0] != storage.Itoa(author) || fields[1] == "":
			entry.state = foreign
		default:
			entry.source, entry.state = fields[1], written
			if fields[2] != "" || !listed[i].IsNil() {
				entry.state = done
			}
		}
		slots[i] = entry
	}
	return slots, nil
}
