package app_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/notify"
	"retwis/internal/social/socialtest"
	"retwis/internal/social/storage"
)

// describe formats a page of notifications as text, one group per line.
func (b *bundle) describe(user social.User, before string, limit int) (text string, page notify.Page) {
	b.T.Helper()
	page, err := b.Notifications.Page(b.Ctx, b.viewer(user), before, limit)
	if err != nil {
		b.T.Fatal(err)
	}
	var lines []string
	for _, g := range page.Groups {
		var names []string
		for _, actor := range g.Actors {
			names = append(names, actor.Name)
		}
		line := fmt.Sprintf("%s %s %d", g.Kind, strings.Join(names, ","), g.Count)
		if g.Post != nil {
			line += " " + g.Post.Post.Body
		}
		if g.Unread {
			line += " unread"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; "), page
}

func (b *bundle) viewer(user social.User) *social.Viewer {
	b.T.Helper()
	v, err := b.Viewers.Get(b.Ctx, user)
	if err != nil {
		b.T.Fatal(err)
	}
	return v
}

func (b *bundle) unread(user social.User) int {
	b.T.Helper()
	n, err := b.Notifications.Unread(b.Ctx, b.viewer(user))
	if err != nil {
		b.T.Fatal(err)
	}
	now, err := b.Notifications.UnreadNow(b.Ctx, b.DB, b.viewer(user))
	if err != nil || now != n {
		b.T.Fatalf("%d unread in the cache, %d in the database (%v)", n, now, err)
	}
	return n
}

func (b *bundle) wantNotified(user social.User, want string) notify.Page {
	b.T.Helper()
	text, page := b.describe(user, "", 10)
	if text != want {
		b.T.Fatalf("%s is notified of %q, want %q", user.Name, text, want)
	}
	return page
}

func notificationsKey(user social.User) string { return fmt.Sprint("notifications:", user.ID) }

// An unfollow removes the notification of the follow, so that repeated follows cannot fill a user's
// notifications.
func TestFollowTakenBack(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, bob, cyd := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cyd")
		b.must(b.Follows.Follow(b.Ctx, cyd, ada))
		for range 3 {
			b.must(b.Follows.Follow(b.Ctx, bob, ada))
			b.Clock.Advance(time.Minute)
			b.must(b.Follows.Unfollow(b.Ctx, bob, ada))
		}
		b.must(b.Follows.Unfollow(b.Ctx, bob, ada)) // there is no follow
		if n := b.Redis("LLEN", notificationsKey(ada)); n != "1" {
			t.Errorf("%s notifications, want 1", n)
		}
		b.must(b.Follows.Follow(b.Ctx, bob, ada))
		if n := b.Redis("LLEN", notificationsKey(ada)); n != "2" {
			t.Errorf("%s notifications, want 2", n)
		}
	})
}

func TestNotificationsAreGrouped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob, cyd, dan := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cyd"), b.NewUser("dan")
	first, second := b.Publish(ada, "first"), b.Publish(ada, "second")
	answer := b.Publish(bob, "answer")
	b.wantNotified(ada, "")
	if n := b.unread(ada); n != 0 {
		t.Fatalf("%d unread at first, want 0", n)
	}
	for _, actor := range []social.User{bob, cyd, bob, dan} {
		b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, actor.ID, first, time.Time{})
	}
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, cyd.ID, second, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Reply, bob.ID, answer, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Repost, bob.ID, first, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Follow, cyd.ID, 0, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Follow, dan.ID, 0, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, ada.ID, first, time.Time{}) // own like
	b.Notifications.Notify(b.Ctx, 1234, notify.Like, ada.ID, first, time.Time{})   // no such user
	if n := b.unread(ada); n != 8 {                                                // bob's like is counted twice
		t.Errorf("%d unread, want 8", n)
	}
	page := b.wantNotified(ada, "follow dan,cyd 2 unread; repost bob 1 first unread; reply bob 1 answer unread; "+
		"like cyd 1 second unread; like dan,bob,cyd 3 first unread")

	// Notifications that arrive between two pages do not change the following pages.
	text, pages := b.describe(ada, "", 2)
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, dan.ID, second, time.Time{})
	for before := pages.Next; before != ""; {
		more, next := b.describe(ada, before, 2)
		text, before = text+"; "+more, next.Next
	}
	if want := "follow dan,cyd 2 unread; repost bob 1 first unread; reply bob 1 answer unread; " +
		"like cyd 1 second unread; like dan,bob,cyd 3 first unread"; text != want {
		t.Errorf("page by page: %q, want %q", text, want)
	}

	// Notifications that arrived after the page stay unread.
	if err := b.Notifications.MarkRead(b.Ctx, ada, page.Newest); err != nil {
		t.Fatal(err)
	}
	if n := b.unread(ada); n != 1 {
		t.Errorf("%d unread, want 1", n)
	}
	if err := b.Notifications.MarkRead(b.Ctx, ada, ""); err != nil {
		t.Fatal(err)
	}
	if err := b.Notifications.MarkRead(b.Ctx, ada, page.Newest); err != nil { // an old page does not move the marker back
		t.Fatal(err)
	}
	if n := b.unread(ada); n != 0 {
		t.Errorf("%d unread, want 0", n)
	}
	for _, bad := range []string{"1", "x-y", "-1-0", "01-0", "1-", "99999999999999999999-0"} {
		if err := b.Notifications.MarkRead(b.Ctx, ada, bad); err == nil {
			t.Errorf("MarkRead(%q) is accepted", bad)
		}
		if _, err := b.Notifications.Page(b.Ctx, b.viewer(ada), bad, 10); err == nil {
			t.Errorf("Page(%q) is accepted", bad)
		}
	}
	if b.Redis("EXISTS", "user:1234") != "0" || b.Redis("EXISTS", "notifications:1234") != "0" {
		t.Error("keys of a missing user were written")
	}
}

