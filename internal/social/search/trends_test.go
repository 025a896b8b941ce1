package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/social/search"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// bundle is an application with helpers for trends.
type bundle struct {
	*socialtest.Bundle
	people int64 // number of users that crowd has created
}

// onEachServer runs a test on a single server and on a Cluster.
func onEachServer(t *testing.T, run func(t *testing.T, b *bundle)) {
	t.Parallel()
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		run(t, &bundle{Bundle: socialtest.New(t)})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		run(t, &bundle{Bundle: socialtest.On(t, redistest.Cluster(t, 2).Client(t))})
	})
}

// crowd returns n users who joined long ago, on a site with a hundred active accounts.
func (b *bundle) crowd(n int) []social.User {
	b.T.Helper()
	users := make([]social.User, n)
	for i := range users {
		b.people++
		users[i] = b.NewUser(fmt.Sprintf("someone%d", b.people))
	}
	b.Clock.Advance(search.Probation)
	b.active(100)
	return users
}

// active records n missing users as the active accounts.
func (b *bundle) active(n int) {
	b.T.Helper()
	b.Redis("DEL", storage.Active)
	for id := range n {
		b.Redis("ZADD", storage.Active, "1", storage.Itoa(int64(1000+id)))
	}
}

// top merges the counts and returns the trends as a viewer sees them.
func (b *bundle) top(viewer social.User) search.Top {
	b.T.Helper()
	if err := b.Trends.Merge(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	return b.see(viewer)
}

// see returns the trends as a viewer sees them.
func (b *bundle) see(viewer social.User) search.Top {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, viewer)
	if err != nil {
		b.T.Fatal(err)
	}
	top, err := b.Trends.Top(b.Ctx, v)
	if err != nil {
		b.T.Fatal(err)
	}
	return top
}

func (b *bundle) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// tags formats the tags of trends as "name people".
func tags(top search.Top) string {
	var all []string
	for _, tag := range top.Tags {
		text := fmt.Sprintf("%s %d", tag.Name, tag.People)
		if tag.Pinned {
			text += " pinned"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// Each person counts once, and five people make a tag, a link or a post a trend.
func TestTrends(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		crowd := b.crowd(8)
		if top := b.top(social.User{}); len(top.Tags)+len(top.Links)+len(top.Posts) != 0 {
			t.Errorf("trends before any post: %+v", top)
		}
		post := b.Publish(crowd[0], "a post that is liked")
		for i, user := range crowd {
			b.Publish(user, "#Go and https://EXAMPLE.com/a?utm_source="+user.Name)
			if i < 4 {
				b.Publish(user, "#four https://example.com/four")
			}
			switch {
			case i == 0 || i > 6: // authors do not count for their own posts
				b.must(b.Reactions.Like(b.Ctx, user, post))
			case i%2 == 0:
				_, err := b.Posts.Repost(b.Ctx, user, post)
				b.must(err)
			default:
				_, err := b.Posts.Reply(b.Ctx, user, post, "an answer with #go")
				b.must(err)
			}
			b.must(b.Reactions.Like(b.Ctx, user, post))
		}
		top := b.top(social.User{})
		if got := tags(top); got != "go 8" {
			t.Errorf("tags: %s", got)
		}
		if want := []search.Trend{{Name: "https://example.com/a", People: 8}}; !slices.Equal(top.Links, want) {
			t.Errorf("links: %v, want %v", top.Links, want)
		}
		if len(top.Posts) != 1 || top.Posts[0].Post.ID != post || top.Posts[0].People != 7 {
			t.Errorf("posts: %+v", top.Posts)
		}
	})
}

// A site with fewer active accounts needs fewer people for a trend, but at least two.
func TestFewActive(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		crowd := b.crowd(4)
		for i := range crowd {
			for _, user := range crowd[:i+1] {
				b.Publish(user, fmt.Sprint("#by", i+1))
			}
		}
		for active, want := range map[int]string{0: "by4 4, by3 3, by2 2", 59: "by4 4, by3 3, by2 2", 60: "by4 4, by3 3", 80: "by4 4", 100: ""} {
			b.active(active)
			if got := tags(b.top(social.User{})); got != want {
				t.Errorf("%d active accounts: tags %s, want %s", active, got, want)
			}
		}
	})
}

