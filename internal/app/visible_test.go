package app_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/social/notify"
	"retwis/internal/social/people"
	"retwis/internal/social/posts"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// listCase is a list of the service. read returns the users on the list, or the authors of the
// posts on it, as a viewer sees it.
type listCase struct {
	read func(v *social.Viewer) ([]int64, error)
	rule rule
	// never lists viewers whose list never includes ada.
	never []string
}

// rule is the effect of a mute on a list.
type rule int

const (
	listed      rule = iota // a mute hides the muted user
	asked                   // the viewer asked for the user or post: a mute has no effect
	listsPeople             // lists of people include muted people
)

func authors(items []timeline.Item, err error) ([]int64, error) {
	var ids []int64
	for _, item := range items {
		ids = append(ids, item.Entry.Author.ID, item.Post.Author.ID)
	}
	return ids, err
}

func ofListing(list timeline.Listing, err error) ([]int64, error) { return authors(list.Items, err) }

func ofMarked(page posts.MarkedPosts, err error) ([]int64, error) { return authors(page.Items, err) }

func ofPeople(page social.People, err error) ([]int64, error) { return userIDs(page.Users), err }

func userIDs(users []social.User) []int64 {
	var ids []int64
	for _, user := range users {
		ids = append(ids, user.ID)
	}
	return ids
}

// notLists names the methods that take a viewer and return no posts or people, or only the viewer's
// own. All other such methods are in the table of TestVisible.
var notLists = []string{
	"CountsFor", "Library.Add", "Library.Put", "Mark", "Marks", "Relations.Get", "Relations.GetMany",
	"Select",
	"Media.Find", // a picture that strangers may see is public; for others, see TestHidden of package media
	"Trends.Top", // see TestVisible of package trends
	"Unread", "UnreadNow",
}

