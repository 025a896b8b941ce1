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
	// readFollows is how many of the viewer's latest follows are read.
	readFollows = 200
	// maxFollowees is the number of followees of the viewer whose own follows are read: half of
	// these followees are the latest, the others are picked by a hash.
	maxFollowees = 20
	// followsOfEach is how many latest follows of a followee are read.
	followsOfEach = 50
	// maxRanked is the number of candidates whose followers are counted: the candidates whom the
	// most followees of the viewer follow.
	maxRanked = MaxSuggestions + spare
	// maxCompared is how many candidates are compared with all follows of the viewer, if not all of
	// the follows were read.
	maxCompared = 100
	// maxChosen limits the active accounts kept for a viewer.
	maxChosen = 40
	// recentPosts is how many posts of the public timeline provide their authors as candidates if
	// there are few other candidates, as on a new site.
	recentPosts = 50
	// enoughCandidates is the number of candidates that makes authors of recent posts unnecessary.
	enoughCandidates = MaxSuggestions
)

// candidates are the users that a viewer may want to follow. They are immutable, except the field
// shown.
type candidates struct {
	at          time.Time   // when they were found
	viewerState state       // the viewer's state at that time, which determines who was left out
	followees   []int64     // users that the viewer follows and whose follows were read, latest first
	ranked      []candidate // by number of followees
	active      []int64     // best for this viewer first

	shown atomic.Pointer[shown] // the best candidates, as described last
}

// shown are suggestions as described for a viewer.
type shown struct {
	to   state
	n    int // how many were requested
	list []Suggestion
}

// state is everything that determines how the candidates of a viewer are described.
type state struct {
	people    uint64 // counts the viewer's changes of mutes and blocks
	standings any
	users     uint64 // counts changes of users
}

func stateOf(v *social.Viewer, users uint64) state {
	s := state{people: v.PeopleChanged, users: users}
	if v.Standings != nil {
		s.standings = v.Standings.Version()
	}
	return s
}

// shownTo returns the n best candidates, if they have been described and the state has not changed
// since.
func (c *candidates) shownTo(v *social.Viewer, users uint64, n int) ([]Suggestion, bool) {
	d := c.shown.Load()
	if d == nil || d.n < n || d.to != stateOf(v, users) || v.PeopleChanged == math.MaxUint64 {
		return nil, false
	}
	return d.list[:min(n, len(d.list))], true
}

// without returns the candidates except the excluded users.
func (c *candidates) without(excluded map[int64]bool) *candidates {
	return &candidates{
		at: c.at, viewerState: c.viewerState, followees: c.followees,
		ranked: slices.DeleteFunc(slices.Clone(c.ranked), func(r candidate) bool { return excluded[r.uid] }),
		active: slices.DeleteFunc(slices.Clone(c.active), func(uid int64) bool { return excluded[uid] }),
	}
}

// candidate is a user whom some followees follow.
type candidate struct {
	uid       int64
	by        uint32 // one bit for each followee who follows the user
	followers int64
}

// choice is a candidate to show.
type choice struct {
	uid int64
	n   int     // how many followees follow the user
	by  []int64 // the followees who are named
}

// mayShow reports whether the viewer and the standing of the user allow suggesting the user to the
// viewer.
func mayShow(v *social.Viewer, uid int64) bool {
	return uid != v.User.ID && v.Lists(uid) && v.Sees(uid) == social.Shown
}

// mayName reports whether a viewer may see a user as the reason for a suggestion. Muted users are
// excluded, because a mute concerns what a user does.
func mayName(v *social.Viewer, uid int64) bool { return v.Sees(uid) >= social.Unlisted }

// best returns the n best candidates for a viewer, given the viewer's current state.
func (c *candidates) best(v *social.Viewer, n int) []choice {
	var trusted uint32
	for i, uid := range c.followees {
		if mayName(v, uid) {
			trusted |= 1 << i
		}
	}
	ranked := make([]candidate, 0, len(c.ranked))
	for _, r := range c.ranked {
		if r.by &= trusted; r.by != 0 && mayShow(v, r.uid) {
			ranked = append(ranked, r)
		}
	}
	sortRanked(ranked)
	chosen := make([]choice, 0, n)
	for _, r := range ranked[:min(n, len(ranked))] {
		chosen = append(chosen, choice{uid: r.uid, n: bits.OnesCount32(r.by), by: c.named(r)})
	}
	for _, uid := range c.active {
		if len(chosen) == n {
			break
		}
		if mayShow(v, uid) {
			chosen = append(chosen, choice{uid: uid})
		}
	}
	return chosen
}

// named returns the followees to name as followers of a candidate: both if there are two, otherwise
// the followee whom the viewer followed last.
func (c *candidates) named(user candidate) []int64 {
	limit := 1
	if bits.OnesCount32(user.by) == 2 {
		limit = 2
	}
	var by []int64
	for i, uid := range c.followees {
		if user.by&(1<<i) != 0 && len(by) < limit {
			by = append(by, uid)
		}
	}
	return by
}