// liked merges the counts and returns the texts of the posts liked this week as a viewer sees the
// posts.
func (b *bundle) liked(viewer social.User) string {
	b.T.Helper()
	var all []string
	for _, item := range b.top(viewer).Liked {
		all = append(all, item.Post.Body)
	}
	return strings.Join(all, ", ")
}

// Posts are ordered by likes in the last seven days, and ties are broken by the latest post. Older
// and removed likes do not count.
func TestLikedThisWeek(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
		posts := map[string]int64{}
		for _, text := range []string{"one", "two", "three", "none"} {
			posts[text] = b.Publish(ada, text)
		}
		like := func(text string, users ...social.User) {
			t.Helper()
			for _, user := range users {
				b.must(b.Reactions.Like(b.Ctx, user, posts[text]))
			}
		}
		want := func(want string) {
			t.Helper()
			if got := b.liked(social.User{}); got != want {
				t.Errorf("liked this week: %q, want %q", got, want)
			}
		}
		like("one", bob)
		like("two", bob, eve, ada)
		like("three", bob, eve)
		want("two, three, one")
		b.must(b.Reactions.Unlike(b.Ctx, bob, posts["one"]))
		b.must(b.Reactions.Unlike(b.Ctx, ada, posts["two"]))
		want("three, two")
		if got := b.Redis("ZSCORE", storage.LikedPosts, storage.Itoa(posts["one"])); got != "" {
			t.Errorf("the post without likes has the score %s, want none", got)
		}
		b.Clock.Advance(6 * 24 * time.Hour)
		like("one", bob, eve)
		like("three", ada)
		want("three, two") // one is among the trends
		b.Clock.Advance(2 * 24 * time.Hour)
		want("one, three") // although three had more likes when it was last liked
		if got := b.Redis("ZCARD", storage.LikedPosts); got != "2" {
			t.Errorf("the set has %s posts, want 2", got)
		}
		like("two", ada) // likes from last week remain but do not count
		want("one, three, two")
		if got := b.Redis("ZSCORE", storage.LikedPosts, storage.Itoa(posts["two"])); got != "1" {
			t.Errorf("a post has %s likes this week, want 1", got)
		}
		if ttl := b.Redis("TTL", storage.LikedPosts); ttl != "604800" {
			t.Errorf("the set expires in %s seconds, want 604800", ttl)
		}
	})
}

// The set of posts liked this week is bounded. If a dropped post is liked again, all its likes
// count.
func TestLikedThisWeekIsBounded(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.New(t)}
	ada, bob, eve := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("eve")
	post := b.Publish(ada, "liked")
	for id := range 1000 {
		b.Redis("ZADD", storage.LikedPosts, "2", storage.Itoa(int64(10_000+id)))
	}
	for i, user := range []social.User{ada, bob, eve} {
		b.must(b.Reactions.Like(b.Ctx, user, post))
		want := []string{"", "", "3"}[i] // the second like does not exceed the likes of other posts
		if got := b.Redis("ZSCORE", storage.LikedPosts, storage.Itoa(post)); got != want || b.Redis("ZCARD", storage.LikedPosts) != "1000" {
			t.Errorf("after like %d: %q, want %q", i+1, got, want)
		}
	}
	for range 5 { // each merge recounts two hundred posts, which have no likes
		if got := b.liked(social.User{}); got != "liked" {
			t.Errorf("liked: %q", got)
		}
	}
	b.liked(social.User{})
	if got := b.Redis("ZCARD", storage.LikedPosts); got != "1" {
		t.Errorf("the set has %s posts, want 1", got)
	}
}

// One account that posts a thousand times, in many different hours, does not affect trends.
func TestOneAccountMovesNoTrend(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.New(t)}
	crowd := b.crowd(12)
	spammer, others := crowd[0], crowd[1:]
	spam := func(n int) {
		for i := range n {
			_, err := b.Posts.Post(b.Ctx, spammer, fmt.Sprintf("%d #spam #mine https://spam.example/", i))
			b.must(err)
		}
	}
	for range 20 { // hours
		spam(49)
		b.Clock.Advance(time.Hour)
	}
	for _, user := range others[:4] {
		b.Publish(user, "#spam, four others write")
	}
	for _, user := range others[:6] {
		b.Publish(user, "#six")
	}
	spam(20)
	if got := tags(b.top(social.User{})); got != "six 6, spam 5" {
		t.Errorf("tags: %s", got)
	}
	if got := b.see(social.User{}).Links; len(got) != 0 {
		t.Errorf("links: %v", got)
	}
}

