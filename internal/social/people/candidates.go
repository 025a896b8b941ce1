package people

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	// readFollows is how many of the viewer's latest follows are read, and maxFollowees of how
	// many of these users the follows are read: half of them the latest, the others picked
	// among the rest.
	readFollows  = 200
	maxFollowees = 20
	// followsOfEach is how many of the latest follows of each of them are read.
	followsOfEach = 50
	// maxRanked is of how many candidates the followers are counted: of those with most
	// followees of the viewer among their followers. maxCompared is how many are compared with all that the viewer
	// follows, where that was not read.
	maxRanked   = MaxSuggestions + spare
	maxCompared = 100
	// maxChosen bounds the active accounts that are kept for a viewer.
	maxChosen = 40
	// recentPosts is of how many posts of the public timeline the authors are candidates
	// where there are few others, as on a new site.
	recentPosts = 50
	// enough is how many candidates need no authors of recent posts.
	enough = MaxSuggestions
)

// candidates are the users that a viewer may want to follow. They never change.
type candidates struct {
	at        time.Time   // when they were found
	as        state       // of the viewer then: it decides who was left out
	followees []int64     // users that the viewer follows, of which the follows were read: the latest first
	ranked    []candidate // by followees
	active    []int64     // the best for this viewer first

	shown atomic.Pointer[shown] // the best of them, as they were described last
}

// shown are suggestions as they were described for a viewer.
type shown struct {
	to   state
	n    int // how many were asked for
	list []Suggestion
}

// state is all that decides how the candidates of a viewer are described.
type state struct {
	people    uint64 // the viewer's changes of mutes and blocks
	standings any
	users     uint64 // the number of changes of users
}

func stateOf(v *social.Viewer, users uint64) state {
	s := state{people: v.PeopleChanged, users: users}
	if v.Standings != nil {
		s.standings = v.Standings.Version()
	}
	return s
}

// shownTo returns the n best of the candidates, if they are described and nothing has changed
// since.
func (c *candidates) shownTo(v *social.Viewer, users uint64, n int) ([]Suggestion, bool) {
	d := c.shown.Load()
	if d == nil || d.n < n || d.to != stateOf(v, users) || v.PeopleChanged == math.MaxUint64 {
		return nil, false
	}
	return d.list[:min(n, len(d.list))], true
}

// without returns the candidates but for some users.
func (c *candidates) without(excluded map[int64]bool) *candidates {
	return &candidates{
		at: c.at, as: c.as, followees: c.followees,
		ranked: slices.DeleteFunc(slices.Clone(c.ranked), func(one candidate) bool { return excluded[one.uid] }),
		active: slices.DeleteFunc(slices.Clone(c.active), func(uid int64) bool { return excluded[uid] }),
	}
}

// candidate is a user that some followees follow.
type candidate struct {
	uid       int64
	by        uint32 // a bit for each of the followees who follow the user
	followers int64
}

// choice is a candidate who is shown.
type choice struct {
	uid int64
	n   int     // how many followees follow the user
	by  []int64 // those of them that are named
}

// shows decides whether a user can be suggested to a viewer, as far as the viewer and the
// standing of the user are concerned.
func shows(v *social.Viewer, uid int64) bool {
	return uid != v.User.ID && v.Lists(uid) && v.Sees(uid) == social.Shown
}

// names decides whether a viewer gets a user as the reason of a suggestion: not a muted one,
// because a mute is about what a user does.
func names(v *social.Viewer, uid int64) bool { return v.Sees(uid) >= social.Unlisted }

// best returns the n best candidates for a viewer, as the viewer is now.
func (c *candidates) best(v *social.Viewer, n int) []choice {
	var trusted uint32
	for i, uid := range c.followees {
		if names(v, uid) {
			trusted |= 1 << i
		}
	}
	ranked := make([]candidate, 0, len(c.ranked))
	for _, one := range c.ranked {
		if one.by &= trusted; one.by != 0 && shows(v, one.uid) {
			ranked = append(ranked, one)
		}
	}
	sortRanked(ranked)
	chosen := make([]choice, 0, n)
	for _, one := range ranked[:min(n, len(ranked))] {
		chosen = append(chosen, choice{uid: one.uid, n: bits.OnesCount32(one.by), by: c.named(one)})
	}
	for _, uid := range c.active {
		if len(chosen) == n {
			break
		}
		if shows(v, uid) {
			chosen = append(chosen, choice{uid: uid})
		}
	}
	return chosen
}

