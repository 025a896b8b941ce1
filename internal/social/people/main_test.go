package people_test

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type suggestionsBundle struct{ *socialtest.Bundle }

// setups holds functions that open a site on a server without client-side caching, on a server with
// client-side caching, and on a Cluster.
var setups = map[string]func(t *testing.T) *suggestionsBundle{
	"plain": func(t *testing.T) *suggestionsBundle { return &suggestionsBundle{socialtest.New(t)} },
	"watched": func(t *testing.T) *suggestionsBundle {
		return &suggestionsBundle{socialtest.Watched(t, redistest.DB(t).URL())}
	},
	"cluster": func(t *testing.T) *suggestionsBundle { return on(t, redistest.Cluster(t, 3).Client(t)) },
}

func on(t *testing.T, client rueidis.Client) *suggestionsBundle {
	return &suggestionsBundle{socialtest.On(t, client)}
}

func (b *suggestionsBundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *suggestionsBundle) users(names ...string) []social.User {
	b.T.Helper()
	users := make([]social.User, len(names))
	for i, name := range names {
		users[i] = b.NewUser(name)
	}
	return users
}

func (b *suggestionsBundle) viewer(user social.User) *social.Viewer {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, user)
	b.must(err)
	return v
}

// suggested returns the suggestions for a user, each as "name", or as "name by one,two of 3".
func (b *suggestionsBundle) suggested(user social.User) []string {
	b.T.Helper()
	list, err := b.Suggestions.Get(b.Ctx, b.viewer(user), people.MaxSuggestions)
	b.must(err)
	texts := make([]string, len(list))
	for i, suggestion := range list {
		texts[i] = suggestion.User.Name
		for j, by := range suggestion.By {
			texts[i] += []string{" by ", ","}[j] + by.Name
		}
		if suggestion.FollowedBy > len(suggestion.By) {
			texts[i] += fmt.Sprint(" of ", suggestion.FollowedBy)
		}
	}
	return texts
}
