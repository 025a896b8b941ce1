package posts_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redistest"
	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/socialtest"
)

// scene is the setting of an action: dan follows ada and bob, eve follows ada and the tag #gophers,
// cid follows nobody and has blocked dan.
type scene struct {
	ada, bob, cid, dan, eve social.User
	post, other             int64 // by ada, with a tag; by cid
	reply                   int64 // by bob, to post
	repost                  int64 // by bob of post
	tag, tag2               string
}

func newScene(b *bundle, n int) scene {
	b.T.Helper()
	user := func(name string) social.User { return b.NewUser(fmt.Sprint(name, n)) }
	s := scene{ada: user("ada"), bob: user("bob"), cid: user("cid"), dan: user("dan"), eve: user("eve")}
	for _, follow := range [][2]social.User{{s.dan, s.ada}, {s.dan, s.bob}, {s.eve, s.ada}} {
		b.Connect(follow[0], follow[1])
	}
	s.tag, s.tag2 = fmt.Sprint("gophers", n), fmt.Sprint("others", n)
	if err := b.Tags.FollowTag(b.Ctx, s.eve, s.tag); err != nil {
		b.T.Fatal(err)
	}
	s.post = b.Publish(s.ada, "about #"+s.tag)
	s.other = b.Publish(s.cid, "something else")
	reply, err := b.Posts.Reply(b.Ctx, s.bob, s.post, "an answer")
	if err != nil {
		b.T.Fatal(err)
	}
	repost, err := b.Posts.Repost(b.Ctx, s.bob, s.post)
	if err != nil {
		b.T.Fatal(err)
	}
	if err := b.Reactions.Like(b.Ctx, s.cid, s.post); err != nil {
		b.T.Fatal(err)
	}
	if err := b.Relations.Block(b.Ctx, s.cid, s.dan, time.Time{}); err != nil {
		b.T.Fatal(err)
	}
	s.reply, s.repost = reply.ID, repost.ID
	return s
}

// state describes everything that an action of a scene can change, in the same form for every
// scene.
func (b *bundle) state(s scene) string {
	b.T.Helper()
	var cmds rueidis.Commands
	s.describe(func(args ...string) string {
		cmds = append(cmds, b.DB.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).ReadOnly())
		return ""
	})
	replies := b.DB.DoMulti(b.Ctx, cmds...) // one batch, because the test spends most of its time here
	return s.describe(func(...string) string {
		res := replies[0]
		replies = replies[1:]
		if err := res.Error(); err != nil && !rueidis.IsRedisNil(err) {
			b.T.Fatal(err)
		}
		if list, err := res.AsStrSlice(); err == nil {
			return strings.Join(list, " ")
		}
		if n, err := res.AsInt64(); err == nil {
			return fmt.Sprint(n)
		}
		text, _ := res.ToString()
		return text
	})
}