// named returns those followees who follow a user that are named: both of two, and the one
// that the viewer has followed last of more.
func (c *candidates) named(one candidate) []int64 {
	most := 1
	if bits.OnesCount32(one.by) == 2 {
		most = 2
	}
	var by []int64
	for i, uid := range c.followees {
		if one.by&(1<<i) != 0 && len(by) < most {
			by = append(by, uid)
		}
	}
	return by
}

// find finds the candidates of a viewer. Three round trips at most, and for a viewer who follows
// more than 200 people one more, or two where there are few candidates.
func (s *Suggestions) find(ctx context.Context, v *social.Viewer) (*candidates, error) {
	found := &candidates{at: s.opt.Now(), as: stateOf(v, 0)} // before anything is read
	k, err := s.known(ctx, v)
	if err != nil {
		return nil, err
	}
	found.followees = pick(k, v)
	ranked, err := s.followedBy(ctx, found.followees)
	if err != nil {
		return nil, err
	}
	ranked = slices.DeleteFunc(ranked, func(c candidate) bool { return k.excluded[c.uid] || !shows(v, c.uid) })
	mostFollowed(ranked, v.User.ID)
	ranked = ranked[:min(len(ranked), maxCompared)]
	if len(k.follows) >= readFollows {
		k.active = k.active[:min(len(k.active), maxChosen)]
	}
	compared := slices.Clone(k.active)
	for _, c := range ranked {
		compared = append(compared, c.uid)
	}
	if err := s.excludeFollowed(ctx, v, k, compared); err != nil {
		return nil, err
	}
	ranked = slices.DeleteFunc(ranked, func(c candidate) bool { return k.excluded[c.uid] })
	ranked = slices.Clone(ranked[:min(len(ranked), maxRanked)])
	if found.active, err = s.activeFor(ctx, v, k, ranked); err != nil {
		return nil, err
	}
	found.ranked, err = s.withFollowers(ctx, ranked)
	return found, err
}

// known is what the database says of a viewer, and the active accounts.
type known struct {
	follows  []int64 // the latest first, at most readFollows
	active   []int64 // the best for the viewer first
	excluded map[int64]bool
}

// known reads the users that a viewer follows and has dismissed. The server reports changes
// of these keys, so that the candidates are never older.
func (s *Suggestions) known(ctx context.Context, v *social.Viewer) (*known, error) {
	b := s.opt.DB.Client.B()
	cmds := []rueidis.Cacheable{b.Zrange().Key(storage.Active).Min("0").Max(storage.Itoa(maxActive - 1)).Rev().Cache()}
	if uid := v.User.ID; uid != 0 {
		cmds = append(cmds,
			b.Zrange().Key(storage.FollowingKey(uid)).Min("0").Max(storage.Itoa(readFollows-1)).Rev().Cache(),
			b.Zrange().Key(storage.DismissedKey(uid)).Min("0").Max("-1").Cache())
	}
	var lists [3][]int64
	for i, res := range s.opt.DB.ReadMany(ctx, cmds...) {
		var err error
		if lists[i], err = memberIDs(res); err != nil {
			return nil, err
		}
	}
	k := &known{active: varied(lists[0], v.User.ID), follows: lists[1], excluded: map[int64]bool{v.User.ID: true}}
	for _, uid := range slices.Concat(k.follows, lists[2]) {
		k.excluded[uid] = true
	}
	return k, nil
}

// memberIDs reads the ids in a sorted set. One of another type is left to a check.
func memberIDs(res rueidis.RedisResult) ([]int64, error) {
	members, err := reply.OrEmpty(res.AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: suggest people: %w", err)
	}
	ids := make([]int64, 0, len(members))
	for _, member := range members {
		if id, ok := storage.ParseID(member); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// pick returns the followees of a viewer whose follows are read. Those who are not among the
// latest are picked by a hash, so that a new follow replaces one of them at most, and the
// suggestions do not change from page to page.
func pick(k *known, v *social.Viewer) []int64 {
	all := slices.DeleteFunc(slices.Clone(k.follows), func(uid int64) bool { return !names(v, uid) })
	if len(all) <= maxFollowees {
		return all
	}
	rest := all[maxFollowees/2:]
	slices.SortFunc(rest, func(a, b int64) int { return cmp.Compare(mix(v.User.ID, a), mix(v.User.ID, b)) })
	return all[:maxFollowees]
}

// mix returns a number that looks random, always the same for two users.
func mix(viewer, uid int64) uint64 {
	x := uint64(viewer)*0x9e3779b97f4a7c15 ^ uint64(uid)
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // the finalizer of MurmurHash3
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// followedBy returns the users that these followees follow. One round trip.
func (s *Suggestions) followedBy(ctx context.Context, followees []int64) ([]candidate, error) {
	lists, err := reads.Many(ctx, s.opt.DB.Client, followees, func(uid int64) rueidis.Completed {
		return s.opt.DB.Client.B().Zrange().Key(storage.FollowingKey(uid)).Min("0").Max(storage.Itoa(followsOfEach - 1)).Rev().Build()
	}, memberIDs)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]uint32)
	for i, ids := range lists {
		for _, uid := range ids {
			by[uid] |= 1 << i
		}
	}
	all := make([]candidate, 0, len(by))
	for uid, mask := range by {
		all = append(all, candidate{uid: uid, by: mask})
	}
	return all, nil
}

// mostFollowed puts candidates in order: those first that most followees follow. Which come
// first among equals depends on the viewer, so that not all see the same few.
func mostFollowed(all []candidate, viewer int64) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(bits.OnesCount32(b.by)-bits.OnesCount32(a.by), cmp.Compare(mix(viewer, a.uid), mix(viewer, b.uid)))
	})
}