// TestVisible checks every list of the service for viewers in every relation to ada. The test fails
// if a list is missing from its table.
func TestVisible(t *testing.T) {
	t.Parallel()
	twoProcesses(t, func(t *testing.T, b, _ *bundle) {
		ada, carl := b.NewUser("ada"), b.NewUser("carl")
		viewers := map[string]social.User{"stranger": {}, "author": ada}
		for _, name := range []string{"blocked", "blocker", "muter", "follower", "other", "staff", "blocked staff"} {
			viewers[name] = b.NewUser("the_" + strings.ReplaceAll(name, " ", "_")) // "staff" is reserved
		}
		for _, name := range []string{"staff", "blocked staff"} {
			staff := viewers[name]
			b.must(b.Moderation.SetRole(b.Ctx, social.Operator, staff.ID, social.Moderator, ""))
			staff.Role = social.Moderator
			viewers[name] = staff
		}
		b.Connect(ada, carl)
		b.Connect(carl, ada)
		b.Connect(viewers["follower"], ada)
		post, ofCarl := b.Publish(ada, "a #tag"), b.Publish(carl, "hello")
		reply := b.reply(ada, ofCarl, "a reply")
		for _, user := range []social.User{carl, ada} {
			b.must(b.Reactions.Like(b.Ctx, user, post))
		}
		b.must(b.Reactions.Like(b.Ctx, ada, ofCarl))
		byCarl, err := b.Posts.Repost(b.Ctx, carl, post)
		b.must(err)
		repost := byCarl.ID
		_, err = b.Posts.Repost(b.Ctx, ada, ofCarl)
		b.must(err)
		for name, user := range viewers {
			if user.ID == 0 {
				continue
			}
			b.must(b.Reactions.Bookmark(b.Ctx, user, post))
			b.Notifications.Notify(b.Ctx, user.ID, notify.Reply, ada.ID, reply, time.Time{})
			if name != "follower" && name != "author" {
				b.Connect(user, carl)
			}
		}
		b.must(b.Relations.Mute(b.Ctx, viewers["muter"], ada, time.Time{}))
		b.must(b.Relations.Block(b.Ctx, ada, viewers["blocked"], time.Time{}))
		b.must(b.Relations.Block(b.Ctx, ada, viewers["blocked staff"], time.Time{}))
		b.must(b.Relations.Block(b.Ctx, viewers["blocker"], ada, time.Time{}))
		// A blocked moderator can only read.
		if _, err := b.Posts.Reply(b.Ctx, viewers["blocked staff"], post, "hi"); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("reply of a blocked moderator: %v, want ErrNotFound", err)
		}
		if err := b.Reactions.Like(b.Ctx, viewers["blocked staff"], post); !errors.Is(err, social.ErrNotFound) {
			t.Errorf("like of a blocked moderator: %v, want ErrNotFound", err)
		}
		for _, user := range viewers {
			if user.ID == 0 {
				continue
			}
			// The list is as before the block, and not yet cleared.
			b.Redis("DEL", storage.HomeKey(user.ID))
			b.Redis("RPUSH", storage.HomeKey(user.ID), storage.Itoa(repost), storage.Itoa(post))
			if b.DB.Mode() == rueidis.ClientModeCluster {
				b.Redis("RPUSH", storage.HomeKey(user.ID), "0")
			}
			if user.ID != ada.ID {
				b.Redis("ZADD", storage.FollowersKey(user.ID), "5", storage.Itoa(ada.ID))
			}
		}

		lists := map[string]listCase{
			"HomePosts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.HomePosts(b.Ctx, v, 0, 50))
			}, never: []string{"stranger"}},
			"MemberPosts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.MemberPosts(b.Ctx, v, []int64{ada.ID, carl.ID}, 0, 50))
			}},
			"Library.Posts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Library.Posts(b.Ctx, v, people.List{Members: []int64{ada.ID, carl.ID}}, 0, 50))
			}},
			"PublicPosts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.PublicPosts(b.Ctx, v, 0, 50))
			}},
			"ProfilePosts of carl": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.ProfilePosts(b.Ctx, v, carl.ID, 0, 50))
			}},
			"ProfilePosts of ada": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.ProfilePosts(b.Ctx, v, ada.ID, 0, 50))
			}},
			"ProfileReplies of ada": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Lists.ProfileReplies(b.Ctx, v, ada.ID, 0, 50))
			}},
			"Items": {read: func(v *social.Viewer) ([]int64, error) {
				return authors(b.Lists.Items(b.Ctx, v, post, reply, repost))
			}},
			"PostPage": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				return onePost(b.Lists.PostPage(b.Ctx, v, post))
			}},
			"PostPage of a repost": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				return onePost(b.Lists.PostPage(b.Ctx, v, repost))
			}},
			"Threads.Get of ada": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				thread, err := b.Threads.Get(b.Ctx, v, post, 0, 50)
				if thread.Post.Stub == posts.StubMuted {
					err = errors.Join(err, errors.New("a viewer who asked for a post gets a stub"))
				}
				return onePost(thread.Post.Item, err)
			}},
			"Threads.Get of carl": {read: func(v *social.Viewer) ([]int64, error) {
				return ofThread(b.Threads.Get(b.Ctx, v, ofCarl, 0, 50))
			}},
			"TagPosts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofListing(b.Tags.TagPosts(b.Ctx, v, "Tag", 0, 50))
			}},
			"LikedPosts of carl": {read: func(v *social.Viewer) ([]int64, error) {
				return ofMarked(b.Reactions.LikedPosts(b.Ctx, v, carl.ID, "", 50))
			}},
			"LikedPosts of ada": {rule: asked, read: func(v *social.Viewer) ([]int64, error) {
				return ofMarked(b.Reactions.LikedPosts(b.Ctx, v, ada.ID, "", 50))
			}},
			"BookmarkedPosts": {read: func(v *social.Viewer) ([]int64, error) {
				return ofMarked(b.Reactions.BookmarkedPosts(b.Ctx, v, "", 50))
			}, never: []string{"stranger"}},
			"Notifications.Page": {read: func(v *social.Viewer) ([]int64, error) {
				page, err := b.Notifications.Page(b.Ctx, v, "", 50)
				var ids []int64
				for _, group := range page.Groups {
					if group.Kind != notify.Decided { // lists the viewer as the actor
						ids = append(ids, userIDs(group.Actors)...)
					}
				}
				return ids, err
			}, never: []string{"stranger", "author"}},
			"Likers": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				return ofPeople(b.Reactions.Likers(b.Ctx, v, ofCarl, "", 50))
			}},
			"Reposters": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				return ofPeople(b.Reactions.Reposters(b.Ctx, v, ofCarl, "", 50))
			}},
			"Followers": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				return ofPeople(b.Follows.Followers(b.Ctx, v, carl.ID, "", 50))
			}},
			"Following": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				return ofPeople(b.Follows.Following(b.Ctx, v, carl.ID, "", 50))
			}},
			"CommonFollowers": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				common, err := b.Follows.CommonFollowers(b.Ctx, v, carl.ID)
				if common.N == 0 {
					return nil, err
				}
				return []int64{ada.ID}, err // no other user follows both
			}, never: []string{"stranger", "author"}},
			"CompleteNames": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				users, err := b.Completions.CompleteNames(b.Ctx, v, "@ad", 20)
				return userIDs(users), err
			}},
			"Search.Posts": {read: func(v *social.Viewer) ([]int64, error) {
				q, err := search.Parse("tag")
				b.must(err)
				return ofListing(b.Search.Posts(b.Ctx, v, q, 0, 50))
			}},
			"Search.People": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				users, err := b.Search.People(b.Ctx, v, "ada")
				return userIDs(users), err
			}},
			"LatestPosts": {read: func(v *social.Viewer) ([]int64, error) {
				latest, err := b.Lists.LatestPosts(b.Ctx, v, []int64{ada.ID})
				if err != nil || latest[0] == nil {
					return nil, err
				}
				return []int64{latest[0].Author.ID}, nil
			}},
			"Suggestions.Get": {read: func(v *social.Viewer) ([]int64, error) { // carl follows ada, who has posted
				return ofSuggestions(b.Suggestions.Get(b.Ctx, v, 30))
			}, never: []string{"author", "follower"}},
			"Suggestions.Beside": {read: func(v *social.Viewer) ([]int64, error) {
				return ofSuggestions(b.Suggestions.Beside(b.Ctx, v, 30))
			}, never: []string{"author", "follower"}},
			"Suggestions.Beside, just after a change": {read: func(v *social.Viewer) ([]int64, error) {
				return ofSuggestions(b.Suggestions.Beside(social.WithFresh(b.Ctx), v, 30))
			}, never: []string{"author", "follower"}},
			"Suggestions.InMemory": {read: func(v *social.Viewer) ([]int64, error) {
				list, ok := b.Suggestions.InMemory(b.Ctx, v, 30)
				if !ok {
					return ofSuggestions(b.Suggestions.Get(b.Ctx, v, 30))
				}
				return ofSuggestions(list, nil)
			}, never: []string{"author", "follower"}},
			"LatestUsers": {rule: listsPeople, read: func(v *social.Viewer) ([]int64, error) {
				users, err := b.Users.LatestUsers(b.Ctx, v, 50)
				return userIDs(users), err
			}},
		}
		tested := slices.Clone(notLists)
		for name := range lists {
			tested = append(tested, strings.TrimSuffix(strings.Fields(name)[0], ","))
		}
		for _, name := range methodsForViewers() {
			if _, method, _ := strings.Cut(name, "."); !slices.Contains(tested, name) && !slices.Contains(tested, method) {
				t.Errorf("%s takes a viewer and is not tested", name)
			}
		}
		public := []string{"PublicPosts", "TagPosts", "CompleteNames", "LatestUsers", "Search.Posts", "Search.People", "LatestPosts"}
		for name := range lists {
			if strings.HasPrefix(name, "Suggestions.") {
				public = append(public, name)
			}
		}
		for _, standing := range []social.Standing{social.Good, social.Limited, social.Suspended, social.Good} {
			b.must(b.Moderation.SetStanding(b.Ctx, social.Operator, ada.ID, moderation.StandingChange{Standing: standing}))
			for name, user := range viewers {
				v := b.viewer(user)
				for list, entry := range lists {
					want := !slices.Contains(entry.never, name)
					switch name {
					case "blocked", "blocker":
						want = false
					case "muter":
						want = want && entry.rule != listed
					case "blocked staff":
						want = want && entry.rule != listed
					case "staff":
						want = want && (standing != social.Suspended || entry.rule != listed)
					default:
						want = want && (standing != social.Suspended || name == "author")
					}
					if standing == social.Suspended && name == "muter" || standing != social.Good && name != "author" && slices.Contains(public, list) {
						want = false
					}
					ids, err := entry.read(v)
					if err != nil {
						t.Errorf("%s as %s, ada in %v standing: %v", list, name, standing, err)
					}
					if got := slices.Contains(ids, ada.ID); got != want {
						t.Errorf("%s as %s, ada in %v standing: ada is listed %v, want %v", list, name, standing, got, want)
					}
				}
			}
		}
		b.must(b.Moderation.HidePost(b.Ctx, social.Operator, post, "", ""))
		for name, user := range viewers {
			for list, entry := range lists {
				switch list {
				case "PublicPosts", "TagPosts", "Search.Posts", "PostPage", "PostPage of a repost", "Threads.Get of ada", "HomePosts", "ProfilePosts of carl":
				default:
					continue // the list has other posts of ada
				}
				ids, err := entry.read(b.viewer(user))
				want := name == "author" && !slices.Contains(entry.never, name) || strings.HasSuffix(name, "staff") && entry.rule == asked
				if got := slices.Contains(ids, ada.ID); err != nil || got && !want || want && entry.rule == asked && !got {
					t.Errorf("%s as %s: the hidden post is listed %v, want %v (%v)", list, name, got, want, err)
				}
			}
		}
	})
}

