package timeline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/watched"
)

const (
	// newestMarks is the number of marks of each kind that are kept in memory. The marks of older
	// posts are read.
	newestMarks = 500
	// maxRelations is the maximum number of people a user can mute, or block.
	maxRelations = storage.MaxRelations
	// maxBlockers limits the number of a user's blockers that are honored.
	maxBlockers = 100_000
	// newestFollows is the number of a viewer's latest follows that are kept in memory.
	newestFollows = 5000
	// maxTags is the maximum number of tags that a user can follow.
	maxTags = 500
	// clockSkew is the maximum clock difference between two processes.
	clockSkew = 60
)

// Viewers caches recent viewers.
type Viewers struct {
	db        storage.Database
	standings *Standings
	clock     func() time.Time
	viewers   *watched.Map[*social.Viewer]
	people    [4096]atomic.Uint64 // counts changes of mutes and blocks, by viewer ID
}

// CachedViewers limits the number of viewers kept in memory, at most about 15 KB each.
const CachedViewers = 10_000

// NewViewers returns the Viewers of a database; clock returns the time.
func NewViewers(db storage.Database, standings *Standings, clock func() time.Time) (*Viewers, error) {
	s := &Viewers{db: db, standings: standings, clock: clock}
	for _, prefix := range viewerPrefixes[:peoplePrefixes] { // before NewMap, so that a viewer with the new count is not outdated
		db.Link.On(prefix, func(uid int64) { s.peopleChanges(uid).Add(1) })
	}
	var err error
	s.viewers, err = storage.NewMap(db, watched.Options[*social.Viewer]{
		Keys: append(viewerPrefixes[:], storage.ListsPrefix, storage.FollowingPrefix, storage.FollowingTagsPrefix),
		Most: CachedViewers,
	})
	return s, err
}

// peopleChanges returns the counter for changes of a viewer's mutes and blocks.
func (s *Viewers) peopleChanges(uid int64) *atomic.Uint64 {
	return &s.people[uint64(uid)%uint64(len(s.people))]
}

// Actor returns a user as a viewer, for an action. The mutes and blocks are current, but the marks
// may be outdated, because an action changes a mark itself. No round trip for a recent viewer.
func (s *Viewers) Actor(ctx context.Context, user social.User) (*social.Viewer, error) {
	v, ok := s.viewers.Stale(user.ID)
	if ok && !social.IsFresh(ctx) && v.PeopleChanged == s.peopleChanges(user.ID).Load() && s.clock().Unix() < v.Ends {
		return v, nil
	}
	return s.Get(ctx, user)
}

// peoplePrefixes is the number of viewerPrefixes that concern people rather than marks.
const peoplePrefixes = 3

// viewerPrefixes are the keys that make up a viewer besides leftOutCommand, in the order in which
// they are read.
var viewerPrefixes = [...]string{
	storage.MutedPrefix, storage.BlockedPrefix, storage.BlockersPrefix,
	storage.LikedPrefix, storage.RepostedPrefix, storage.BookmarksPrefix,
}

// followCommands returns the commands that read the people and the tags that a user follows, latest
// first: up to limit+1 people, and all tags.
func followCommands(client rueidis.Client, uid int64, limit int) [2]rueidis.Cacheable {
	return [2]rueidis.Cacheable{
		client.B().Zrange().Key(storage.FollowingKey(uid)).Min("0").Max(storage.Itoa(int64(limit))).Rev().Cache(),
		client.B().Zrange().Key(storage.FollowingTagsKey(uid)).Min("0").Max(storage.Itoa(maxTags - 1)).Rev().Cache(),
	}
}

// parseFollows parses the replies to followCommands. A key of the wrong type counts as empty; a
// check reports the key.
func parseFollows(v *social.Viewer, people, tags rueidis.RedisResult, limit int) error {
	ids, err := reply.OrEmpty(people.AsStrSlice())
	if err != nil {
		return fmt.Errorf("social: read who a viewer follows: %w", err)
	}
	if v.Tags, err = reply.OrEmpty(tags.AsStrSlice()); err != nil {
		return fmt.Errorf("social: read which tags a viewer follows: %w", err)
	}
	v.FollowsMore = len(ids) > limit
	ids = ids[:min(len(ids), limit)]
	v.Following = make(social.UserSet, 0, len(ids))
	for _, text := range ids {
		if id, ok := storage.ParseID(text); ok {
			v.Following = append(v.Following, id)
		}
	}
	slices.Sort(v.Following)
	slices.Sort(v.Tags)
	return nil
}