// Accounts that are limited or have just joined do not count.
func TestWhoCounts(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.New(t)}
	crowd := b.crowd(9)
	post := b.Publish(crowd[8], "liked")
	for i := range crowd[:4] {
		b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, crowd[i].ID, moderation.StandingChange{Standing: social.Limited, Message: "Spam."}))
		user, err := b.Users.UserByName(b.Ctx, crowd[i].Name)
		b.must(err)
		crowd[i] = user
	}
	for i := range 4 {
		crowd = append(crowd, b.NewUser(fmt.Sprintf("newcomer%d", i)))
	}
	for _, user := range crowd {
		b.Publish(user, "#all")
		b.must(b.Reactions.Like(b.Ctx, user, post))
	}
	if top := b.top(social.User{}); tags(top) != "all 5" || len(top.Posts) != 0 {
		t.Errorf("tags %s, want all 5; posts %+v, want none", tags(top), top.Posts)
	}
	b.Clock.Advance(search.Probation - time.Second)
	for _, user := range crowd[9:] {
		b.Publish(user, "#still, #all")
	}
	b.Clock.Advance(time.Second)
	for _, user := range crowd[9:] {
		b.Publish(user, "#now, #all, once more")
	}
	b.Publish(crowd[8], "#now")
	if got := tags(b.top(social.User{})); got != "now 5" {
		t.Errorf("a day later: %s", got)
	}
}

// A subject that is constantly popular is not a trend, and a trend ends when people stop writing
// about its subject.
func TestAgainstTheDayBefore(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.New(t)}
	crowd := b.crowd(30)
	for hour := range 48 {
		for _, user := range crowd[:20] {
			b.Publish(user, fmt.Sprint("#always ", hour))
		}
		b.Clock.Advance(time.Hour)
	}
	for _, user := range crowd[:20] {
		b.Publish(user, "#always")
	}
	for _, user := range crowd[:7] {
		b.Publish(user, "#new")
	}
	for _, user := range crowd[:6] {
		b.Publish(user, "#lesser")
	}
	if got := tags(b.top(social.User{})); got != "new 7, lesser 6" {
		t.Errorf("tags: %s", got)
	}
	b.Clock.Advance(5 * time.Hour)
	for _, user := range crowd[:6] {
		b.Publish(user, "#later")
	}
	if got := tags(b.top(social.User{})); got != "later 6, new 7, lesser 6" {
		t.Errorf("five hours later: %s", got)
	}
	b.Clock.Advance(24 * time.Hour)
	if got := tags(b.top(social.User{})); got != "" {
		t.Errorf("a day later: %s", got)
	}
}

// A key that is not a HyperLogLog loses that hour of its subject and does not affect other
// subjects.
func TestDamagedCount(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		for _, user := range b.crowd(6) {
			b.Publish(user, "#damaged #sound")
		}
		b.top(social.User{})
		b.Redis("SET", storage.TrendKey("#damaged", storage.TrendHour(b.Clock.Now())), "x")
		if got := tags(b.top(social.User{})); got != "sound 6" {
			t.Errorf("tags: %s", got)
		}
	})
}

// A merge calls PFCOUNT only for subjects with enough people.
func TestIdleSubjects(t *testing.T) {
	t.Parallel()
	b := &bundle{Bundle: socialtest.On(t, redistest.Own(t).Client(t))}
	counter := search.NewTrendCounter(b.DB, socialtest.Quiet(), b.Clock.Now)
	defer counter.Close()
	count := func(tag string, people int64) {
		for uid := range people {
			counter.Posted(social.User{ID: uid + 1}, social.Post{Body: "#" + tag})
		}
	}
	merge := func() string {
		b.must(counter.Flush(b.Ctx))
		b.Redis("CONFIG", "RESETSTAT")
		b.top(social.User{})
		for line := range strings.Lines(b.Redis("INFO", "commandstats")) {
			if calls, ok := strings.CutPrefix(line, "cmdstat_pfcount:calls="); ok {
				calls, _, _ = strings.Cut(calls, ",")
				return calls
			}
		}
		return "0"
	}
	count("news", 6)
	calls := merge()
	for i := range 500 {
		count(fmt.Sprintf("idle%d", i), 1)
	}
	if got := merge(); calls == "0" || got != calls {
		t.Errorf("PFCOUNT was called %s times, and %s times with 500 more tags of one person", calls, got)
	}
}

