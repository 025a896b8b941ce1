package people_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
)

// crowd is the number of people who act at random.
const crowd = 9

// pair is an actor and a target.
type pair struct{ from, to int }

// network is a site and a record of people's actions.
type network struct {
	*suggestionsBundle
	people                            []social.User
	follows, mutes, blocks, dismissed map[pair]bool
	standing                          [crowd]social.Standing
}

// After random actions, a viewer gets exactly the suggestions of a naive search, in the same order.
// Cached suggestions may be stale with respect to follows of other people, but never include a
// forbidden person.
func TestAgainstNaiveSearch(t *testing.T) {
	t.Parallel()
	for name, setup := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &network{suggestionsBundle: setup(t), follows: map[pair]bool{}, mutes: map[pair]bool{}, blocks: map[pair]bool{}, dismissed: map[pair]bool{}}
			for i := range crowd {
				n.people = append(n.people, n.NewUser(fmt.Sprintf("person%d", i)))
				n.Publish(n.people[i], "hello")
			}
			rapid.Check(t, func(rt *rapid.T) {
				for range rapid.IntRange(1, 25).Draw(rt, "steps") {
					n.act(rt)
				}
				for i := range crowd {
					if n.standing[i].Hidden() {
						continue
					}
					n.compare(rt, social.WithFresh(n.Ctx), i, true)
					n.compare(rt, n.Ctx, i, name != "watched")
				}
			})
		})
	}
}

// act performs a random action of one person.
func (n *network) act(rt *rapid.T) {
	p := pair{rapid.IntRange(0, crowd-1).Draw(rt, "from"), rapid.IntRange(0, crowd-1).Draw(rt, "to")}
	from, to := n.people[p.from], n.people[p.to]
	if p.from == p.to || n.standing[p.from].Hidden() {
		return
	}
	back := pair{p.to, p.from}
	switch kind := rapid.IntRange(0, 19).Draw(rt, "kind"); {
	case kind < 9:
		if !n.blocks[p] && !n.blocks[back] && !n.standing[p.to].Hidden() {
			n.Clock.Advance(time.Second)
			n.Connect(from, to)
			n.follows[p] = true
		}
	case kind < 11:
		n.must(n.Follows.Unfollow(n.Ctx, from, to))
		delete(n.follows, p)
	case kind < 12:
		n.must(n.Relations.Mute(n.Ctx, from, to, time.Time{}))
		n.mutes[p] = true
	case kind < 13:
		n.must(n.Relations.Unmute(n.Ctx, from, to))
		delete(n.mutes, p)
	case kind < 14:
		n.must(n.Relations.Block(n.Ctx, from, to, time.Time{}))
		n.blocks[p] = true
		delete(n.follows, p)
		delete(n.follows, back)
	case kind < 16:
		n.must(n.Relations.Unblock(n.Ctx, from, to))
		delete(n.blocks, p)
	case kind < 17:
		n.must(n.Suggestions.Dismiss(n.Ctx, from, to))
		n.dismissed[p] = true
	case kind < 18:
		standing := social.Standing(rapid.IntRange(int(social.Good), int(social.Suspended)).Draw(rt, "standing"))
		n.setStanding(p.to, standing)
	default:
		n.setStanding(p.to, social.Good)
	}
}

func (n *network) setStanding(person int, standing social.Standing) {
	n.T.Helper()
	n.must(n.Moderation.SetStanding(n.Ctx, social.Operator, n.people[person].ID, moderation.StandingChange{Standing: standing}))
	n.standing[person] = standing
}

// maySuggest reports whether a person may be suggested to a viewer.
func (n *network) maySuggest(viewer, person int) bool {
	p, back := pair{viewer, person}, pair{person, viewer}
	return viewer != person && n.standing[person] == social.Good && !n.follows[p] && !n.mutes[p] && !n.dismissed[p] && !n.blocks[p] && !n.blocks[back]
}

// followees returns the reasons for a suggestion: followees of the viewer who follow the person.
func (n *network) followees(viewer, person int) (by []int) {
	for i := range crowd {
		if n.follows[pair{viewer, i}] && n.follows[pair{i, person}] && !n.mutes[pair{viewer, i}] && !n.standing[i].Hidden() {
			by = append(by, i)
		}
	}
	return by
}

// naiveSuggestions returns the suggestions for a viewer based on followees, in order.
func (n *network) naiveSuggestions(viewer int) (names []string) {
	followers := func(person int) (count int) {
		for p := range n.follows {
			if p.to == person {
				count++
			}
		}
		return count
	}
	var all []int
	for person := range crowd {
		if n.maySuggest(viewer, person) && len(n.followees(viewer, person)) > 0 {
			all = append(all, person)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(len(n.followees(viewer, b))-len(n.followees(viewer, a)), followers(b)-followers(a), a-b)
	})
	for _, person := range all {
		names = append(names, fmt.Sprintf("%s by %d", n.people[person].Name, len(n.followees(viewer, person))))
	}
	return names
}

// compare compares the suggestions for a viewer with the model. Unless exact is set, compare only
// checks that no forbidden person is suggested.
func (n *network) compare(rt *rapid.T, ctx context.Context, viewer int, exact bool) {
	v, err := n.Viewers.Get(ctx, n.people[viewer])
	if err != nil {
		rt.Fatal(err)
	}
	list, err := n.Suggestions.Get(ctx, v, people.MaxSuggestions)
	if err != nil {
		rt.Fatal(err)
	}
	var names []string
	seen := map[int]bool{}
	for _, suggestion := range list {
		person := slices.IndexFunc(n.people, func(u social.User) bool { return u.ID == suggestion.User.ID })
		if !n.maySuggest(viewer, person) || seen[person] {
			rt.Fatalf("suggestions for person%d include person%d, who is forbidden or repeated", viewer, person)
		}
		seen[person] = true
		if suggestion.FollowedBy > 0 {
			names = append(names, fmt.Sprintf("%s by %d", suggestion.User.Name, suggestion.FollowedBy))
		}
		for _, by := range suggestion.By {
			i := slices.IndexFunc(n.people, func(u social.User) bool { return u.ID == by.ID })
			if !n.follows[pair{viewer, i}] || n.mutes[pair{viewer, i}] || exact && !slices.Contains(n.followees(viewer, person), i) {
				rt.Fatalf("suggestions for person%d include person%d with the wrong reason person%d", viewer, person, i)
			}
		}
		named := min(1, suggestion.FollowedBy)
		if suggestion.FollowedBy == 2 {
			named = 2
		}
		if exact && len(suggestion.By) != named {
			rt.Fatalf("suggestion names %d of %d followees, want %d", len(suggestion.By), suggestion.FollowedBy, named)
		}
	}
	if !exact {
		return
	}
	if want := n.naiveSuggestions(viewer); !slices.Equal(names, want) {
		rt.Fatalf("suggestions for person%d: %q, want %q", viewer, names, want)
	}
	for person := range crowd {
		if n.maySuggest(viewer, person) && !seen[person] {
			rt.Fatalf("person%d, who has posted, is not suggested to person%d", person, viewer)
		}
	}
}
