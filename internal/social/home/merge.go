package home

import (
	"context"
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout"
)

const (
	// headLen is how many of an author's latest posts are in memory.
	headLen = 100
	// refreshEvery is how old they must be before they are read again.
	refreshEvery = int64(900 * time.Millisecond)
)

// author is an author whose posts are merged.
type author struct {
	id      int64
	changed atomic.Uint64 // the number of changes of their posts
	forced  atomic.Bool   // the next reader does not wait
	busy    atomic.Bool   // a reader is reading them again
	head    atomic.Pointer[head]
}

// head are the latest posts and reposts of an author, the latest first. It never changes.
type head struct {
	ids     []int64
	whole   bool // there are no others that are merged
	first   int64
	changed uint64
	epoch   uint64
	at      int64
}

// never is the value of head.changed for what was read past the client-side cache: the
// server reports no change of it.
const never = math.MaxUint64

func (t *Timelines) author(id int64) *author {
	a, ok := t.authors.Load(id)
	if !ok {
		// It is there before the posts are read, so that no change is missed meanwhile.
		a, _ = t.authors.LoadOrStore(id, &author{id: id})
	}
	return a.(*author)
}

// current reports whether a head may be shown.
func (t *Timelines) current(a *author, h *head, now int64) bool {
	if h == nil || a.forced.Load() {
		return false
	}
	age := now - h.at
	if h.changed == a.changed.Load() && h.epoch == t.epoch.Load() {
		return age < maxAge
	}
	return age < refreshEvery || a.busy.Load()
}

// heads returns the latest posts of each of these authors. One round trip if some have
// changed.
func (t *Timelines) heads(ctx context.Context, f []*author, first map[int64]int64, fresh bool) ([]*head, error) {
	all := make([]*head, len(f))
	now := time.Now().UnixNano()
	fresh = fresh || !t.Watched
	var need []int
	for i, a := range f {
		h := a.head.Load()
		if fresh || !t.current(a, h, now) || h.first != first[a.id] {
			need = append(need, i)
		}
		all[i] = h
	}
	if len(need) == 0 {
		return all, nil
	}
	var cached []rueidis.CacheableTTL
	var plain rueidis.Commands
	isPlain := make([]bool, len(need))
	for n, i := range need {
		a := f[i]
		all[i] = &head{first: first[a.id], changed: a.changed.Load(), epoch: t.epoch.Load(), at: now}
		cmd := t.Client.B().Zrevrange().Key(layout.ProfileKey(a.id)).Start(0).Stop(headLen - 1).Cache()
		// What this process has written may still be reported.
		if isPlain[n] = fresh || a.forced.Swap(false); isPlain[n] {
			all[i].changed = never
			plain = append(plain, rueidis.Completed(cmd))
			continue
		}
		a.busy.Store(true)
		defer a.busy.Store(false)
		cached = append(cached, rueidis.CT(cmd.ToStaticTTL(), cacheTTL))
	}
	var ofPlain, ofCached []rueidis.RedisResult
	if len(plain) > 0 {
		ofPlain = t.Client.DoMulti(ctx, plain...)
	}
	if len(cached) > 0 {
		ofCached = t.Client.DoMultiCache(ctx, cached...)
	}
	for n, i := range need {
		var res rueidis.RedisResult
		if isPlain[n] {
			res, ofPlain = ofPlain[0], ofPlain[1:]
		} else {
			res, ofCached = ofCached[0], ofCached[1:]
		}
		members, err := res.AsStrSlice()
		if err != nil && !rediserr.IsWrongType(err) { // a check reports it
			for _, i := range need {
				f[i].forced.Store(true)
			}
			return nil, err
		}
		all[i].fill(parseIDs(members), len(members))
		if t.Watched {
			f[i].head.Store(all[i])
		}
	}
	return all, nil
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

// merge returns the newest n of the posts of a part and of these authors.
func (t *Timelines) merge(ctx context.Context, list part, authors []*author, first map[int64]int64, before int64, n int, fresh bool) ([]int64, error) {
	heads, err := t.heads(ctx, authors, first, fresh)
	if err != nil {
		return nil, err
	}
	var runs [][]int64
	if len(list.ids) > 0 {
		runs = append(runs, list.ids)
	}
	var older []int // authors with older posts on the page than those in memory, perhaps
	for i, h := range heads {
		ids := below(h.ids, before)
		if !h.whole && len(ids) < n && (len(h.ids) == 0 || h.ids[len(h.ids)-1] > list.floor) {
			older = append(older, i)
			continue
		}
		if len(ids) > 0 && ids[0] > list.floor {
			runs = append(runs, ids)
		}
	}
	more, err := t.older(ctx, authors, older, first, list.floor, before, n)
	if err != nil {
		return nil, err
	}
	return newest(append(runs, more...), list.floor, n), nil
}

// older reads the posts of authors that are not in memory.
func (t *Timelines) older(ctx context.Context, authors []*author, which []int, first map[int64]int64, floor, before int64, n int) ([][]int64, error) {
	if len(which) == 0 {
		return nil, nil
	}
	from := "+inf"
	if before > 0 {
		from = "(" + layout.Itoa(before)
	}
	cmds := make(rueidis.Commands, len(which))
	for j, i := range which {
		id := authors[i].id
		cmds[j] = t.Client.B().Zrevrangebyscore().Key(layout.ProfileKey(id)).Max(from).
			Min(layout.Itoa(max(first[id], floor))).Limit(0, int64(n)).Build()
	}
	var runs [][]int64
	for _, res := range t.Client.DoMulti(ctx, cmds...) {
		members, err := res.AsStrSlice()
		if err != nil && !rediserr.IsWrongType(err) {
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
