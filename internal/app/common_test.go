package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"retwis/internal/app"
	"retwis/internal/redis/store"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/load"
	"retwis/internal/social/people"
	"retwis/internal/social/socialtest"

	"github.com/redis/rueidis"
)

// The number of common followers is cached. A change by this process shows at once; a change by
// another process shows at once in reads with WithFresh.
func TestCommonFollowersRemembered(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	counts := &commandCounter{Client: client, words: []string{"ZINTER"}}
	b := on(t, counts, func(opt *app.Options) { opt.Invalidations = new(store.Invalidations) })
	other := &bundle{socialtest.On(t, client)}
	ada, star := b.NewUser("ada"), b.NewUser("star")
	var fans []social.User
	for i := range 4 {
		fans = append(fans, b.NewUser(fmt.Sprint("fan", i)))
	}
	b.Connect(fans[0], ada)
	b.Connect(fans[0], star)
	reads := int64(0)
	want := func(what string, n int64, more int64) {
		t.Helper()
		common, err := b.Follows.CommonFollowers(b.Ctx, b.viewer(ada), star.ID)
		if reads += more; err != nil || common != (people.Common{N: n}) || counts.n.Load() != reads {
			t.Errorf("%s: %+v after %d reads, want %d after %d (%v)", what, common, counts.n.Load(), n, reads, err)
		}
		reads = counts.n.Load()
	}
	want("at first", 1, 1)
	want("again", 1, 0)
	for _, to := range []social.User{ada, star} {
		b.Connect(fans[1], to)
	}
	want("after two follows", 2, 1)
	other.Connect(fans[2], ada)
	other.Connect(fans[2], star)
	want("after two follows in another process", 2, 0)
	fresh, err := b.Follows.CommonFollowers(social.WithFresh(b.Ctx), b.viewer(ada), star.ID)
	if reads++; err != nil || fresh.N != 3 {
		t.Errorf("bypassing the cache: %+v, %v; want 3", fresh, err)
	}
	want("after bypassing the cache", 3, 0)
	if err := b.Follows.Unfollow(b.Ctx, fans[0], star); err != nil {
		t.Fatal(err)
	}
	want("after an unfollow", 2, 1)
	if err := b.Relations.Block(b.Ctx, ada, fans[1], time.Time{}); err != nil {
		t.Fatal(err)
	}
	want("after a block", 1, 1)
}

// If both users have more than a thousand followers, about a thousand are examined.
func TestCommonFollowersBound(t *testing.T) {
	t.Parallel()
	socialtest.OnEach(t, func(t *testing.T, client rueidis.Client) {
		b := on(t, client)
		one, two := b.NewUser("one"), b.NewUser("two")
		var follows []load.NewFollow
		for id := int64(100); id < 1400; id++ {
			at := b.Clock.Now().Add(time.Duration(id) * time.Second)
			follows = append(follows, load.NewFollow{From: id, To: one.ID, Time: at}, load.NewFollow{From: id + 100, To: two.ID, Time: at})
		}
		if err := load.New(b.App).AddFollows(b.Ctx, follows); err != nil {
			t.Fatal(err)
		}
		common, err := b.Follows.CommonFollowers(b.Ctx, &social.Viewer{User: one}, two.ID)
		if err != nil || !common.AtLeast || !slices.Contains([]int64{900, 1000}, common.N) {
			t.Errorf("common = %+v, %v, want at least about a thousand", common, err)
		}
	})
}