// activeFor returns active accounts that are not among the ranked candidates.
func (s *Suggestions) activeFor(ctx context.Context, v *social.Viewer, k *known, ranked []candidate) ([]int64, error) {
	taken := make(map[int64]bool, len(ranked))
	for _, c := range ranked {
		taken[c.uid] = true
	}
	var active []int64
	add := func(uid int64) {
		if !taken[uid] && !k.excluded[uid] && shows(v, uid) && len(active) < maxChosen {
			taken[uid] = true
			active = append(active, uid)
		}
	}
	for _, uid := range k.active {
		add(uid)
	}
	if len(ranked)+len(active) >= enough {
		return active, nil
	}
	ctx = social.WithoutFresh(ctx) // the viewer's own posts, which are read again, do not matter
	page, err := s.opt.Timelines.Everybody(ctx, 0, recentPosts)
	if err != nil {
		return nil, err
	}
	posts, err := s.opt.Views.Get(ctx, page.IDs...)
	if err != nil {
		return nil, err
	}
	var authors []int64
	for _, post := range posts {
		if post != nil && social.Visible(v, post.Post) == social.Shown {
			authors = append(authors, post.Author.ID)
		}
	}
	if err := s.excludeFollowed(ctx, v, k, authors); err != nil {
		return nil, err
	}
	for _, uid := range authors {
		add(uid)
	}
	return active, nil
}

// varied returns active accounts in an order that depends on the viewer: each gets up to
// twice the place that it has, so that not all newcomers follow the same five.
func varied(active []int64, viewer int64) []int64 {
	type placed struct {
		uid   int64
		place float64
	}
	all := make([]placed, len(active))
	for i, uid := range active {
		all[i] = placed{uid, float64(i+1) * (1 + float64(mix(viewer, uid)>>40)/(1<<24))}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	ids := make([]int64, len(all))
	for i, p := range all {
		ids[i] = p.uid
	}
	return ids
}

// excludeFollowed adds to what is known which users the viewer has followed too long ago for
// known to have read it. One round trip, none for a viewer who follows few.
func (s *Suggestions) excludeFollowed(ctx context.Context, v *social.Viewer, k *known, ids []int64) error {
	if len(k.follows) < readFollows || len(ids) == 0 {
		return nil
	}
	members := make([]string, len(ids))
	for i, uid := range ids {
		members[i] = storage.Itoa(uid)
	}
	scores, err := s.opt.DB.Client.Do(ctx, s.opt.DB.Client.B().Zmscore().Key(storage.FollowingKey(v.User.ID)).Member(members...).Build()).ToArray()
	if err != nil {
		return fmt.Errorf("social: suggest people: %w", err)
	}
	for i, score := range scores {
		if !score.IsNil() {
			k.excluded[ids[i]] = true
		}
	}
	return nil
}

// withFollowers counts the followers of candidates, and puts them in order. One round trip.
func (s *Suggestions) withFollowers(ctx context.Context, ranked []candidate) ([]candidate, error) {
	counts, err := reads.Counts(ctx, s.opt.DB.Client, ranked, func(c candidate) string { return storage.FollowersKey(c.uid) })
	if err != nil {
		return nil, fmt.Errorf("social: suggest people: %w", err)
	}
	for i, n := range counts {
		ranked[i].followers = n
	}
	sortRanked(ranked)
	return ranked, nil
}

// sortRanked puts candidates in order: those first that most followees follow, then those
// with most followers.
func sortRanked(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(bits.OnesCount32(b.by)-bits.OnesCount32(a.by), cmp.Compare(b.followers, a.followers), cmp.Compare(a.uid, b.uid))
	})
}
