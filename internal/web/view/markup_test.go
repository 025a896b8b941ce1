package view

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-h/templ"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/notify"
	"retwis/internal/social/people"
	"retwis/internal/social/search"
	"retwis/internal/social/timeline"
	"retwis/internal/watched"
)

// A post of the original program may have no time.
func TestPostWithoutTime(t *testing.T) {
	t.Parallel()
	html := render(t, onePost(social.Post{ID: 1, Author: social.User{Name: "ada"}, Body: "long ago"}))
	if strings.Contains(html, "<time") || !strings.Contains(html, "date unknown") {
		t.Error(html)
	}
}

// onePost returns a post on a page of its author.
func onePost(p social.Post) templ.Component {
	view := &timeline.View{Post: p}
	view.Rendered, _ = RenderPost(p, nil)
	return NewPosts(&social.Viewer{User: p.Author}, []timeline.Item{{Entry: view, Post: view}})
}

func render(t *testing.T, page templ.Component) string {
	t.Helper()
	var buf bytes.Buffer
	if err := page.Render(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// The author of a reply's parent is looked up again after a minute, because a cached reply does not
// change when that account is deleted.
func TestParentIsNamedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reply := &timeline.View{Post: social.Post{ID: 2, Parent: 1, Author: social.User{ID: 2, Name: "bob"}}}
		reply.Rendered, _ = RenderPost(reply.Post, nil)
		posts := NewPosts(&social.Viewer{}, []timeline.Item{{Entry: reply, Post: reply}})
		parent := &timeline.View{Post: social.Post{ID: 1, Author: social.User{ID: 1, Name: "ada"}}}
		posts.NameParents(posts.UnnamedParents(), []*timeline.View{parent})
		if html := render(t, posts); !strings.Contains(html, "@ada") || len(posts.UnnamedParents()) > 0 {
			t.Error(html)
		}
		time.Sleep(watched.MaxAge)
		if posts.NameParents(posts.UnnamedParents(), []*timeline.View{nil}); strings.Contains(render(t, posts), "ada") {
			t.Error("the page still names a deleted account")
		}
	})
}

// FuzzMarkup looks for a text that becomes markup on a page.
func FuzzMarkup(f *testing.F) {
	for _, text := range []string{"plain", "<script>alert(1)</script>", `" onmouseover="x`, "'>", "&lt;", "</textarea><b>", "javascript:x", "<", "\x00\xff<", "é<"} {
		f.Add(text)
	}
	pages := func(text string) []templ.Component {
		user := social.User{ID: 1, Name: text}
		return []templ.Component{
			onePost(social.Post{ID: 1, Author: user, Body: text, Edited: time.Unix(1, 0)}),
			repostLine(user),
			sidebar(Sidebar{People: []Person{{User: user, Why: Why{Bio: text}}}, Tags: []search.TrendingTag{{Trend: search.Trend{Name: text}}}, Back: text}),
			parentLink(social.Post{ID: 1, Author: user}),
			signedOutActions(PathOf(text, 1), social.PostCounts{}),
			statusBox(user, StatusForm{Status: text, Problem: "x" + text}),
			RegisterPage(Frame{Title: text, Here: text}, AccountForm{Username: text, Field: "username", Problem: "x" + text}),
			LoginPage(Frame{}, AccountForm{Username: text, Next: text, Field: "password", Problem: "x"}),
			ProfilePage(Frame{User: user, LoggedIn: true}, Profile{
				User: user, Common: people.Common{N: 1}, Relation: people.Relation{FollowedBy: true},
				Profile: accounts.UserProfile{DisplayName: text, Bio: "a", Links: []string{"https://example.com/" + text}},
			}, Feed{Path: "/u/x", Empty: text}),
			PeoplePage(Frame{Title: text, LoggedIn: true, User: user}, Profile{User: user, Tab: "followers"}, People{People: []Person{{User: user, Back: text}}, Next: text}),
			ProfileSettingsPage(Frame{User: user, LoggedIn: true}, ProfileForm{
				Profile: accounts.UserProfile{DisplayName: text, Bio: "x" + text, Links: []string{text}}, Field: "bio", Problem: "x" + text,
			}),
			NotificationsPage(Frame{User: user, LoggedIn: true}, alertTabs[0], []Alert{{
				Group: notify.Group{
					Kind: notify.Reply, Actors: []social.User{user, user}, Count: 2,
					Post: &timeline.Item{Post: &timeline.View{Post: social.Post{ID: 1, Author: user, Body: text}}},
				},
				Post: onePost(social.Post{ID: 1, Author: user, Body: text}).(Posts),
			}, {
				Group:    notify.Group{Kind: notify.Follow, Actors: []social.User{user}, Count: 1},
				Follower: Person{User: user, Back: text},
			}}, "", false),
			PostMenuPage(Frame{Title: text}, PostMenu{Path: PathOf(text, 1), Name: text, LoggedIn: true}),
			RelationPage(Frame{Title: text}, "mute", text, text),
			toast(Told{"muted", text}, text),
			TagPage(Frame{Title: text}, text, true, Feed{Path: TagPath(text)}),
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := pages("x")
		for i, page := range pages(text) {
			html, want := render(t, page), render(t, plain[i])
			for _, mark := range []string{"<", ">", `"`} {
				if got, want := strings.Count(html, mark), strings.Count(want, mark); got != want {
					t.Fatalf("page %d with %q has %d of %s, want %d: %s", i, text, got, mark, want, html)
				}
			}
		}
	})
}
