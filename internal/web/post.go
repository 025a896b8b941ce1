package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/rivo/uniseg"

	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
)

func (s *Server) postPage(req *request) error {
	return s.showPost(req, http.StatusOK, statusForm{})
}

// repliesOnPage is how many replies the page of a post has.
const repliesOnPage = 100

// showPost shows a post with its conversation, and the form for a reply.
func (s *Server) showPost(req *request, status int, form statusForm) error {
	id, ok := parseID(req.r.PathValue("id"))
	if !ok {
		return errNoPost
	}
	after, err := parseCursor(req.r.URL.Query(), "after")
	if err != nil {
		return err
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	since := s.live.Position() // before the conversation is read
	thread, err := s.app.Threads.Get(req.ctx, v, id, after, repliesOnPage)
	if errors.Is(err, social.ErrNotFound) {
		return errNoPost
	}
	if err != nil {
		return err
	}
	p := thread.Post.Item.Post.Post
	path := postPath(p)
	if status == http.StatusOK && (id != p.ID || req.r.PathValue("name") != p.Author.Name) {
		return req.redirectToName(path)
	}
	view, err := req.conversation(v, thread)
	if err != nil {
		return err
	}
	view.After = after
	if view.Own = p.Author.ID == v.User.ID; view.Own {
		profile, err := s.app.Profiles.Get(req.ctx, v.User.ID)
		if err != nil {
			return err
		}
		view.Pinned = profile.Pinned == p.ID
	}
	form.Action, form.ID = path+"/reply", "reply"
	f := req.page(p.Author.Name + ": " + opening(p.Body, 60))
	f.Description = opening(p.Body, 200)
	if f = req.live(f, liveThread(cmp.Or(p.Root, p.ID)), after != 0); f.Live != "" {
		f.Since = since
	}
	f.Head = postHead(req.origin()+path, f.Title, f.Description, p)
	return req.render(status, postView(f, path, p, view, form))
}

// conversation are the parts of a thread, for its page.
type conversation struct {
	Before threadPosts // what the post replies to
	Post   postList
	After  int64       // the cursor of the page of replies
	Below  threadPosts // the replies
	Next   int64
	More   bool // the conversation begins above the first post of the page
	Root   int64
	Own    bool // the viewer wrote the post
	Pinned bool // it is the first on the viewer's profile
}

func (req *request) conversation(v *social.Viewer, thread posts.Thread) (conversation, error) {
	items := []timeline.Item{thread.Post.Item}
	for _, p := range slices.Concat(thread.Ancestors, thread.Replies) {
		if p.Stub == posts.NoStub {
			items = append(items, p.Item)
		}
	}
	_, err := req.show(v, items)
	return conversation{
		Before: threadPosts{v, thread.Ancestors}, Below: threadPosts{v, thread.Replies},
		Post: postList{viewer: v, items: items[:1]}, Next: thread.Next, More: thread.Further, Root: thread.Root,
	}, err
}

// threadPosts are posts of a conversation, each under the one that it replies to.
type threadPosts struct {
	viewer *social.Viewer
	posts  []posts.ThreadPost
}

// maxDepth is how far replies are indented: those below stay in line, and each names the
// author that it answers.
const maxDepth = 4

// Render makes them a part of a page.
func (t threadPosts) Render(ctx context.Context, w io.Writer) error {
	for _, p := range t.posts {
		at := `<div class="at depth-` + strconv.Itoa(min(max(p.Depth-1, 0), maxDepth)) + `">`
		if p.Depth-1 > maxDepth {
			at = `<div class="at beside depth-` + strconv.Itoa(maxDepth) + `">`
		}
		if _, err := io.WriteString(w, at); err != nil {
			return err
		}
		var content templ.Component = postList{viewer: t.viewer, items: []timeline.Item{p.Item}}
		if p.Stub != posts.NoStub {
			content = stub(p)
		}
		if err := content.Render(ctx, w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "</div>"); err != nil {
			return err
		}
	}
	return nil
}

// origin is the address of the site, as the browser knows it.
func (req *request) origin() string {
	if req.overTLS() {
		return "https://" + req.r.Host
	}
	return "http://" + req.r.Host
}

// opening is the beginning of a text, on one line, of at most so many characters.
func opening(body string, limit int) string {
	body = strings.Join(strings.Fields(body), " ")
	rest, state := body, -1
	for n := 0; rest != ""; n++ {
		if n == limit-1 && uniseg.GraphemeClusterCount(rest) > 1 {
			return strings.TrimSpace(body[:len(body)-len(rest)]) + "…"
		}
		_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return body
}

// history shows the earlier texts of a post.
func (s *Server) history(req *request) error {
	v, err := req.person()
	if err != nil {
		return err
	}
	item, err := req.item(v)
	if err != nil {
		return err
	}
	path, elsewhere := req.canonical(item, "/history")
	if elsewhere {
		return req.redirectToName(path)
	}
	edits, err := s.app.Posts.Edits(req.ctx, item.Post.ID)
	if err != nil {
		return err
	}
	post, err := req.show(v, []timeline.Item{item})
	if err != nil {
		return err
	}
	req.w.Header()["X-Robots-Tag"] = headerNoIndex // what was replaced is not to be found by its words
	return req.render(http.StatusOK, historyPage(req.page("Earlier versions"), postPath(item.Post.Post), post, edits))
}

func (s *Server) likers(req *request) error {
	return s.peopleOfPost(req, "likes", s.app.Reactions.Likers)
}

func (s *Server) reposters(req *request) error {
	return s.peopleOfPost(req, "reposts", s.app.Reactions.Reposters)
}

// peopleOfPost lists who has done something with a post.
func (s *Server) peopleOfPost(req *request, what string,
	list func(ctx context.Context, v *social.Viewer, id int64, cursor string, limit int) (social.People, error),
) error {
	v, err := req.person()
	if err != nil {
		return err
	}
	item, err := req.item(v)
	if err != nil {
		return err
	}
	path, elsewhere := req.canonical(item, "/"+what)
	if elsewhere {
		return req.redirectToName(path)
	}
	cursor := req.r.URL.Query().Get("before")
	people, err := list(req.ctx, v, item.Post.ID, cursor, peopleOnPage)
	if err != nil {
		return err
	}
	view, err := req.peopleView(v, people, path)
	if err != nil {
		return err
	}
	title := "Liked by"
	if what == "reposts" {
		title = "Reposted by"
	}
	return req.render(http.StatusOK, peopleOfPostPage(req.page(title), postPath(item.Post.Post), view))
}