// Get returns a user as a viewer. No round trip for a recent viewer, otherwise one.
func (s *Viewers) Get(ctx context.Context, user social.User) (*social.Viewer, error) {
	if err := s.standings.load(ctx); err != nil {
		return nil, err
	}
	if social.IsFresh(ctx) && user.Role >= social.Moderator { // a moderator may have decided something in another process
		if err := s.standings.Reload(ctx); err != nil {
			return nil, err
		}
	}
	if user.ID == 0 {
		return &social.Viewer{Standings: s.standings}, nil
	}
	now := s.clock().Unix()
	return s.viewers.Get(ctx, user.ID, watched.Ask[*social.Viewer]{
		Valid: func(_ int64, v *social.Viewer) bool { return v.User == user && now < v.Ends },
		Load: watched.Each(func(ctx context.Context, _ *watched.Read[*social.Viewer]) (*social.Viewer, error) {
			return s.readViewer(ctx, user, now)
		}),
	})
}

// readViewer reads a user as a viewer.
func (s *Viewers) readViewer(ctx context.Context, user social.User, now int64) (*social.Viewer, error) {
	v := &social.Viewer{User: user, Standings: s.standings, Ends: math.MaxInt64, PeopleChanged: s.peopleChanges(user.ID).Load()}
	if social.IsFresh(ctx) {
		v.PeopleChanged = math.MaxUint64 // changes of this viewer are not reported
	}
	b := s.db.Client.B()
	cmds := make([]rueidis.Cacheable, len(viewerPrefixes))
	for i, prefix := range viewerPrefixes {
		n := int64(newestMarks)
		switch prefix {
		case storage.MutedPrefix, storage.BlockedPrefix:
			n = maxRelations
		case storage.BlockersPrefix:
			n = maxBlockers
		}
		cmds[i] = b.Zrange().Key(storage.Key(prefix, user.ID)).Min("0").Max(storage.Itoa(n - 1)).Rev().Withscores().Cache()
	}
	follows := followCommands(s.db.Client, user.ID, newestFollows)
	res := s.db.ReadMany(ctx, append(cmds, leftOutCommand(s.db.Client, user.ID), follows[0], follows[1])...)
	for i, set := range []*social.UserSet{&v.Muted, &v.Blocked, &v.Blockers} {
		var err error
		var ends int64
		if *set, ends, err = parsePeople(res[i], now); err != nil {
			return nil, err
		}
		v.Ends = min(v.Ends, ends)
	}
	for i, set := range []*social.PostMarks{&v.Liked, &v.Reposted, &v.Saved} {
		var err error
		if *set, err = parseMarks(res[peoplePrefixes+i]); err != nil {
			return nil, err
		}
	}
	var err error
	if v.LeftOut, err = parseLeftOut(res[len(viewerPrefixes)]); err != nil {
		return nil, err
	}
	return v, parseFollows(v, res[len(viewerPrefixes)+1], res[len(viewerPrefixes)+2], newestFollows)
}

// GetNow returns a user as a viewer without marks, bypassing all caches, for a client that is
// notified of each change. The viewer is valid until the returned time, in Unix seconds, and has
// the latest follows, up to maxFollows. The commands more are sent in the same round trip; res are
// their replies.
func (s *Viewers) GetNow(ctx context.Context, client rueidis.Client, user social.User, maxFollows int, more ...rueidis.Completed) (v *social.Viewer, until int64, res []rueidis.RedisResult, err error) {
	if err := s.standings.load(ctx); err != nil {
		return nil, 0, nil, err
	}
	v = &social.Viewer{User: user, Standings: s.standings, Ends: math.MaxInt64}
	sets := []*social.UserSet{&v.Muted, &v.Blocked, &v.Blockers}
	cmds := make(rueidis.Commands, 0, len(sets)+3+len(more))
	for i, bound := range []int64{maxRelations, maxRelations, maxBlockers} {
		cmds = append(cmds, client.B().Zrange().Key(storage.Key(viewerPrefixes[i], user.ID)).
			Min("0").Max(storage.Itoa(bound-1)).Rev().Withscores().Build())
	}
	follows := followCommands(client, user.ID, maxFollows)
	cmds = append(cmds, rueidis.Completed(leftOutCommand(client, user.ID)), rueidis.Completed(follows[0]), rueidis.Completed(follows[1]))
	now := s.clock().Unix()
	res = client.DoMulti(ctx, append(cmds, more...)...)
	for i, set := range sets {
		var ends int64
		if *set, ends, err = parsePeople(res[i], now); err != nil {
			return nil, 0, nil, err
		}
		v.Ends = min(v.Ends, ends)
	}
	if v.LeftOut, err = parseLeftOut(res[len(sets)]); err != nil {
		return nil, 0, nil, err
	}
	if err := parseFollows(v, res[len(sets)+1], res[len(sets)+2], maxFollows); err != nil {
		return nil, 0, nil, err
	}
	return v, v.Ends, res[len(sets)+3:], nil
}

