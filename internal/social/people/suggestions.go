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
	// lists caches the candidates of viewers, until a viewer follows or dismisses somebody. Changes
	// by other users show within a minute.
	lists *watched.Map[*candidates]
	users atomic.Uint64 // counts changes of users
}

// cachedViewers limits the number of viewers whose candidates are kept in memory, about 2 KB each.
const cachedViewers = 10_000

// NewSuggestions returns the Suggestions of a database.
func NewSuggestions(opt timeline.Parts) (*Suggestions, error) {
	s := &Suggestions{opt: opt}
	opt.DB.Link.On(storage.UserPrefix, func(int64) { s.users.Add(1) })
	var err error
	s.lists, err = storage.NewMap(opt.DB, watched.Options[*candidates]{
		Keys: []string{storage.FollowingPrefix, storage.DismissedPrefix}, Most: cachedViewers,
	})
	return s, err
}

// MaxSuggestions is the maximum number of suggestions that Get returns.
const MaxSuggestions = 30

// Suggestion is a user to follow, with the reason.
type Suggestion struct {
	User social.User
	// FollowedBy is the minimum number of the viewer's followees who follow the user: if the viewer
	// follows many people, only some are examined. 0 means that the user is suggested as an active
	// account.
	FollowedBy int
	// By has these followees: both if there are two, otherwise only the followee whom the viewer
	// followed last.
	By  []social.User
	Bio string // only if the user is suggested as an active account
}

// Get returns up to n users for a viewer to follow: first the users whom the most followees of the
// viewer follow, then active accounts. A visitor who is not logged in gets only active accounts.
// Get answers from memory if the viewer was here within the last minute and has not followed,
// dismissed, muted or blocked anybody since, and no moderator has changed a standing. Otherwise it
// takes four round trips, and one more for a viewer who follows more than 200 people.
func (s *Suggestions) Get(ctx context.Context, v *social.Viewer, n int) ([]Suggestion, error) {
	found, err := s.candidates(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.described(ctx, v, found, n)
}

// InMemory is Get without a round trip; ok is false if the suggestions are not in memory.
func (s *Suggestions) InMemory(ctx context.Context, v *social.Viewer, n int) (list []Suggestion, ok bool) {
	found, ok := s.lists.Peek(v.User.ID)
	if !ok || social.IsFresh(ctx) || found.viewerState != stateOf(v, 0) {
		return nil, false
	}
	return found.shownTo(v, s.users.Load(), n)
}

// Beside is Get for the sidebar of a page. If the page must show a change by the viewer, and the
// viewer was here within the last minute, Beside rereads only the follows and dismissals of the
// viewer, in one round trip.
func (s *Suggestions) Beside(ctx context.Context, v *social.Viewer, n int) ([]Suggestion, error) {
	found := s.lists.Latest(v.User.ID)
	if found == nil || !social.IsFresh(ctx) || found.viewerState != stateOf(v, 0) || s.opt.Now().Sub(found.at) >= watched.MaxAge {
		return s.Get(ctx, v, n)
	}
	k, err := s.readViewer(ctx, v)
	if err != nil {
		return nil, err
	}
	return s.described(social.WithoutFresh(ctx), v, found.without(k.excluded), n)
}

// described returns the n best candidates with their descriptions. No round trip if the
// descriptions are in memory and nothing has changed, otherwise at most one.
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

// spare is how many extra candidates are read to make up for candidates who are gone.
const spare = 3

// candidates returns the candidates of a viewer.
func (s *Suggestions) candidates(ctx context.Context, v *social.Viewer) (*candidates, error) {
	return s.lists.Get(ctx, v.User.ID, watched.Ask[*candidates]{
		Valid: func(_ int64, found *candidates) bool { return found.viewerState == stateOf(v, 0) },
		Load: watched.Each(func(ctx context.Context, _ *watched.Read[*candidates]) (*candidates, error) {
			return s.find(ctx, v)
		}),
	})
}

// describe reads the users of these candidates, and the followees who follow them. It omits users
// who are gone. At most one round trip.
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

// suggestionsOf builds suggestions from the users and the bios that were read.
func suggestionsOf(chosen []choice, found map[int64]social.User, bios []rueidis.RedisResult) ([]Suggestion, error) {
	list := make([]Suggestion, 0, len(chosen))
	for _, c := range chosen {
		suggestion := Suggestion{User: found[c.uid], FollowedBy: c.n}
		for _, id := range c.by {
			if by, ok := found[id]; ok {
				suggestion.By = append(suggestion.By, by)
			}
		}
		if c.n == 0 {
			var err error
			if suggestion.Bio, err = reply.TextOrEmpty(bios[0]); err != nil {
				return nil, fmt.Errorf("social: read a bio: %w", err)
			}
			bios = bios[1:]
		}
		if suggestion.User.ID != 0 {
			list = append(list, suggestion)
		}
	}
	return list, nil
}
