package check_test

import (
	"strings"
	"testing"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/check"
)

// conversation writes an undamaged conversation of the users ada (1), ben (2), cem (3) and dan (4):
// ada's post 1, ben's reply 2 to post 1, ada's reply 3 to post 2, cem's repost 4 of post 1, cem's
// deleted reply 5 to post 3, ben's reply 6 to post 5, and dan's deleted reply 7 to post 1. ada and
// ben like post 1, ben follows #tea, and cem has blocked dan and muted ben.
func (b *bundle) conversation() {
	b.T.Helper()
	ada, ben, cem, dan := b.NewUser("ada"), b.NewUser("ben"), b.NewUser("cem"), b.NewUser("dan")
	b.Connect(ben, ada)
	b.Connect(cem, ada)
	b.Connect(ben, cem)
	b.Clock.Advance(time.Minute)
	first := b.Publish(ada, "who has #tea for @ben?")
	reply := func(author social.User, parent int64, body string) int64 {
		post, err := b.Posts.Reply(b.Ctx, author, parent, body)
		if err != nil {
			b.T.Fatal(err)
		}
		return post.ID
	}
	second := reply(ben, first, "I have")
	third := reply(ada, second, "more #tea, please")
	repost, err := b.Posts.Repost(b.Ctx, cem, first)
	if err != nil || repost.ID != 4 {
		b.T.Fatal(repost, err)
	}
	deletedParent := reply(cem, third, "oops")
	reply(ben, deletedParent, "what?")
	deletedLeaf := reply(dan, first, "nothing")
	for _, err := range []error{
		b.Reactions.Like(b.Ctx, ben, first), b.Reactions.Like(b.Ctx, ada, first), b.Reactions.Bookmark(b.Ctx, ben, first), b.Posts.Delete(b.Ctx, cem, deletedParent), b.Posts.Delete(b.Ctx, dan, deletedLeaf),
		b.Relations.Block(b.Ctx, cem, dan, time.Time{}), b.Relations.Mute(b.Ctx, cem, ben, time.Time{}),
		b.Profiles.Pin(b.Ctx, ada, first),
	} {
		if err != nil {
			b.T.Fatal(err)
		}
	}
	if err := b.Posts.Edit(b.Ctx, ben, second, "I have some"); err != nil {
		b.T.Fatal(err)
	}
	b.Redis("ZADD", "following_tags:2", "5", "tea")
	b.Redis("ZADD", "tag_followers:tea", "5", "2")
	b.Eventually("the tasks to end", func() bool {
		return b.isIdle()
	})
	b.Clock.Advance(time.Minute)
}