// parsePeople parses a set of users scored by an end. It returns the users whose end has not
// passed, and the earliest of these ends.
func parsePeople(res rueidis.RedisResult, now int64) (set social.UserSet, ends int64, err error) {
	scores, err := res.AsZScores()
	if err != nil {
		return nil, 0, fmt.Errorf("social: read a viewer: %w", err)
	}
	set, ends = make(social.UserSet, 0, len(scores)), math.MaxInt64
	for _, s := range scores {
		id, ok := storage.ParseID(s.Member)
		if !ok || s.Score <= float64(now) {
			continue
		}
		set = append(set, id)
		if s.Score < math.MaxInt64 {
			ends = min(ends, int64(s.Score))
		}
	}
	slices.Sort(set)
	return set, ends, nil
}

// leftOutCommand returns the command that reads the people whom a user leaves out of the home
// timeline. people.Lists writes this field.
func leftOutCommand(client rueidis.Client, uid int64) rueidis.Cacheable {
	return client.B().Hget().Key(storage.ListsKey(uid)).Field("left_out").Cache()
}

// parseLeftOut parses a list of IDs. An unreadable list counts as empty; a check reports the key.
func parseLeftOut(res rueidis.RedisResult) (social.UserSet, error) {
	text, err := reply.TextOrEmpty(res)
	if err != nil {
		return nil, fmt.Errorf("social: read a viewer: %w", err)
	}
	var set social.UserSet
	if text == "" || json.Unmarshal([]byte(text), &set) != nil {
		return nil, nil
	}
	slices.Sort(set)
	return set, nil
}

// parseMarks parses the newest marks of a kind.
func parseMarks(res rueidis.RedisResult) (social.PostMarks, error) {
	scores, err := reply.OrEmpty(res.AsZScores())
	if err != nil {
		return social.PostMarks{}, fmt.Errorf("social: read a viewer: %w", err)
	}
	m := social.PostMarks{Posts: make([]int64, 0, len(scores))}
	for _, s := range scores {
		if id, ok := storage.ParseID(s.Member); ok {
			m.Posts = append(m.Posts, id)
		}
	}
	if len(scores) == newestMarks {
		m.Since = int64(scores[len(scores)-1].Score) + clockSkew
	}
	slices.Sort(m.Posts)
	return m, nil
}

// Marks returns the viewer's marks of each post. No round trip, except one if there are posts older
// than the viewer's newest 500 marks.
func (s *Viewers) Marks(ctx context.Context, v *social.Viewer, posts []*social.Post) ([]social.Marks, error) {
	all := make([]social.Marks, len(posts))
	if v.User.ID == 0 {
		return all, nil
	}
	var uncertain [3][]int
	for k, set := range [...]*social.PostMarks{&v.Liked, &v.Reposted, &v.Saved} {
		if len(set.Posts) == 0 {
			continue
		}
		for i, p := range posts {
			marked, certain := set.Has(p)
			if marked {
				all[i] |= 1 << k
			} else if !certain {
				uncertain[k] = append(uncertain[k], i)
			}
		}
	}
	return all, s.oldMarks(ctx, v, posts, uncertain, all)
}

// oldMarks reads the marks that are not in memory. uncertain has the indexes of the posts for each
// kind of mark.
func (s *Viewers) oldMarks(ctx context.Context, v *social.Viewer, posts []*social.Post, uncertain [3][]int, all []social.Marks) error {
	var cmds rueidis.Commands
	var kinds []int
	for k, indexes := range uncertain {
		if len(indexes) == 0 {
			continue
		}
		members := make([]string, len(indexes))
		for i, index := range indexes {
			members[i] = storage.Itoa(posts[index].ID)
		}
		cmds = append(cmds, s.db.Client.B().Zmscore().Key(storage.Key(viewerPrefixes[peoplePrefixes+k], v.User.ID)).Member(members...).Build())
		kinds = append(kinds, k)
	}
	if len(cmds) == 0 {
		return nil
	}
	for i, res := range s.db.Client.DoMulti(ctx, cmds...) {
		scores, err := res.ToArray()
		if err != nil {
			return fmt.Errorf("social: read the marks of a viewer: %w", err)
		}
		for j, score := range scores {
			if !score.IsNil() {
				all[uncertain[kinds[i]][j]] |= 1 << kinds[i]
			}
		}
	}
	return nil
}

// Changed records that this process has changed the people whom a viewer leaves out of the home
// timeline.
func (s *Viewers) Changed(uid int64) { s.viewers.Force(uid) }