// A trend of 40 people comes first among many posts: 2,000, or 100,000 in a long run.
func TestPlantedTrend(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		total, writers := 2_000, 200
		if redistest.Long {
			total, writers = 100_000, 2_000
		}
		crowd := b.crowd(writers)
		const hours = 30
		zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 5, 5_000)
		pick := rand.New(rand.NewPCG(3, 4))
		for hour := range hours {
			var jobs []string
			for range total / hours {
				jobs = append(jobs, fmt.Sprintf("noise %d #noise%d", pick.Int(), zipf.Uint64()))
			}
			b.publishAll(crowd, jobs, pick)
			if hour < hours-1 {
				b.Clock.Advance(time.Hour)
			}
		}
		for _, user := range crowd[:40] {
			b.Publish(user, "#planted")
		}
		began := time.Now()
		top := b.top(social.User{})
		t.Logf("%d posts: merged in %v: %s", total, time.Since(began).Round(time.Millisecond), tags(top))
		if len(top.Tags) == 0 || top.Tags[0].Name != "planted" || top.Tags[0].People != 40 {
			t.Errorf("tags: %s, want planted 40 first", tags(top))
		}
	})
}

// publishAll publishes texts by random people, sixteen at a time.
func (b *bundle) publishAll(crowd []social.User, texts []string, pick *rand.Rand) {
	b.T.Helper()
	var writers sync.WaitGroup
	jobs := make(chan func())
	for range 16 {
		writers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	for _, text := range texts {
		author := crowd[pick.IntN(len(crowd))]
		jobs <- func() {
			if _, err := b.Posts.Post(b.Ctx, author, text); err != nil {
				b.T.Error(err)
			}
		}
	}
	close(jobs)
	writers.Wait()
}

// Viewers see only the posts among the trends that are visible to them. All posts are equally
// popular.
func TestVisible(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		crowd := b.crowd(6)
		viewers := map[string]social.User{"stranger": {}}
		for _, name := range []string{"viewer", "follower", "mona", "blocked", "muter", "usual", "limited", "suspended", "hidden", "eraser", "blocker", "muted"} {
			viewers[name] = b.NewUser(name)
		}
		b.Clock.Advance(search.Probation)
		posts := map[string]int64{}
		for _, name := range []string{"usual", "limited", "suspended", "hidden", "eraser", "blocker", "muted"} {
			posts[name] = b.Publish(viewers[name], "by "+name)
			for _, user := range crowd {
				b.must(b.Reactions.Like(b.Ctx, user, posts[name]))
			}
		}
		b.Connect(viewers["follower"], viewers["limited"])
		operator := social.Operator
		b.must(b.Moderation.SetRole(b.Ctx, operator, viewers["mona"].ID, social.Moderator, ""))
		b.must(b.Moderation.SetStanding(b.Ctx, operator, viewers["limited"].ID, moderation.StandingChange{Standing: social.Limited, Message: "Spam."}))
		b.must(b.Moderation.SetStanding(b.Ctx, operator, viewers["suspended"].ID, moderation.StandingChange{Standing: social.Suspended, Message: "Spam."}))
		b.must(b.Moderation.HidePost(b.Ctx, operator, posts["hidden"], "No.", ""))
		b.must(b.Posts.Delete(b.Ctx, viewers["eraser"], posts["eraser"]))
		b.must(b.Relations.Block(b.Ctx, viewers["blocker"], viewers["blocked"], time.Time{}))
		b.must(b.Relations.Mute(b.Ctx, viewers["muter"], viewers["muted"], time.Time{}))
		b.top(social.User{})
		for viewer, want := range map[string]string{
			"stranger": "blocker muted usual",
			"viewer":   "blocker muted usual",
			"follower": "blocker muted usual", // a limited author's posts are on no public list
			"mona":     "blocker muted usual",
			"blocked":  "muted usual",
			"blocker":  "blocker muted usual",
			"muter":    "blocker usual",
			"limited":  "blocker limited muted usual", // viewers see their own posts
			"hidden":   "blocker hidden muted usual",
			"eraser":   "blocker muted usual",
		} {
			user := viewers[viewer]
			if user.ID != 0 {
				found, err := b.Users.UserByName(b.Ctx, user.Name)
				b.must(err)
				user = found
			}
			var got []string
			for _, post := range b.see(user).Posts {
				got = append(got, strings.TrimPrefix(post.Post.Body, "by "))
			}
			if slices.Sort(got); strings.Join(got, " ") != want {
				t.Errorf("%s sees %q, want %s", viewer, got, want)
			}
			if liked := b.see(user).Liked; len(liked) != 0 {
				t.Errorf("%s: posts liked this week repeat the trends: %+v", viewer, liked)
			}
		}
	})
}