// describe returns the state that a series of reads shows. The sequence of reads does not depend on
// the replies.
func (s scene) describe(read func(args ...string) string) string {
	people := []social.User{s.ada, s.bob, s.cid, s.dan, s.eve}
	posts := map[string]string{}
	for i, id := range []int64{s.post, s.other, s.reply, s.repost} {
		posts[fmt.Sprint(id)] = []string{"post", "other", "reply", "repost"}[i]
	}
	users := map[string]string{}
	for _, u := range people {
		users[fmt.Sprint(u.ID)] = u.Name[:3]
	}
	var text strings.Builder
	show := func(names map[string]string, args ...string) {
		var shown []string
		for _, id := range strings.Fields(read(args...)) {
			if names[id] == "" {
				names[id] = "new"
			}
			shown = append(shown, names[id])
		}
		if strings.HasPrefix(args[1], "follow") {
			slices.Sort(shown)
		}
		key := args[1]
		for id, name := range users {
			key = strings.TrimSuffix(key, ":"+id) + map[bool]string{true: " of " + name}[strings.HasSuffix(key, ":"+id)]
		}
		fmt.Fprintf(&text, "%s: %s\n", key, strings.Join(shown, " "))
	}
	for _, u := range people {
		for _, prefix := range []string{"profile", "profile_replies", "liked", "reposted"} {
			show(posts, "ZRANGE", fmt.Sprintf("%s:%d", prefix, u.ID), "0", "-1")
		}
		show(posts, "LRANGE", fmt.Sprintf("posts:%d", u.ID), "0", "-1")
		for _, prefix := range []string{"following", "followers", "blocked", "blockers"} {
			show(users, "ZRANGE", fmt.Sprintf("%s:%d", prefix, u.ID), "0", "-1")
		}
		bio, searched := read("HGET", fmt.Sprintf("user:%d", u.ID), "bio"), read("HGET", fmt.Sprintf("user:%d", u.ID), "searched")
		fmt.Fprintln(&text, bio, strings.HasSuffix(searched, bio), strings.Count(searched, "\x00"))
	}
	for _, id := range []int64{s.post, s.other, s.reply, s.repost} {
		text.WriteString(posts[fmt.Sprint(id)] + "\n")
		key := fmt.Sprintf("post:%d", id)
		for _, field := range []string{"body", "replies", "reposts", "likes"} {
			fmt.Fprintln(&text, read("HGET", key, field))
		}
		fmt.Fprintln(&text, read("HEXISTS", key, "deleted"), read("LLEN", "edits:{"+key+"}"))
		for _, prefix := range []string{"replies", "stubs"} {
			fmt.Fprintln(&text, prefix, read("SCARD", prefix+":{"+key+"}"))
		}
		for _, prefix := range []string{"likers", "reposters"} {
			fmt.Fprintln(&text, prefix, read("ZCARD", prefix+":{"+key+"}"))
		}
		fmt.Fprintln(&text, "thread", read("ZCARD", fmt.Sprintf("thread:%d", id)))
	}
	all := strings.ReplaceAll(text.String(), s.tag, "gophers")
	all = strings.ReplaceAll(all, s.tag2, "others")
	return all + "tags " + read("ZCARD", "tag:"+s.tag) + read("ZCARD", "tag:"+s.tag2)
}

// actions holds the actions that a killed process performs. Repeating an action changes nothing,
// except for a post and a reply.
var actions = map[string]func(b *bundle, s scene) error{
	"repost":   func(b *bundle, s scene) error { _, err := b.Posts.Repost(b.Ctx, s.ada, s.post); return err },
	"unrepost": func(b *bundle, s scene) error { return b.Posts.Unrepost(b.Ctx, s.bob, s.post) },
	"delete":   func(b *bundle, s scene) error { return b.Posts.Delete(b.Ctx, s.ada, s.post) },
	"delete reply": func(b *bundle, s scene) error {
		return b.Posts.Delete(b.Ctx, s.bob, s.reply)
	},
	"edit": func(b *bundle, s scene) error {
		err := b.Posts.Edit(b.Ctx, s.ada, s.post, "about #"+s.tag2)
		return err
	},
	"post": func(b *bundle, s scene) error { _, err := b.Posts.Post(b.Ctx, s.ada, "more about #"+s.tag); return err },
	"reply": func(b *bundle, s scene) error {
		_, err := b.Posts.Reply(b.Ctx, s.ada, s.reply, "more about #"+s.tag2)
		return err
	},
	"profile": func(b *bundle, s scene) error {
		return b.Profiles.Edit(b.Ctx, s.ada, accounts.UserProfile{DisplayName: "Ada", Bio: "engines"})
	},
	"follow":   func(b *bundle, s scene) error { return b.Follows.Follow(b.Ctx, s.cid, s.ada) },
	"unfollow": func(b *bundle, s scene) error { return b.Follows.Unfollow(b.Ctx, s.dan, s.ada) },
	"like":     func(b *bundle, s scene) error { return b.Reactions.Like(b.Ctx, s.eve, s.post) },
	"unlike":   func(b *bundle, s scene) error { return b.Reactions.Unlike(b.Ctx, s.cid, s.post) },
	"block":    func(b *bundle, s scene) error { return b.Relations.Block(b.Ctx, s.ada, s.dan, time.Time{}) },
	"unblock":  func(b *bundle, s scene) error { return b.Relations.Unblock(b.Ctx, s.cid, s.dan) },
}