func TestUnnotify(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob, cyd := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cyd")
	post := b.Publish(ada, "text")
	for i := range 3 {
		b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
		if i < 2 {
			b.Notifications.Unnotify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Now())
		}
	}
	b.wantNotified(ada, "like bob 1 text unread")
	if n := b.unread(ada); n != 1 {
		t.Errorf("%d unread, want 1", n)
	}
	// Unnotify finds a notification behind many later ones. Behind a few, it finds the notification
	// even with a wrong clock.
	for range 300 {
		b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, cyd.ID, post, time.Time{})
	}
	b.Notifications.Unnotify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Now())
	b.wantNotified(ada, "like cyd 1 text unread")
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
	b.Notifications.Unnotify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Unix(1, 0))
	b.Notifications.Unnotify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Unix(1, 0)) // repeated
	b.wantNotified(ada, "like cyd 1 text unread")
}

func TestMentionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.NewUser("ada")
	users, names := make([]social.User, 12), make([]string, 12)
	for i := range users {
		names[i] = fmt.Sprint("user", i)
		users[i] = b.NewUser(names[i])
	}
	names[1], names[2] = "USER0", "missing"
	post := b.Publish(ada, "text")
	b.Notifications.NotifyMentions(b.Ctx, ada.ID, post, names, time.Time{}, users[3].ID)
	var got []string
	for _, user := range users {
		if text, _ := b.describe(user, "", 10); text == "mention ada 1 text unread" {
			got = append(got, user.Name)
		} else if text != "" {
			t.Errorf("%s is notified of %q", user.Name, text)
		}
	}
	if want := []string{"user0", "user4", "user5", "user6", "user7", "user8", "user9"}; !slices.Equal(got, want) {
		t.Errorf("%v are notified, want %v", got, want)
	}
}

