package posts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
	"retwis/internal/watched"
)

// Threads shows conversations. It keeps the shapes of recently shown conversations in memory.
type Threads struct {
	views *timeline.Views
	db    storage.Database
	lists *timeline.Lists
	trees *watched.Map[*tree] // by root
}

const (
	// threadBytes limits the memory for the shapes of conversations.
	threadBytes = 32 << 20
	// threadChunk is the number of replies that are read in one round trip.
	threadChunk = 1000
)

// NewThreads returns the Threads of a database.
func NewThreads(db storage.Database, views *timeline.Views, lists *timeline.Lists) (*Threads, error) {
	trees, err := storage.NewMap(db, watched.Options[*tree]{
		Keys: []string{storage.ThreadPrefix}, Bytes: threadBytes, Size: (*tree).size,
	})
	return &Threads{db: db, views: views, lists: lists, trees: trees}, err
}

// tree returns the shape of a conversation. No round trip if the shape in memory is up to date.
func (t *Threads) tree(ctx context.Context, root int64) (*tree, error) {
	return t.trees.Get(ctx, root, watched.Ask[*tree]{Load: watched.Each(t.current)})
}

// current returns the shape of a conversation. The number of replies and the latest reply show
// whether the shape in memory is up to date.
func (t *Threads) current(ctx context.Context, r *watched.Read[*tree]) (*tree, error) {
	key := storage.ThreadKey(r.ID)
	b := t.db.Client.B()
	res := t.db.ReadMany(ctx, b.Zcard().Key(key).Cache(), b.Zrange().Key(key).Min("-1").Max("-1").Cache())
	card, err := reply.OrEmpty(res[0].AsInt64())
	if err != nil {
		return nil, fmt.Errorf("social: read a conversation: %w", err)
	}
	last, err := reply.OrEmpty(res[1].AsIntSlice())
	if err != nil {
		return nil, fmt.Errorf("social: read a conversation: %w", err)
	}
	known := r.Before
	switch {
	case card == 0 || len(last) == 0:
		return newTree(r.ID, nil), nil
	case known != nil && (known.card == card && known.last == last[0] || known.listed == maxThread):
		return known, nil
	}
	return t.load(ctx, r.ID, known)
}

// load reads a conversation. known is the previous tree, or nil; if there is one, load reads only
// new replies. load does not notice that a reply was added late while another was removed, until
// the next change.
func (t *Threads) load(ctx context.Context, root int64, known *tree) (*tree, error) {
	if known == nil {
		known = newTree(root, nil)
	}
	ids, err := t.replyIDs(ctx, root, known.last, maxThread-known.listed)
	if err != nil {
		return nil, err
	}
	card, err := t.db.Client.Do(ctx, t.db.Client.B().Zcard().Key(storage.ThreadKey(root)).Build()).AsInt64()
	if err != nil {
		return nil, fmt.Errorf("social: read a conversation: %w", err)
	}
	links, listed, last := slices.Clone(known.links), known.listed+len(ids), known.last
	if known.listed > 0 && int64(listed) != min(card, maxThread) { // a reply was added late, or removed
		if ids, err = t.replyIDs(ctx, root, 0, maxThread); err != nil {
			return nil, err
		}
		links, listed, last = nil, len(ids), 0
	}
	if len(ids) > 0 {
		last = ids[len(ids)-1]
	}
	if links, err = t.withParents(ctx, root, links, ids, known); err != nil {
		return nil, err
	}
	tree := newTree(root, links)
	tree.listed, tree.card, tree.last = listed, card, last
	return tree, nil
}

// replyIDs returns up to limit IDs of replies in the conversation of a root that are larger than
// after, sorted.
func (t *Threads) replyIDs(ctx context.Context, root, after int64, limit int) ([]int64, error) {
	var ids []int64
	for limit > len(ids) {
		n := min(threadChunk, limit-len(ids))
		chunk, err := reply.OrEmpty(t.db.Client.Do(ctx, t.db.Client.B().Zrangebyscore().Key(storage.ThreadKey(root)).
			Min("("+storage.Itoa(after)).Max("+inf").Limit(0, int64(n)).Build()).AsIntSlice())
		if err != nil {
			return nil, fmt.Errorf("social: read a conversation: %w", err)
		}
		ids = append(ids, chunk...)
		if len(chunk) < n || chunk[n-1] <= after {
			break
		}
		after = chunk[n-1]
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// lostRounds limits the number of reads of parents that are no longer in the conversation's set.
const lostRounds = 8

// withParents adds replies to links, and also their ancestors that are not in the conversation's
// set.
func (t *Threads) withParents(ctx context.Context, root int64, links []link, ids []int64, known *tree) ([]link, error) {
	tried := make(map[int64]bool)
	for round := 0; len(ids) > 0 && round < lostRounds; round++ {
		newLinks, err := t.parents(ctx, root, ids, known)
		if err != nil {
			return nil, err
		}
		if round == 0 { // the set has these replies, whatever their hashes say
			for i, id := range ids {
				if newLinks[i].id == 0 {
					newLinks[i] = link{id: id, parent: root}
				}
			}
		}
		for _, l := range newLinks {
			if l.id != 0 {
				links = append(links, l)
			}
		}
		slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.id, b.id) })
		links = slices.CompactFunc(links, func(a, b link) bool { return a.id == b.id })
		ids = nil
		all := tree{links: links}
		for _, l := range links {
			if _, ok := all.find(l.parent); !ok && l.parent != root && l.parent > 0 && !tried[l.parent] && len(ids) < threadChunk {
				tried[l.parent] = true
				ids = append(ids, l.parent)
			}
		}
	}
	return links, nil
}

// parents returns the link of each reply to its parent, or the zero link for a post that is not a
// reply in this conversation.
func (t *Threads) parents(ctx context.Context, root int64, ids []int64, known *tree) ([]link, error) {
	links := make([]link, len(ids))
	var places []int // the indexes of the links to read
	for i, id := range ids {
		if parent, ok := known.parent(id); ok {
			links[i] = link{id: id, parent: parent}
		} else {
			places = append(places, i)
		}
	}
	for chunk := range slices.Chunk(places, threadChunk) {
		key := func(i int) string { return storage.PostKey(ids[i]) }
		all, err := reads.Fields(ctx, t.db.Client, chunk, key, "parent", "root")
		if err != nil {
			return nil, fmt.Errorf("social: read a conversation: %w", err)
		}
		for n, fields := range all {
			parent, _ := strconv.ParseInt(fields[0], 10, 64)
			if postRoot, _ := strconv.ParseInt(fields[1], 10, 64); postRoot == root && parent > 0 {
				links[chunk[n]] = link{id: ids[chunk[n]], parent: parent}
			}
		}
	}
	return links, nil
}
