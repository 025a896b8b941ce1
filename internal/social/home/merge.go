package home

import (
	"context"
	"slices"
	"sort"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/layout"
	"retwis/internal/watched"
)

const (
	// headLen is how many of an author's latest posts are in memory.
	headLen = 100
)

// author is an author whose posts are merged.
type author struct {
	id   int64
	head watched.Cell[*head]
}

// head are the latest posts and reposts of an author, the latest first. It never changes.
type head struct {
	ids   []int64
	whole bool // there are no others that are merged
	first int64
}

func (t *Timelines) author(id int64) *author {
	a, ok := t.authors.Load(id)
	if !ok {
		// It is there before the posts are read, so that no change is missed meanwhile.
		a, _ = t.authors.LoadOrStore(id, &author{id: id})
	}
	return a.(*author)
}

// heads returns the latest posts of each of these authors, which are read again about once a
// second at most. One round trip if some have changed.
func (t *Timelines) heads(ctx context.Context, f []*author, first map[int64]int64, fresh bool) ([]*head, error) {
	all := make([]*head, len(f))
	var changed, forced []int
	hasOld := !fresh
	for i, a := range f {
		h, ok := a.head.Get(t.DB.Link, watched.Lag)
		if all[i] = h; ok && !fresh && h.first == first[a.id] {
			continue
		}
		if fresh || a.head.IsForced() {
			forced = append(forced, i)
		} else {
			changed = append(changed, i)
		}
		old, ok := a.head.Old(t.DB.Link)
		all[i], hasOld = old, hasOld && ok && old.first == first[a.id]
	}
	if len(changed)+len(forced) == 0 {
		return all, nil
	}
	_, err := t.DB.Link.Read(ctx, hasOld, func(ctx context.Context) error {
		err := t.readHeads(social.WithFresh(ctx), forced, f, first, all)
		if err == nil {
			err = t.readHeads(ctx, changed, f, first, all)
		}
		return err
	})
	return all, err
}

// readHeads reads the latest posts of these authors.
func (t *Timelines) readHeads(ctx context.Context, which []int, f []*author, first map[int64]int64, all []*head) error {
	if len(which) == 0 {
		return nil
	}
	cmds, stamps := make([]rueidis.Cacheable, len(which)), make([]watched.Stamp, len(which))
	for n, i := range which {
		stamps[n] = f[i].head.Begin(t.DB.Link, !social.IsFresh(ctx))
		cmds[n] = t.DB.Client.B().Zrevrange().Key(layout.ProfileKey(f[i].id)).Start(0).Stop(headLen - 1).Cache()
	}
	for n, res := range t.DB.ReadMany(ctx, cmds...) {
		members, err := reply.OrEmpty(res.AsStrSlice())
		if err != nil {
			return err
		}
		i := which[n]
		all[i] = &head{first: first[f[i].id]}
		all[i].fill(parseIDs(members), len(members))
		f[i].head.Put(all[i], stamps[n])
	}
	return nil
}

// fill takes the ids that are merged.
func (h *head) fill(ids []int64, read int) {
	n := sort.Search(len(ids), func(i int) bool { return ids[i] < h.first })
	h.ids, h.whole = ids[:n:n], n < len(ids) || read < headLen
}

// below returns the ids below an id; 0 for all.
func below(ids []int64, before int64) []int64 {
	if before == 0 {
		return ids
	}
	return ids[sort.Search(len(ids), func(i int) bool { return ids[i] < before }):]
}

// merged is a page of a home timeline with the posts of authors that it lacks.
type merged struct {
	part
	authors []*author
	first   map[int64]int64 // the first post of each that it lacks
	before  int64           // the posts below an id; 0 for all
	n       int             // the newest of them
}

// merge returns the ids of a page.
func (t *Timelines) merge(ctx context.Context, m merged, fresh bool) ([]int64, error) {
	heads, err := t.heads(ctx, m.authors, m.first, fresh)
	if err != nil {
		return nil, err
	}
	var runs [][]int64
	if len(m.ids) > 0 {
		runs = append(runs, m.ids)
	}
	var older []int // authors with older posts on the page than those in memory, perhaps
	for i, h := range heads {
		ids := below(h.ids, m.before)
		if !h.whole && len(ids) < m.n && (len(h.ids) == 0 || h.ids[len(h.ids)-1] > m.floor) {
			older = append(older, i)
			continue
		}
		if len(ids) > 0 && ids[0] > m.floor {
			runs = append(runs, ids)
		}
	}
	more, err := t.older(ctx, m, older)
	if err != nil {
		return nil, err
	}
	return newest(append(runs, more...), m.floor, m.n), nil
}

// older reads the posts of some of the authors, by their place among them, that are not in
// memory.
func (t *Timelines) older(ctx context.Context, m merged, which []int) ([][]int64, error) {
	if len(which) == 0 {
		return nil, nil
	}
	from := "+inf"
	if m.before > 0 {
		from = "(" + layout.Itoa(m.before)
	}
	cmds := make(rueidis.Commands, len(which))
	for j, i := range which {
		id := m.authors[i].id
		cmds[j] = t.DB.Client.B().Zrevrangebyscore().Key(layout.ProfileKey(id)).Max(from).
			Min(layout.Itoa(max(m.first[id], m.floor))).Limit(0, int64(m.n)).Build()
	}
	var runs [][]int64
	for _, res := range t.DB.Client.DoMulti(ctx, cmds...) {
		members, err := reply.OrEmpty(res.AsStrSlice())
		if err != nil {
			return nil, err
		}
		if ids := parseIDs(members); len(ids) > 0 {
			runs = append(runs, ids)
		}
	}
	return runs, nil
}

// newest returns the largest n ids of runs that are in order, largest first, each id
// once, and none below floor. It changes the runs.
func newest(runs [][]int64, floor int64, n int) []int64 {
	// runs is a heap: the run with the largest first id is at its top.
	down := func(i int) {
		for {
			child := 2*i + 1
			if child >= len(runs) {
				return
			}
			if right := child + 1; right < len(runs) && runs[right][0] > runs[child][0] {
				child = right
			}
			if runs[i][0] >= runs[child][0] {
				return
			}
			runs[i], runs[child] = runs[child], runs[i]
			i = child
		}
	}
	for i := len(runs)/2 - 1; i >= 0; i-- {
		down(i)
	}
	ids := make([]int64, 0, n)
	for len(runs) > 0 && len(ids) < n {
		id := runs[0][0]
		if id < floor {
			break
		}
		if len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
		if runs[0] = runs[0][1:]; len(runs[0]) == 0 {
			runs[0] = runs[len(runs)-1]
			runs = runs[:len(runs)-1]
		}
		down(0)
	}
	return slices.Clip(ids)
}