// Check finds damage in conversations, and Repair repairs the damage.
func TestCheckFindsInConversations(t *testing.T) {
	t.Parallel()
	for want, damage := range map[string]func(b *bundle){
		`post:1: counts "7" likes, but has 2`:            func(b *bundle) { b.Redis("HSET", "post:1", "likes", "7") },
		`post:1: counts "x" reposts, but has 1`:          func(b *bundle) { b.Redis("HSET", "post:1", "reposts", "x") },
		`post:1: counts "1" replies, but has 0`:          func(b *bundle) { b.Redis("DEL", "replies:{post:1}") },
		"likes post 1: \"\" in likers":                   func(b *bundle) { b.Redis("DEL", "likers:{post:1}") },
		"user 2 likes post 1: \"":                        func(b *bundle) { b.Redis("ZREM", "liked:2", "1") },
		"user 3 has reposted post 1: \"4\"":              func(b *bundle) { b.Redis("DEL", "reposted:3") },
		"post:4: is not the repost of post 1":            func(b *bundle) { b.Redis("DEL", "reposters:{post:1}") },
		"post 4 is not the repost of user 3":             func(b *bundle) { b.Redis("DEL", "post:4") },
		"post:4: repeats post 1, which does not exist":   func(b *bundle) { b.Redis("DEL", "post:1") },
		"conversation of post 1, which does not exist":   func(b *bundle) { b.Redis("DEL", "post:1") },
		"likers:{post:1}: post 1 does not exist":         func(b *bundle) { b.Redis("DEL", "post:1") },
		"post:2: not among the replies to post 1":        func(b *bundle) { b.Redis("SREM", "replies:{post:1}", "2") },
		`"3" is not a reply to this post`:                func(b *bundle) { b.Redis("SADD", "replies:{post:1}", "3") },
		"post:5: is deleted and has replies":             func(b *bundle) { b.Redis("DEL", "stubs:{post:3}") },
		"post:7: is deleted and has no replies":          func(b *bundle) { b.Redis("ZADD", "thread:1", "7", "7") },
		`"3" is not a deleted reply to this post`:        func(b *bundle) { b.Redis("SADD", "stubs:{post:3}", "3") },
		`"5" is not a reply to this post`:                func(b *bundle) { b.Redis("SADD", "replies:{post:3}", "5") },
		"post:3: is not in thread:1":                     func(b *bundle) { b.Redis("ZREM", "thread:1", "3") },
		"thread:1: post 4 does not belong here":          func(b *bundle) { b.Redis("ZADD", "thread:1", "4", "4") },
		"but its parent is in that of post 1":            func(b *bundle) { b.Redis("HSET", "post:3", "root", "2") },
		"is not in profile_replies:2":                    func(b *bundle) { b.Redis("DEL", "profile_replies:2") },
		"profile:2: post 2 does not belong here":         func(b *bundle) { b.Redis("ZADD", "profile:2", "2", "2") },
		"profile_replies:1: post 1 does not belong here": func(b *bundle) { b.Redis("ZADD", "profile_replies:1", "1", "1") },
		"profile_replies:3: post 5 is deleted":           func(b *bundle) { b.Redis("ZADD", "profile_replies:3", "5", "5") },
		"timeline: post:2 is a reply":                    func(b *bundle) { b.Redis("LINSERT", "timeline", "BEFORE", "1", "2") },
		"timeline: post:4 is a repost":                   func(b *bundle) { b.Redis("LPUSH", "timeline", "4") },
		"timeline: post:5 is deleted":                    func(b *bundle) { b.Redis("LPUSH", "timeline", "5") },
		"post:5: is deleted, but still has its text":     func(b *bundle) { b.Redis("HSET", "post:5", "body", "oops") },
		"post:1: is not in tag:tea":                      func(b *bundle) { b.Redis("ZREM", "tag:tea", "1") },
		"tag:tea: post 2 does not belong here":           func(b *bundle) { b.Redis("ZADD", "tag:tea", "2", "2") },
		"tag:tea: a string, but Retwis":                  func(b *bundle) { b.Redis("DEL", "tag:tea"); b.Redis("SET", "tag:tea", "x") },
		"user 2 follows #tea: \"":                        func(b *bundle) { b.Redis("DEL", "tag_followers:tea") },
		"user 4 follows #tea: \"\"":                      func(b *bundle) { b.Redis("ZADD", "tag_followers:tea", "5", "4") },
		"user 3 has blocked user 4: \"":                  func(b *bundle) { b.Redis("DEL", "blockers:4") },
		"user 1 has blocked user 2: \"\"":                func(b *bundle) { b.Redis("ZADD", "blockers:2", "inf", "1") },
		"user 4 follows user 3, although":                func(b *bundle) { b.follows("4", "3") },
		"user 3 follows user 4, although":                func(b *bundle) { b.follows("3", "4") },
		`muted:3: user "99" does not exist`:              func(b *bundle) { b.Redis("ZADD", "muted:3", "inf", "99") },
		"blocked:3: contains its owner":                  func(b *bundle) { b.Redis("ZADD", "blocked:3", "inf", "3") },
		"liked:99: user 99 does not exist":               func(b *bundle) { b.Redis("ZADD", "liked:99", "5", "1") },
		`likers:{post:1}: user "99" does not exist`:      func(b *bundle) { b.Redis("ZADD", "likers:{post:1}", "5", "99") },
		`bookmarks:2: "x" is not a post id`:              func(b *bundle) { b.Redis("ZADD", "bookmarks:2", "5", "x") },
		`notifications:1: not a notification: "1-1 x"`:   func(b *bundle) { b.Redis("RPUSH", "notifications:1", "1-1 x") },
		"likers:{post:1}: a string, but Retwis":          func(b *bundle) { b.Redis("DEL", "likers:{post:1}"); b.Redis("SET", "likers:{post:1}", "x") },
		"thread:1: a string, but Retwis":                 func(b *bundle) { b.Redis("DEL", "thread:1"); b.Redis("SET", "thread:1", "x") },
		`pinned post "2"`:                                func(b *bundle) { b.Redis("HSET", "user:1", "pinned", "2") },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.conversation()
			b.WantHealthy()
			damage(b)
			var found []string
			result, err := b.Check(check.Options{Report: func(p check.Problem) { found = append(found, p.String()) }})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(found, "\n"), want) || result.Problems+result.Leftovers == 0 {
				t.Errorf("found %q, want %q", found, want)
			}
			if repaired := b.repair(); repaired.Repaired == 0 || repaired.Remaining != 0 {
				t.Errorf("repair = %+v", repaired)
			}
			b.wantConsistent(want)
		})
	}
}

// follows writes both directions of a follow.
func (b *bundle) follows(from, to string) {
	b.Redis("ZADD", "following:"+from, "5", to)
	b.Redis("ZADD", "followers:"+to, "5", from)
}