// Viewers see only the posts liked this week that are visible to them.
func TestLikedThisWeekVisible(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		people := map[string]social.User{"stranger": {}}
		names := []string{"usual", "limited", "suspended", "hidden", "eraser", "blocker", "muted"}
		for _, name := range append(names, "viewer", "blocked", "muter") {
			people[name] = b.NewUser(name)
		}
		posts := map[string]int64{}
		for _, name := range names {
			posts[name] = b.Publish(people[name], name)
			b.must(b.Reactions.Like(b.Ctx, people["viewer"], posts[name]))
		}
		operator := social.Operator
		b.must(b.Moderation.SetStanding(b.Ctx, operator, people["limited"].ID, moderation.StandingChange{Standing: social.Limited, Message: "Spam."}))
		b.must(b.Moderation.SetStanding(b.Ctx, operator, people["suspended"].ID, moderation.StandingChange{Standing: social.Suspended, Message: "Spam."}))
		b.must(b.Moderation.HidePost(b.Ctx, operator, posts["hidden"], "No.", ""))
		b.must(b.Relations.Block(b.Ctx, people["blocker"], people["blocked"], time.Time{}))
		b.must(b.Relations.Mute(b.Ctx, people["muter"], people["muted"], time.Time{}))
		b.top(social.User{}) // the cached list does not reflect the deletion that follows
		b.must(b.Posts.Delete(b.Ctx, people["eraser"], posts["eraser"]))
		for viewer, want := range map[string]string{
			"stranger": "muted, blocker, usual", "viewer": "muted, blocker, usual", "blocked": "muted, usual",
			"muter": "blocker, usual", "hidden": "muted, blocker, hidden, usual", "limited": "muted, blocker, limited, usual",
		} {
			user := people[viewer]
			if user.ID != 0 {
				found, err := b.Users.UserByName(b.Ctx, user.Name)
				b.must(err)
				user = found
			}
			var got []string
			for _, item := range b.see(user).Liked {
				got = append(got, item.Post.Body)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s sees %q, want %s", viewer, got, want)
			}
		}
	})
}

