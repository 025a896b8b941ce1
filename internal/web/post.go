package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

func (s *Server) postPage(req *request) error {
	return s.showPost(req, http.StatusOK, view.StatusForm{})
}

// repliesOnPage is how many replies the page of a post has.
const repliesOnPage = 100

// showPost shows a post with its conversation, and the form for a reply.
func (s *Server) showPost(req *request, status int, form view.StatusForm) error {
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
	path := view.PostPath(p)
	if status == http.StatusOK && (id != p.ID || req.r.PathValue("name") != p.Author.Name) {
		return req.redirectToName(path)
	}
	data, all := view.NewConversation(v, thread)
	if err := req.nameParents(all); err != nil {
		return err
	}
	data.After = after
	if data.Own = p.Author.ID == v.User.ID; data.Own {
		profile, err := s.app.Profiles.Get(req.ctx, v.User.ID)
		if err != nil {
			return err
		}
		data.Pinned = profile.Pinned == p.ID
	}
	form.Action, form.ID = path+"/reply", "reply"
	f := req.page(p.Author.Name + ": " + view.Opening(p.Body, 60))
	f.Description = view.Opening(p.Body, 200)
	if f = req.live(f, liveThread(cmp.Or(p.Root, p.ID)), after != 0); f.Live != "" {
		f.Since = since
	}
	f.Head = view.PostHead(req.origin()+path, f.Title, f.Description, p)
	return req.render(status, view.PostPage(f, path, p, data, form))
}

// origin is the address of the site, as the browser knows it.
func (req *request) origin() string {
	if req.overTLS() {
		return "https://" + req.r.Host
	}
	return "http://" + req.r.Host
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
	return req.render(http.StatusOK, view.HistoryPage(req.page("Earlier versions"), view.PostPath(item.Post.Post), post, edits))
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
	data, err := req.peopleView(v, people, path)
	if err != nil {
		return err
	}
	title := "Liked by"
	if what == "reposts" {
		title = "Reposted by"
	}
	return req.render(http.StatusOK, view.PeopleOfPostPage(req.page(title), view.PostPath(item.Post.Post), data))
}