// A process is killed after each command of an action, and another process resumes the action.
// Afterwards the action has happened either completely or not at all, and repeating the action
// leads to the same state as an uninterrupted run. Without the build tag long, some kill points are
// skipped, on a Cluster most.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for server, setup := range map[string]struct {
		open func(testing.TB) rueidis.Client
		step func(cut int64) int64
	}{
		"single":  {func(t testing.TB) rueidis.Client { return redistest.DB(t).Client(t) }, func(cut int64) int64 { return 1 + cut/6 }},
		"cluster": {func(t testing.TB) rueidis.Client { return redistest.Cluster(t, 3).Client(t) }, func(cut int64) int64 { return 2 + cut }},
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			client, step := setup.open(t), setup.step
			if redistest.Long {
				step = func(int64) int64 { return 1 }
			}
			b := on(t, client)
			n, partly := 0, 0
			for _, name := range slices.Sorted(maps.Keys(actions)) {
				action := actions[name]
				n++
				s := newScene(b, n)
				before := b.state(s)
				if err := action(b, s); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				after := b.state(s)
				if before == after {
					t.Fatalf("%s changes nothing", name)
				}
				partlyBefore := partly
				for cut, completed := int64(0), false; !completed; cut += step(cut) {
					n++
					s := newScene(b, n)
					completed = b.runKilled(client, cut, s, action)
					if b.state(s) != before && b.state(s) != after {
						partly++
					}
					b.Clock.Advance(time.Minute)
					if err := b.RetryTasks(b.Ctx); err != nil {
						t.Fatal(err)
					}
					if got := b.state(s); got != before && got != after {
						t.Fatalf("%s, killed after %d commands:\n%s\nwant the state before\n%s\nor after\n%s", name, cut, got, before, after)
					}
					if name != "post" && name != "reply" {
						if err := action(b, s); err != nil && !errors.Is(err, social.ErrNotFound) {
							t.Fatalf("repeated %s: %v", name, err)
						}
						if got := b.state(s); got != after {
							t.Fatalf("%s, killed after %d commands and repeated:\n%s\nwant\n%s", name, cut, got, after)
						}
					}
					if left := b.Redis("ZRANGE", "tasks", "0", "-1"); left != "" {
						t.Fatalf("%s, killed after %d commands: unfinished tasks %q", name, cut, left)
					}
					// On a single server, each of these actions is one script.
					isScript := slices.Contains([]string{"unfollow", "like", "unlike"}, name)
					if completed && partly == partlyBefore && server == "single" && !isScript {
						t.Errorf("no kill left %s partly done, so the test proves nothing", name)
					}
				}
			}
			if partly == 0 {
				t.Error("no kill left an action partly done, so the test proves nothing")
			}
			b.WantHealthy()
		})
	}
}

// runKilled performs an action in a process that is killed after some commands, and reports whether
// the action completed.
func (b *bundle) runKilled(client rueidis.Client, commands int64, s scene, action func(b *bundle, s scene) error) bool {
	b.T.Helper()
	process := socialtest.Dying(client, commands)
	service, err := app.New(process, app.Options{Logger: socialtest.Quiet(), Now: b.Clock.Now, HashParams: socialtest.CheapHash})
	if err != nil {
		b.T.Fatal(err)
	}
	defer service.Close()
	other := *b.Bundle
	other.App = service
	err = action(&bundle{&other}, s)
	return err == nil && process.Left() > 0
}