// After the next merge, a subject without visible posts is neither a trend nor completed. A subject
// that other users have also written about still is.
func TestTrendsWithoutPublicPosts(t *testing.T) {
	onEachServer(t, func(t *testing.T, b *bundle) {
		ring, crowd := b.crowd(6), b.crowd(5)
		posts := make([]int64, len(ring))
		for i, user := range ring {
			posts[i] = b.Publish(user, "#smear #shared https://smear.test/x https://shared.test/")
		}
		for _, user := range crowd {
			b.Publish(user, "#shared https://shared.test/")
		}
		for range 10 { // the posts of one person do not fill the checked sample
			b.Publish(ring[0], "#shared https://shared.test/")
		}
		want := func(name, trends, completed string) {
			t.Helper()
			var got []string
			top := b.top(social.User{})
			for _, tag := range top.Tags {
				got = append(got, tag.Name)
			}
			for _, link := range top.Links {
				got = append(got, link.Name)
			}
			if slices.Sort(got); strings.Join(got, " ") != trends {
				t.Errorf("%s: trends %q, want %s", name, got, trends)
			}
			found, err := b.Completions.CompleteTags(b.Ctx, "s", 10)
			b.must(err)
			if slices.Sort(found); strings.Join(found, " ") != completed {
				t.Errorf("%s: completions %q, want %s", name, found, completed)
			}
		}
		const all, sharedOnly = "https://shared.test/ https://smear.test/x shared smear", "https://shared.test/ shared"
		b.Eventually("the tags to be indexed", func() bool {
			found, err := b.Completions.CompleteTags(b.Ctx, "s", 10)
			b.must(err)
			return len(found) == 2
		})
		want("at first", all, "shared smear")
		for _, standing := range []social.Standing{social.Suspended, social.Limited} {
			for _, user := range ring {
				b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, user.ID, moderation.StandingChange{Standing: standing}))
			}
			want(standing.String(), sharedOnly, "shared")
			for _, user := range ring {
				b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, user.ID, moderation.StandingChange{}))
			}
			want("restored", all, "shared smear")
		}
		for _, post := range posts {
			b.must(b.Moderation.HidePost(b.Ctx, social.Operator, post, "No.", ""))
		}
		want("hidden", sharedOnly, "shared")
		for i, post := range posts {
			b.must(b.Moderation.UnhidePost(b.Ctx, social.Operator, post, ""))
			b.must(b.Posts.Edit(b.Ctx, ring[i], post, "#smear"))
		}
		want("edited", sharedOnly+" smear", "shared smear")
		for i, post := range posts {
			b.must(b.Posts.Delete(b.Ctx, ring[i], post))
		}
		want("deleted", sharedOnly, "shared")
	})
}

// Close writes the pending counts of a process. Counts that Flush cannot write stay pending.
func TestNothingIsLostAtTheEnd(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	b, other := &bundle{Bundle: socialtest.On(t, db.Client(t))}, &bundle{Bundle: socialtest.On(t, db.Client(t))}
	crowd := b.crowd(7)
	other.Clock.Advance(search.Probation)
	for _, user := range crowd {
		b.Publish(user, "#last")
	}
	b.must(b.Close())
	if got := tags(other.top(social.User{})); got != "last 7" {
		t.Errorf("tags: %s", got)
	}
	counter := search.NewTrendCounter(db.Client(t), socialtest.Quiet(), other.Clock.Now)
	defer counter.Close()
	counter.Posted(social.User{ID: 1_000}, social.Post{Body: "#last"})
	ctx, cancel := context.WithCancel(b.Ctx)
	cancel()
	if err := counter.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Flush with a canceled context: %v", err)
	}
	b.must(counter.Flush(b.Ctx))
	if got := tags(other.top(social.User{})); got != "last 8" {
		t.Errorf("tags after the second Flush: %s, want last 8", got)
	}
}

// The counts and merges of one process appear in other processes, which cache the trends.
func TestOtherProcessesFollow(t *testing.T) {
	t.Parallel()
	url := redistest.Own(t).URL() // invalidation messages name keys regardless of the database
	b, other := &bundle{Bundle: socialtest.Watched(t, url)}, &bundle{Bundle: socialtest.Watched(t, url)}
	crowd := b.crowd(6)
	if got := tags(other.see(social.User{})); got != "" {
		t.Errorf("tags before any post: %s, want none", got)
	}
	for _, user := range crowd {
		b.Publish(user, "#news")
	}
	ctx, stop := context.WithCancel(b.Ctx)
	var running sync.WaitGroup
	running.Go(func() { b.App.Maintain(ctx) })
	b.Eventually("the other process to have the trend", func() bool { return tags(other.see(social.User{})) == "news 6" })
	stop()
	running.Wait()
	if _, err := b.TrendRules.Set(b.Ctx, social.Operator, "news", search.Blocked, ""); err != nil {
		t.Fatal(err)
	}
	if got := tags(b.see(social.User{})); got != "" {
		t.Errorf("tags after the decision in this process: %s, want none", got)
	}
	other.Eventually("the other process to have the decision", func() bool { return tags(other.see(social.User{})) == "" })
}