// Users are not notified by users hidden from them, or of kinds that are turned off. Notifications
// about posts that were hidden or deleted later are not shown.
func TestUnwantedNotifications(t *testing.T) {
	t.Parallel()
	b := &bundle{socialtest.Watched(t, redistest.DB(t).URL())}
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	post, answer := b.Publish(ada, "text"), b.Publish(bob, "answer")
	mute := func() { b.Redis("ZADD", fmt.Sprint("muted:", ada.ID), "+inf", fmt.Sprint(bob.ID)) }
	for name, hide := range map[string][2]string{
		"muted":    {fmt.Sprint("muted:", ada.ID), fmt.Sprint(bob.ID)},
		"blocked":  {fmt.Sprint("blocked:", ada.ID), fmt.Sprint(bob.ID)},
		"blocking": {fmt.Sprint("blockers:", ada.ID), fmt.Sprint(bob.ID)},
	} {
		b.Redis("ZADD", hide[0], "+inf", hide[1])
		b.Eventually("a change of visibility: "+name, func() bool { return b.viewer(ada).Sees(bob.ID) != social.Shown })
		b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
		if b.Redis("LLEN", notificationsKey(ada)) != "0" {
			t.Errorf("notified by a %s user", name)
		}
		b.Redis("ZREM", hide[0], hide[1])
		b.Eventually("a change of visibility: "+name, func() bool { return b.viewer(ada).Sees(bob.ID) == social.Shown })
	}
	if err := b.Notifications.SetNotifyOff(b.Ctx, ada, []notify.Kind{notify.Like, notify.Follow}); err != nil {
		t.Fatal(err)
	}
	if off := b.Redis("HGET", fmt.Sprint("user:", ada.ID), "notify_off"); off != "like,follow" {
		t.Errorf("notify_off = %q, want like,follow", off)
	}
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Reply, bob.ID, answer, time.Time{})
	b.wantNotified(ada, "reply bob 1 answer unread")
	if err := b.Notifications.SetNotifyOff(b.Ctx, ada, nil); err != nil {
		t.Fatal(err)
	}
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
	b.wantNotified(ada, "like bob 1 text unread; reply bob 1 answer unread")

	// Damaged entries are skipped.
	for _, text := range []string{"", "l", "x:1:2", "l:0:1", "l:-1:1", "l:1:x", "l:1:2:3", "l:99999999999999999999:1"} {
		b.Redis("RPUSH", notificationsKey(ada), "1-1 "+text)
	}
	b.Redis("RPUSH", notificationsKey(ada), "", "1-x l:1:2", "l:1:2", "99999999999999999999-1 l:1:2")
	b.wantNotified(ada, "like bob 1 text unread; reply bob 1 answer unread")

	b.Redis("HSET", fmt.Sprint("post:", answer), "deleted", "1")
	b.Eventually("the deletion", func() bool {
		text, _ := b.describe(ada, "", 10)
		return text == "like bob 1 text unread"
	})
	mute()
	b.Eventually("the mute", func() bool {
		text, _ := b.describe(ada, "", 10)
		return text == ""
	})
	b.Eventually("the unread count", func() bool {
		n, err := b.Notifications.Unread(b.Ctx, b.viewer(ada))
		return err == nil && n == 0
	})
}

// The unread count matches the page: it leaves out deleted and hidden posts.
func TestUnreadMatchesPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	post := b.Publish(ada, "text")
	var replies []social.Post
	for range 3 {
		reply, err := b.Posts.Reply(b.Ctx, bob, post, "look")
		b.must(err)
		replies = append(replies, reply)
	}
	mention := b.Publish(bob, "@ada look")
	own := b.Publish(ada, "regretted")
	b.must(b.Reactions.Like(b.Ctx, bob, own))
	b.must(b.Reactions.Like(b.Ctx, bob, post))
	if n := b.unread(ada); n != 6 {
		t.Fatalf("%d unread, want 6", n)
	}
	b.must(b.Posts.Delete(b.Ctx, bob, replies[0].ID))
	b.must(b.Posts.Delete(b.Ctx, bob, mention))
	b.must(b.Posts.Delete(b.Ctx, ada, own))
	b.Redis("HSET", fmt.Sprint("post:", replies[1].ID), "hidden", "1700000000")
	b.wantNotified(ada, "like bob 1 text unread; reply bob 1 look unread")
	if n := b.unread(ada); n != 2 {
		t.Errorf("%d unread, want the 2 that the page shows", n)
	}
}

// The unread count is cached and follows the writes of other processes.
func TestUnreadFromMemory(t *testing.T) {
	t.Parallel()
	db := redistest.Own(t)
	local, peer := &bundle{socialtest.Watched(t, db.URL())}, &bundle{socialtest.Watched(t, db.URL())}
	ada, bob := local.NewUser("ada"), local.NewUser("bob")
	posts := make([]int64, 2*notify.MaxUnread)
	for i := range posts {
		posts[i] = local.Publish(ada, fmt.Sprint("text ", i))
	}
	for want := range 3 {
		for _, b := range []*bundle{local, peer} {
			b.Eventually("the unread count", func() bool {
				n, err := b.Notifications.Unread(b.Ctx, b.viewer(ada))
				return err == nil && n == want
			})
		}
		local.Notifications.Notify(local.Ctx, ada.ID, notify.Like, bob.ID, posts[want], time.Time{})
	}
	// Marking as read shows at once in the same process, and soon in others.
	if err := local.Notifications.MarkRead(local.Ctx, ada, ""); err != nil {
		t.Fatal(err)
	}
	if n, err := local.Notifications.Unread(local.Ctx, local.viewer(ada)); err != nil || n != 0 {
		t.Errorf("%d unread, want 0 (%v)", n, err)
	}
	if n, err := peer.Notifications.Unread(social.WithFresh(peer.Ctx), peer.viewer(ada)); err != nil || n != 0 {
		t.Errorf("%d unread, want 0 (%v)", n, err)
	}
	for i := range 1300 {
		peer.Notifications.Notify(peer.Ctx, ada.ID, notify.Like, bob.ID, posts[i%len(posts)], time.Time{})
	}
	local.Eventually("the unread count", func() bool {
		n, err := local.Notifications.Unread(local.Ctx, local.viewer(ada))
		return err == nil && n == notify.MaxUnread
	})
	if n := local.Redis("LLEN", notificationsKey(ada)); n > "1100" || len(n) != 4 {
		t.Errorf("%s entries are kept, want 1000 to 1100", n)
	}
}

