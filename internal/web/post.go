package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) postPage(req *request.Request) error {
	return h.showPost(req, http.StatusOK, view.StatusForm{})
}

// postByID redirects from the ID of a post to the page of the post: archives contain IDs without
// the names of authors.
func (h *handlers) postByID(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.postInPath(req, v)
	if err != nil {
		return err
	}
	return req.RedirectToName(view.PostPath(item.Post.Post))
}

// repliesOnPage is the number of replies on the page of a post.
const repliesOnPage = 100

// showPost shows a post with its conversation and the reply form.
func (h *handlers) showPost(req *request.Request, status int, form view.StatusForm) error {
	id, ok := request.ParseID(req.R.PathValue("id"))
	if !ok {
		return errNoPost
	}
	after, err := request.ParseCursor(req.R.URL.Query(), "after")
	if err != nil {
		return err
	}
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	since := h.live.Position() // before the conversation is read, to miss no event
	thread, err := h.app.Threads.Get(req.Ctx, v, id, after, repliesOnPage)
	if errors.Is(err, social.ErrNotFound) {
		return errNoPost
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
	if err := h.nameParents(req, all); err != nil {
		return err
	}
	conversation.After = after
	if conversation.Own = p.Author.ID == v.User.ID; conversation.Own {
		profile, err := h.app.Profiles.Get(req.Ctx, v.User.ID)
		if err != nil {
			return err
		}
		conversation.Pinned = profile.Pinned == p.ID
	}
	if err := h.noIndexIfUnsearchable(req, p.Author); err != nil {
		return err
	}
	form.Action, form.ID, form.Pictures = path+"/reply", "reply", h.app.Media.IsOn()
	f := req.Frame(p.Author.Name + ": " + view.Opening(p.Body, 60))
	card := view.PostCard(req.PublicURL(), f.Site, p)
	f.Description, f.Head = card.Description, card.Head()
	// Only the page of the first post of a conversation follows new replies, and only if it shows
	// all replies.
	if f = liveUpdates(h.live, f, liveThread(cmp.Or(p.Root, p.ID)), after != 0 || p.Root != 0 || thread.Next != 0); f.Live != "" {
		f.Since = since
	}
	return req.Render(status, view.PostPage(f, path, p, conversation, form))
}

// postHistory shows the earlier texts of a post.
func (h *handlers) postHistory(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.postInPath(req, v)
	if err != nil {
		return err
	}
	path, moved := canonical(req, item, "/history")
	if moved {
		return req.RedirectToName(path)
	}
	edits, err := h.app.Posts.Edits(req.Ctx, item.Post.ID)
	if err != nil {
		return err
	}
	post, err := h.shownPosts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	req.NoIndex() // replaced texts must not be found by search engines
	return req.Render(http.StatusOK, view.HistoryPage(req.Frame(req.T("Earlier versions")), view.PostPath(item.Post.Post), post, edits))
}

// listPeople reads a page of people related to a post or user.
type listPeople = func(ctx context.Context, v *social.Viewer, id int64, cursor string, limit int) (social.People, error)

// peopleOfPost returns the page of the people who liked or reposted a post. segment is the last
// segment of its path.
func (h *handlers) peopleOfPost(segment string, title i18n.Message, list listPeople) request.Page {
	return func(req *request.Request) error {
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		item, err := h.postInPath(req, v)
		if err != nil {
			return err
		}
		path, moved := canonical(req, item, "/"+segment)
		if moved {
			return req.RedirectToName(path)
		}
		cursor := req.R.URL.Query().Get("before")
		people, err := list(req.Ctx, v, item.Post.ID, cursor, peopleOnPage)
		if err != nil {
			return err
		}
		if err := h.noIndexIfUnsearchable(req, item.Post.Author); err != nil {
			return err
		}
		page, err := h.peopleList(req, v, people, path)
		if err != nil {
			return err
		}
		return req.Render(http.StatusOK, view.PeopleOfPostPage(req.Frame(req.Language.Say(title)), view.PostPath(item.Post.Post), page))
	}
}