// methodsForViewers returns the methods of the fields of app.App that take a viewer, each with the
// name of its field.
func methodsForViewers() (names []string) {
	parts, viewer := reflect.TypeFor[app.App](), reflect.TypeFor[*social.Viewer]()
	for part := range parts.NumField() {
		field := parts.Field(part)
		for i := range field.Type.NumMethod() {
			method := field.Type.Method(i)
			for j := range method.Type.NumIn() {
				if field.IsExported() && method.Type.In(j) == viewer {
					names = append(names, field.Name+"."+method.Name)
				}
			}
		}
	}
	return names
}

// ofThread returns the authors of the posts of a conversation that are shown in full, not as stubs.
func ofThread(thread posts.Thread, err error) ([]int64, error) {
	if errors.Is(err, social.ErrNotFound) {
		return nil, nil
	}
	var ids []int64
	for _, place := range append(thread.Replies, thread.Post) {
		if place.Stub == posts.NoStub && err == nil {
			ids = append(ids, place.Post.Author.ID)
		}
	}
	return ids, err
}

// onePost returns the authors on the page of a post, or none if it is not found.
func onePost(item timeline.Item, err error) ([]int64, error) {
	if errors.Is(err, social.ErrNotFound) {
		return nil, nil
	}
	return authors([]timeline.Item{item}, err)
}

func ofSuggestions(list []people.Suggestion, err error) (ids []int64, _ error) {
	for _, suggestion := range list {
		ids = append(ids, suggestion.User.ID)
	}
	return ids, err
}