// Notifications take little memory, the first one included.
func TestMemoryOfNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.NewUser("ada"), b.NewUser("bob")
	post := b.Publish(ada, "text")
	sent := 0
	for _, c := range []struct{ notifications, want int }{{1, 250}, {11, 650}, {1001, 45_000}} {
		for ; sent < c.notifications; sent++ {
			b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, post, time.Time{})
		}
		if bytes, err := strconv.Atoi(b.Redis("MEMORY", "USAGE", notificationsKey(ada), "SAMPLES", "0")); err != nil || bytes > c.want {
			t.Errorf("%d notifications take %d bytes, want at most %d (%v)", sent, bytes, c.want, err)
		}
	}
}

// Pages of one notification each contain every notification once.
func TestNotificationsPageByPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob, cyd := b.NewUser("ada"), b.NewUser("bob"), b.NewUser("cyd")
	first, second := b.Publish(ada, "first"), b.Publish(ada, "second")
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, bob.ID, first, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Repost, bob.ID, first, time.Time{})
	b.Notifications.Notify(b.Ctx, ada.ID, notify.Like, cyd.ID, second, time.Time{})
	b.wantPaged(ada, "like cyd 1 second unread", "repost bob 1 first unread", "like bob 1 first unread")
}

// wantPaged checks pages of one notification each.
func (b *bundle) wantPaged(user social.User, want ...string) {
	b.T.Helper()
	text, page := b.describe(user, "", 1)
	got := []string{text}
	for page.Next != "" {
		text, page = b.describe(user, page.Next, 1)
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		b.T.Errorf("page by page: %q, want %q", got, want)
	}
}

// A post notifies a mentioned user once, even if it is edited often, and only while it mentions the
// user.
func TestMentionEditedInAndOut(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	b := on(t, client)
	ada, ben := b.NewUser("ada"), b.NewUser("ben")
	post := b.Publish(ada, "hello @ben")
	unreadCount := func() int {
		v, err := b.Viewers.Get(social.WithFresh(b.Ctx), ben)
		b.must(err)
		n, err := b.Notifications.UnreadNow(b.Ctx, client, v)
		b.must(err)
		return n
	}
	if n := unreadCount(); n != 1 {
		t.Fatalf("unread count of a mentioned user = %d, want 1", n)
	}
	for i := range 3 {
		for _, body := range []string{"hello", "hello again @ben"} {
			err := b.Posts.Edit(b.Ctx, ada, post, fmt.Sprint(body, " ", i))
			b.must(err)
			if got, n := b.Redis("LLEN", storage.NotificationsKey(ben.ID)), unreadCount(); got != "0" || n != 0 {
				t.Errorf("after %q: %s notifications, unread count %d; want 0", body, got, n)
			}
		}
	}
	carl := b.NewUser("carl")
	err := b.Posts.Edit(b.Ctx, ada, post, "and @carl")
	b.must(err)
	if got := b.Redis("LLEN", storage.NotificationsKey(carl.ID)); got != "1" {
		t.Errorf("%s notifications of a user first mentioned in an edit, want 1", got)
	}
}

// A mention notifies even if the browser has disconnected.
func TestMentionWithoutBrowser(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	first, b := on(t, client), on(t, client) // the second process has no users cached
	ada, ben := first.NewUser("ada"), first.NewUser("ben")
	post := first.Publish(ada, "for ben")
	ctx, cancel := context.WithCancel(b.Ctx)
	cancel()
	b.Notifications.NotifyMentions(ctx, ada.ID, post, []string{"ben"}, time.Time{})
	if got, _ := b.describe(ben, "", 10); got != "mention ada 1 for ben unread" {
		t.Errorf("notifications: %q", got)
	}
}