// find finds the candidates of a viewer. At most three round trips; for a viewer who follows more
// than 200 people one more, or two if there are few candidates.
func (s *Suggestions) find(ctx context.Context, v *social.Viewer) (*candidates, error) {
	found := &candidates{at: s.opt.Now(), viewerState: stateOf(v, 0)} // the time and the state before the first read
	k, err := s.readViewer(ctx, v)
	if err != nil {
		return nil, err
	}
	found.followees = pick(k, v)
	ranked, err := s.followedBy(ctx, found.followees)
	if err != nil {
		return nil, err
	}
	ranked = slices.DeleteFunc(ranked, func(c candidate) bool { return k.excluded[c.uid] || !mayShow(v, c.uid) })
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

// viewerData holds the stored data of a viewer, and the active accounts.
type viewerData struct {
	follows  []int64 // latest first, at most readFollows
	active   []int64 // best for the viewer first
	excluded map[int64]bool
}

// readViewer reads the users that a viewer follows and has dismissed, and the active accounts. The
// server reports changes of these keys, so cached candidates become stale with them.
func (s *Suggestions) readViewer(ctx context.Context, v *social.Viewer) (*viewerData, error) {
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
	k := &viewerData{active: shuffled(lists[0], v.User.ID), follows: lists[1], excluded: map[int64]bool{v.User.ID: true}}
	for _, uid := range slices.Concat(k.follows, lists[2]) {
		k.excluded[uid] = true
	}
	return k, nil
}

// memberIDs reads the IDs in a sorted set. A key of the wrong type has none; a check reports such a
// key.
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

// pick returns the followees whose follows are read. Followees who are not among the latest are
// picked by a hash, so that a new follow replaces at most one of the picked followees, and the
// suggestions do not change from page to page.
func pick(k *viewerData, v *social.Viewer) []int64 {
	all := slices.DeleteFunc(slices.Clone(k.follows), func(uid int64) bool { return !mayName(v, uid) })
	if len(all) <= maxFollowees {
		return all
	}
	older := all[maxFollowees/2:]
	slices.SortFunc(older, func(a, b int64) int { return cmp.Compare(pairHash(v.User.ID, a), pairHash(v.User.ID, b)) })
	return all[:maxFollowees]
}

// pairHash returns a number that looks random but is always the same for two users.
func pairHash(viewer, uid int64) uint64 {
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

// mostFollowed sorts candidates by how many followees follow them. The order of ties depends on the
// viewer, so that viewers do not all see the same few candidates.
func mostFollowed(all []candidate, viewer int64) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(bits.OnesCount32(b.by)-bits.OnesCount32(a.by), cmp.Compare(pairHash(viewer, a.uid), pairHash(viewer, b.uid)))
	})
}

// activeFor returns active accounts that are not among the ranked candidates, and authors of recent
// posts if there are few candidates.
func (s *Suggestions) activeFor(ctx context.Context, v *social.Viewer, k *viewerData, ranked []candidate) ([]int64, error) {
	seen := make(map[int64]bool, len(ranked))
	for _, c := range ranked {
		seen[c.uid] = true
	}
	var active []int64
	add := func(uid int64) {
		if !seen[uid] && !k.excluded[uid] && mayShow(v, uid) && len(active) < maxChosen {
			seen[uid] = true
			active = append(active, uid)
		}
	}
	for _, uid := range k.active {
		add(uid)
	}
	if len(ranked)+len(active) >= enoughCandidates {
		return active, nil
	}
	ctx = social.WithoutFresh(ctx) // a fresh read is unnecessary: it would only reread the viewer's own posts
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

// shuffled shuffles active accounts depending on the viewer: each moves to at most twice its place,
// so that new users do not all follow the same five accounts.
func shuffled(active []int64, viewer int64) []int64 {
	type placed struct {
		uid   int64
		place float64
	}
	all := make([]placed, len(active))
	for i, uid := range active {
		all[i] = placed{uid, float64(i+1) * (1 + float64(pairHash(viewer, uid)>>40)/(1<<24))}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	ids := make([]int64, len(all))
	for i, p := range all {
		ids[i] = p.uid
	}
	return ids
}

// excludeFollowed excludes in k the given users whom the viewer follows, but not recently enough to
// be in k.follows. One round trip; none for a viewer who follows few people.
func (s *Suggestions) excludeFollowed(ctx context.Context, v *social.Viewer, k *viewerData, ids []int64) error {
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

// withFollowers counts the followers of candidates, and sorts them. One round trip.
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

// sortRanked sorts candidates by how many followees follow them, then by number of followers.
func sortRanked(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(bits.OnesCount32(b.by)-bits.OnesCount32(a.by), cmp.Compare(b.followers, a.followers), cmp.Compare(a.uid, b.uid))
	})
}
