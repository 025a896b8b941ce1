package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/accounts"
	"retwis/internal/social/live"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

// postHandlers has the page of a post, its forms, and what can be done with it.
type postHandlers struct {
	live      *live.Hub
	posts     *posts.Service
	profiles  *accounts.Profiles
	reactions *posts.Reactions
	read      *reader
	threads   *posts.Threads
}

func (h *postHandlers) page(req *request) error {
	return h.show(req, http.StatusOK, view.StatusForm{})
}

// repliesOnPage is how many replies the page of a post has.
const repliesOnPage = 100

// show shows a post with its conversation, and the form for a reply.
func (h *postHandlers) show(req *request, status int, form view.StatusForm) error {
	id, ok := parseID(req.r.PathValue("id"))
	if !ok {
		return errNoPost
	}
	after, err := parseCursor(req.r.URL.Query(), "after")
	if err != nil {
		return err
	}
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	since := h.live.Position() // before the conversation is read
	thread, err := h.threads.Get(req.ctx, v, id, after, repliesOnPage)
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
	if err := h.read.nameParents(req, all); err != nil {
		return err
	}
	data.After = after
	if data.Own = p.Author.ID == v.User.ID; data.Own {
		profile, err := h.profiles.Get(req.ctx, v.User.ID)
		if err != nil {
			return err
		}
		data.Pinned = profile.Pinned == p.ID
	}
	form.Action, form.ID = path+"/reply", "reply"
	f := req.page(p.Author.Name + ": " + view.Opening(p.Body, 60))
	f.Description = view.Opening(p.Body, 200)
	if f = liveUpdates(h.live, f, liveThread(cmp.Or(p.Root, p.ID)), after != 0); f.Live != "" {
		f.Since = since
	}
	f.Head = view.PostHead(req.origin()+path, f.Title, f.Description, p)
	return req.render(status, view.PostPage(f, path, p, data, form))
}

// origin is the address of the site, as the browser knows it.
func (req *request) origin() string {
	if req.site.overTLS(req.r) {
		return "https://" + req.r.Host
	}
	return "http://" + req.r.Host
}

// history shows the earlier texts of a post.
func (h *postHandlers) history(req *request) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	item, err := h.read.post(req, v)
	if err != nil {
		return err
	}
	path, elsewhere := canonical(req, item, "/history")
	if elsewhere {
		return req.redirectToName(path)
	}
	edits, err := h.posts.Edits(req.ctx, item.Post.ID)
	if err != nil {
		return err
	}
	post, err := h.read.posts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	req.w.Header()["X-Robots-Tag"] = []string{"noindex"} // what was replaced is not to be found by its words
	return req.render(http.StatusOK, view.HistoryPage(req.page("Earlier versions"), view.PostPath(item.Post.Post), post, edits))
}

func (h *postHandlers) likers(req *request) error {
	return h.people(req, "likes", h.reactions.Likers)
}

func (h *postHandlers) reposters(req *request) error {
	return h.people(req, "reposts", h.reactions.Reposters)
}

// people lists who has done something with a post.
func (h *postHandlers) people(req *request, what string,
	list func(ctx context.Context, v *social.Viewer, id int64, cursor string, limit int) (social.People, error),
) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	item, err := h.read.post(req, v)
	if err != nil {
		return err
	}
	path, elsewhere := canonical(req, item, "/"+what)
	if elsewhere {
		return req.redirectToName(path)
	}
	cursor := req.r.URL.Query().Get("before")
	people, err := list(req.ctx, v, item.Post.ID, cursor, peopleOnPage)
	if err != nil {
		return err
	}
	data, err := h.read.people(req, v, people, path)
	if err != nil {
		return err
	}
	title := "Liked by"
	if what == "reposts" {
		title = "Reposted by"
	}
	return req.render(http.StatusOK, view.PeopleOfPostPage(req.page(title), view.PostPath(item.Post.Post), data))
}
