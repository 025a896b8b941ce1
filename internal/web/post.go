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
	"retwis/internal/web/pictures"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// postHandlers has the page of a post, its forms, and what can be done with it.
type postHandlers struct {
	live      *live.Hub
	pictures  *pictures.Pictures
	posts     *posts.Service
	profiles  *accounts.Profiles
	reactions *posts.Reactions
	read      *reader.Reader
	threads   *posts.Threads
}

func (h *postHandlers) page(req *request.Request) error {
	return h.show(req, http.StatusOK, view.StatusForm{})
}

// byID leads from the id of a post to its page: archives have no names of authors with ids.
func (h *postHandlers) byID(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.read.Post(req, v)
	if err != nil {
		return err
	}
	return req.RedirectToName(view.PostPath(item.Post.Post))
}

// repliesOnPage is how many replies the page of a post has.
const repliesOnPage = 100

// show shows a post with its conversation, and the form for a reply.
func (h *postHandlers) show(req *request.Request, status int, form view.StatusForm) error {
	id, ok := request.ParseID(req.R.PathValue("id"))
	if !ok {
		return reader.ErrNoPost
	}
	after, err := request.ParseCursor(req.R.URL.Query(), "after")
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	since := h.live.Position() // before the conversation is read
	thread, err := h.threads.Get(req.Ctx, v, id, after, repliesOnPage)
	if errors.Is(err, social.ErrNotFound) {
		return reader.ErrNoPost
	}
	if err != nil {
		return err
	}
	p := thread.Post.Item.Post.Post
	path := view.PostPath(p)
	if status == http.StatusOK && (id != p.ID || req.R.PathValue("name") != p.Author.Name) {
		return req.RedirectToName(path)
	}
	conversation, all := view.NewConversation(v, thread)
	if err := h.read.NameParents(req, all); err != nil {
		return err
	}
	conversation.After = after
	if conversation.Own = p.Author.ID == v.User.ID; conversation.Own {
		profile, err := h.profiles.Get(req.Ctx, v.User.ID)
		if err != nil {
			return err
		}
		conversation.Pinned = profile.Pinned == p.ID
	}
	if err := h.read.AskRobots(req, p.Author); err != nil {
		return err
	}
	form.Action, form.ID, form.Pictures = path+"/reply", "reply", h.pictures.IsOn()
	f := req.Frame(p.Author.Name + ": " + view.Opening(p.Body, 60))
	card := view.PostCard(req.Origin(), f.Site, p)
	f.Description, f.Head = card.Description, card.Head()
	// Of a conversation, only the first page of its first post has what comes next.
	if f = liveUpdates(h.live, f, liveThread(cmp.Or(p.Root, p.ID)), after != 0 || p.Root != 0 || thread.Next != 0); f.Live != "" {
		f.Since = since
	}
	return req.Render(status, view.PostPage(f, path, p, conversation, form))
}

// history shows the earlier texts of a post.
func (h *postHandlers) history(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.read.Post(req, v)
	if err != nil {
		return err
	}
	path, elsewhere := reader.Canonical(req, item, "/history")
	if elsewhere {
		return req.RedirectToName(path)
	}
	edits, err := h.posts.Edits(req.Ctx, item.Post.ID)
	if err != nil {
		return err
	}
	post, err := h.read.Posts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	req.NoIndex() // what was replaced is not to be found by its words
	return req.Render(http.StatusOK, view.HistoryPage(req.Frame("Earlier versions"), view.PostPath(item.Post.Post), post, edits))
}

func (h *postHandlers) likers(req *request.Request) error {
	return h.people(req, "likes", h.reactions.Likers)
}

func (h *postHandlers) reposters(req *request.Request) error {
	return h.people(req, "reposts", h.reactions.Reposters)
}

// people lists who has done something with a post.
func (h *postHandlers) people(req *request.Request, what string,
	list func(ctx context.Context, v *social.Viewer, id int64, cursor string, limit int) (social.People, error),
) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.read.Post(req, v)
	if err != nil {
		return err
	}
	path, elsewhere := reader.Canonical(req, item, "/"+what)
	if elsewhere {
		return req.RedirectToName(path)
	}
	cursor := req.R.URL.Query().Get("before")
	people, err := list(req.Ctx, v, item.Post.ID, cursor, reader.PeopleOnPage)
	if err != nil {
		return err
	}
	if err := h.read.AskRobots(req, item.Post.Author); err != nil {
		return err
	}
	page, err := h.read.People(req, v, people, path)
	if err != nil {
		return err
	}
	title := "Liked by"
	if what == "reposts" {
		title = "Reposted by"
	}
	return req.Render(http.StatusOK, view.PeopleOfPostPage(req.Frame(title), view.PostPath(item.Post.Post), page))
}
