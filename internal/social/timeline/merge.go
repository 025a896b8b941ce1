package timeline

import (
	"context"
	"slices"
	"sort"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
	"retwis/internal/watched"
)

// headLen is the number of an author's latest posts that are kept in memory.
const headLen = 100

// head holds the latest posts and reposts of an author, latest first. It is immutable.
type head struct {
	ids      []int64
	complete bool // no older posts are merged
	first    int64
}

// headsOf returns the latest posts of each author. The posts of an author are reread at most about
// once a second. One round trip if any of them have changed.
func (t *Homes) headsOf(ctx context.Context, authors []int64, first map[int64]int64) ([]*head, error) {
	return t.heads.GetMany(ctx, authors, watched.Ask[*head]{
		Valid: func(id int64, h *head) bool { return h.first == first[id] },
		Load: func(ctx context.Context, reads []*watched.Read[*head]) error {
			return t.readHeads(ctx, reads, first)
		},
	})
}

// readHeads reads the latest posts of authors.
func (t *Homes) readHeads(ctx context.Context, reads []*watched.Read[*head], first map[int64]int64) error {
	cmds := make([]rueidis.Cacheable, len(reads))
	for i, r := range reads {
		cmds[i] = t.DB.Client.B().Zrevrange().Key(storage.ProfileKey(r.ID)).Start(0).Stop(headLen - 1).Cache()
	}
	for i, res := range t.DB.ReadMany(ctx, cmds...) {
		members, err := reply.OrEmpty(res.AsStrSlice())
		if err != nil {
			return err
		}
		r := reads[i]
		r.Value = &head{first: first[r.ID]}
		r.Value.fill(parseIDs(members), len(members))
	}
	return nil
}

// fill stores the IDs of merged posts among ids. read is the number of entries that were read.
func (h *head) fill(ids []int64, read int) {
	n := sort.Search(len(ids), func(i int) bool { return ids[i] < h.first })
	h.ids, h.complete = ids[:n:n], n < len(ids) || read < headLen
}

// below returns the IDs below before, or all IDs if before is 0.
func below(ids []int64, before int64) []int64 {
	if before == 0 {
		return ids
	}
	return ids[sort.Search(len(ids), func(i int) bool { return ids[i] < before }):]
}

// mergeQuery is a request for a page of a home timeline, into which the posts of some authors are
// merged.
type mergeQuery struct {
	part
	authors []int64
	first   map[int64]int64 // the first merged post of each author
	before  int64           // only posts below this ID; 0 for all
	n       int             // the number of posts
}

// merge returns the IDs of the posts on a page.
func (t *Homes) merge(ctx context.Context, m mergeQuery) ([]int64, error) {
	heads, err := t.headsOf(ctx, m.authors, m.first)
	if err != nil {
		return nil, err
	}
	var runs [][]int64
	if len(m.ids) > 0 {
		runs = append(runs, m.ids)
	}
	var older []int // authors who may have older posts on the page than those in memory
	for i, h := range heads {
		ids := below(h.ids, m.before)
		if !h.complete && len(ids) < m.n && (len(h.ids) == 0 || h.ids[len(h.ids)-1] > m.floor) {
			older = append(older, i)
			continue
		}
		if len(ids) > 0 && ids[0] > m.floor {
			runs = append(runs, ids)
		}
	}
	olderRuns, err := t.older(ctx, m, older)
	if err != nil {
		return nil, err
	}
	return newest(append(runs, olderRuns...), m.floor, m.n), nil
}

// older reads posts that are not in memory, of the authors with the given indexes.
func (t *Homes) older(ctx context.Context, m mergeQuery, indexes []int) ([][]int64, error) {
	if len(indexes) == 0 {
		return nil, nil
	}
	from := "+inf"
	if m.before > 0 {
		from = "(" + storage.Itoa(m.before)
	}
	cmds := make(rueidis.Commands, len(indexes))
	for j, i := range indexes {
		id := m.authors[i]
		cmds[j] = t.DB.Client.B().Zrevrangebyscore().Key(storage.ProfileKey(id)).Max(from).
			Min(storage.Itoa(max(m.first[id], m.floor))).Limit(0, int64(m.n)).Build()
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

// newest returns the largest n IDs from sorted runs, largest first, without duplicates and without
// IDs below floor. It modifies the runs.
func newest(runs [][]int64, floor int64, n int) []int64 {
	// runs is a heap: the run with the largest first ID is at its top.
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
