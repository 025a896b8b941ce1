package people

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"

	"retwis/internal/watched"
)

// Suggestions suggests people to follow. It is safe for concurrent use.
type Suggestions struct {
	opt timeline.Parts
	// lists has the candidates of viewers, until these have followed or dismissed somebody. For
	// what others do, they are up to a minute old.
	lists *watched.Map[*candidates]
	users atomic.Uint64 // the number of changes of users
}

// cachedViewers bounds the viewers whose candidates are kept in memory, about 2 KB each.
const cachedViewers = 10_000

// NewSuggestions returns the suggestions of a database.
func NewSuggestions(opt timeline.Parts) (*Suggestions, error) {
	s := &Suggestions{opt: opt}
	opt.DB.Link.On(storage.UserPrefix, func(int64) { s.users.Add(1) })
	var err error
	s.lists, err = storage.NewMap(opt.DB, watched.Options[*candidates]{
		Keys: []string{storage.FollowingPrefix, storage.DismissedPrefix}, Most: cachedViewers,
	})
	return s, err
}

// MaxSuggestions is how many suggestions Get returns at most.
const MaxSuggestions = 30

// Suggestion is a user to follow, and why.
type Suggestion struct {
	User social.User
	// FollowedBy is how many people the viewer follows who follow the user, or more: of a
	// viewer who follows many, some are looked at. 0: the user is suggested as active.
	FollowedBy int
	By         []social.User // both of two of them, the one followed last of more
	Bio        string        // of a user who is suggested as active
}

// Get returns up to n users for a viewer to follow: those first that most of the viewer's
// followees follow, then active accounts. A stranger gets only these. It is answered from
// memory for a viewer who was here in the last minute, if the viewer has not followed,
// dismissed, muted or blocked anybody since, nor a moderator changed a standing; else it takes
// four round trips, and one more for a viewer who follows more than 200 people.
func (s *Suggestions) Get(ctx context.Context, v *social.Viewer, n int) ([]Suggestion, error) {
	found, err := s.candidates(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.described(ctx, v, found, n)
}

// InMemory is Get where that asks no server; ok is false elsewhere.
func (s *Suggestions) InMemory(ctx context.Context, v *social.Viewer, n int) (list []Suggestion, ok bool) {
	found, ok := s.lists.Peek(v.User.ID)
	if !ok || social.IsFresh(ctx) || found.as != stateOf(v, 0) {
		return nil, false
	}
	return found.shownTo(v, s.users.Load(), n)
}

// Beside is Get for what is beside a page: where a change by the viewer has just to be seen, it
// reads the follows and dismissals of the viewer, and not all else again. Then it takes one
// round trip for a viewer who was here in the last minute.
func (s *Suggestions) Beside(ctx context.Context, v *social.Viewer, n int) ([]Suggestion, error) {
	found := s.lists.Latest(v.User.ID)
	if found == nil || !social.IsFresh(ctx) || found.as != stateOf(v, 0) || s.opt.Now().Sub(found.at) >= watched.MaxAge {
		return s.Get(ctx, v, n)
	}
	k, err := s.known(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.described(social.WithoutFresh(ctx), v, found.without(k.excluded), n)
}

// described returns the n best of the candidates. No round trip where that was asked for before
// and nothing has changed, else one at most.
func (s *Suggestions) described(ctx context.Context, v *social.Viewer, found *candidates, n int) ([]Suggestion, error) {
	n = max(1, min(n, MaxSuggestions))
	changes := s.users.Load() // before the users are read
	if list, ok := found.shownTo(v, changes, n); ok && !social.IsFresh(ctx) {
		return list, nil
	}
	list, err := s.describe(ctx, found.best(v, n+spare))
	list = list[:min(n, len(list))]
	if err == nil {
		found.shown.Store(&shown{to: stateOf(v, changes), n: n, list: list})
	}
	return list, err
}

// spare is how many more candidates are read than are shown, for those who have gone.
const spare = 3

// candidates returns the candidates of a viewer.
func (s *Suggestions) candidates(ctx context.Context, v *social.Viewer) (*candidates, error) {
	return s.lists.Get(ctx, v.User.ID, watched.Ask[*candidates]{
		Valid: func(_ int64, found *candidates) bool { return found.as == stateOf(v, 0) },
		Load: watched.Each(func(ctx context.Context, _ *watched.Read[*candidates]) (*candidates, error) {
			return s.find(ctx, v)
		}),
	})
}

// describe reads the users of these candidates, and those who follow them. Users who have
// gone are left out. One round trip at most.
func (s *Suggestions) describe(ctx context.Context, chosen []choice) ([]Suggestion, error) {
	var ids []int64
	asked := map[int64]bool{}
	for _, c := range chosen {
		for _, id := range append([]int64{c.uid}, c.by...) {
			if !asked[id] {
				asked[id] = true
				ids = append(ids, id)
			}
		}
	}
	cmds := make([]rueidis.Cacheable, 0, len(ids)+len(chosen))
	for _, id := range ids {
		cmds = append(cmds, s.opt.Users.RecordCommand(id))
	}
	for _, c := range chosen {
		if c.n == 0 {
			cmds = append(cmds, s.opt.DB.Client.B().Hget().Key(storage.UserKey(c.uid)).Field("bio").Cache())
		}
	}
	if len(cmds) == 0 {
		return nil, nil
	}
	res := s.opt.DB.ReadMany(ctx, cmds...)
	found, err := storage.ParseRecords(ids, res[:len(ids)])
	if err != nil {
		return nil, err
	}
	return suggestionsOf(chosen, found, res[len(ids):])
}

// suggestionsOf puts suggestions together from the users and the bios that were read.
func suggestionsOf(chosen []choice, found map[int64]social.User, bios []rueidis.RedisResult) ([]Suggestion, error) {
	list := make([]Suggestion, 0, len(chosen))
	for _, c := range chosen {
		one := Suggestion{User: found[c.uid], FollowedBy: c.n}
		for _, id := range c.by {
			if by, ok := found[id]; ok {
				one.By = append(one.By, by)
			}
		}
		if c.n == 0 {
			var err error
			if one.Bio, err = reply.TextOrEmpty(bios[0]); err != nil {
				return nil, fmt.Errorf("social: read a bio: %w", err)
			}
			bios = bios[1:]
		}
		if one.User.ID != 0 {
			list = append(list, one)
		}
	}
	return list, nil
}