// The author of a post is notified of each decision about the post once, with the reason. Users who
// reported the post are notified of the decision. No notification names the moderator or a
// reporter.
func TestNotifiedOfDecisions(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, other *bundle) {
		ada, ben, carl, mona := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("carl"), b.NewUser("mona")
		b.must(b.Moderation.SetRole(b.Ctx, social.Operator, mona.ID, social.Moderator, ""))
		b.must(b.Relations.Block(b.Ctx, ada, ben, time.Time{}))
		post, third := b.Publish(ada, "first"), b.Publish(ada, "third")
		decisions := func(user social.User) string {
			t.Helper()
			var lines []string
			page, err := b.Notifications.Page(b.Ctx, b.viewer(user), "", 20)
			b.must(err)
			for _, g := range page.Groups {
				if g.Kind == notify.Decided {
					line := strings.TrimSpace(g.DecisionText().String() + " " + g.Reason)
					if g.Post != nil {
						line += " > " + g.Post.Post.Body
					}
					lines = append(lines, line)
				}
			}
			return strings.Join(lines, "; ")
		}
		want := func(user social.User, lines string) {
			t.Helper()
			b.Eventually(user.Name+" to be notified of "+lines, func() bool { return decisions(user) == lines })
			// Caches are updated within a second.
			b.Eventually("all notifications to be unread", func() bool {
				n, err := b.Notifications.Unread(b.Ctx, b.viewer(user))
				b.must(err)
				return n == len(strings.Split(lines, "; "))
			})
		}
		target := audit.PostTarget(post)
		for _, reporter := range []social.User{ben, carl, mona} {
			b.must(b.Reports.ReportPost(b.Ctx, reporter, post, moderation.Reason{Kind: "spam"}))
		}
		_, err := b.Reports.TakeReportOf(b.Ctx, mona.Actor(), target)
		b.must(err)
		hide := moderation.ReportDecision{Action: "hide", Message: "Be kind: please."}
		atOnce := func(do ...func() error) {
			var wg sync.WaitGroup
			for _, call := range do {
				wg.Go(func() { _ = call() })
			}
			wg.Wait()
		}
		atOnce(
			func() error { return b.Reports.DecideReport(b.Ctx, mona.Actor(), target, hide) },
			func() error { return other.Reports.DecideReport(other.Ctx, mona.Actor(), target, hide) },
			func() error { return other.Moderation.HidePost(other.Ctx, social.Operator, post, hide.Message, "") },
			func() error { return b.Moderation.HidePost(b.Ctx, social.Operator, post, hide.Message, "") },
		)
		b.must(b.Moderation.HidePost(b.Ctx, mona.Actor(), post, hide.Message, "a note"))
		const hidden = "A moderator hid your post: Be kind: please. > first"
		want(ada, hidden)
		want(carl, "Thank you: what you reported was hidden.")
		want(ben, "Thank you: what you reported was hidden.")
		if got := decisions(mona); got != "" {
			t.Errorf("the moderator is notified of %q", got)
		}
		b.must(b.Moderation.UnhidePost(b.Ctx, mona.Actor(), post, ""))
		b.must(b.Moderation.UnhidePost(b.Ctx, mona.Actor(), post, ""))
		want(ada, "A moderator made your post visible again. > first; "+hidden)

		atOnce(
			func() error {
				return b.Reports.Decide(b.Ctx, mona.Actor(), audit.PostTarget(third), moderation.ReportDecision{Action: "delete", Message: "No."})
			},
			func() error {
				return other.Reports.Decide(other.Ctx, mona.Actor(), audit.PostTarget(third), moderation.ReportDecision{Action: "delete", Message: "No."})
			},
		)
		b.Eventually("the author to be notified of the deletion", func() bool {
			return strings.HasPrefix(decisions(ada), "A moderator deleted your post: No.")
		})
		if all := decisions(ada); strings.Count(all, "; ") != 2 {
			t.Errorf("notifications of the author: %s, want three decisions", all)
		}

		// Reporters are not told that an account was limited. Carl has turned off notifications
		// about decisions.
		b.must(b.Notifications.SetNotifyOff(b.Ctx, carl, []notify.Kind{notify.Decided}))
		b.must(b.Reports.ReportUser(b.Ctx, ben, ada.ID, moderation.Reason{Kind: "spam"}))
		b.must(b.Reports.ReportUser(b.Ctx, carl, ada.ID, moderation.Reason{Kind: "spam"}))
		b.must(b.Reports.DecideReport(b.Ctx, social.Operator, audit.UserTarget(ada.ID), moderation.ReportDecision{Action: "limit", Message: "Private."}))
		b.Eventually("the user to be notified of the limit", func() bool {
			return strings.HasPrefix(decisions(ada), "A moderator limited your account: Private.; ")
		})
		want(ben, "Thank you: we took action on what you reported.; Thank you: what you reported was hidden.")
		want(carl, "Thank you: what you reported was hidden. > first")
		b.WantHealthy()
	})
}
