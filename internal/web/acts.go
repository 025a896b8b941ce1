package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/view"
)

var errNoPost = &pageError{status: http.StatusNotFound, detail: "This post doesn't exist."}

// post returns the post in the address, as the viewer sees it. A post that the
// viewer must not see does not exist.
func (h *reader) post(req *request, v *social.Viewer) (timeline.Item, error) {
	id, ok := parseID(req.r.PathValue("id"))
	if !ok {
		return timeline.Item{}, errNoPost
	}
	item, err := h.lists.PostPage(req.ctx, v, id)
	if errors.Is(err, social.ErrNotFound) {
		return timeline.Item{}, errNoPost
	}
	return item, err
}

// parseID reads the id of a post as it is written in an address.
func parseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

// canonical returns the one address of a page of a post, and whether the request
// has another: with the name of another user, or with the id of a repost.
func canonical(req *request, item timeline.Item, suffix string) (path string, elsewhere bool) {
	path = view.PostPath(item.Post.Post)
	return path + suffix, item.Entry != item.Post || req.r.PathValue("name") != item.Post.Author.Name
}

// targetPost returns the session user and the post that a form is about. A name that is
// not the author's is refused: the form is not one of this site.
func (h *reader) targetPost(req *request) (social.Post, error) {
	v, err := req.asViewer()
	if err != nil {
		return social.Post{}, err
	}
	item, err := h.post(req, v)
	if err != nil {
		return social.Post{}, err
	}
	if item.Entry.Author.Name != req.r.PathValue("name") {
		return social.Post{}, errNoPost
	}
	return item.Post.Post, nil
}

// action makes a handler of what can be done with a post.
func (h *postHandlers) action(do func(ctx context.Context, user social.User, post int64) error) func(*request) error {
	return func(req *request) error {
		post, err := h.read.targetPost(req)
		if err != nil {
			return err
		}
		if err := do(req.ctx, req.viewer, post.ID); err != nil {
			return err
		}
		return req.changedPosts(req.returnTo(view.PostPath(post))+"#p"+strconv.FormatInt(post.ID, 10), post.ID)
	}
}

func (h *postHandlers) repost(ctx context.Context, user social.User, post int64) error {
	_, err := h.posts.Repost(ctx, user, post)
	return err
}

// returnTo is the page to which a form leads back: the one that it names, else the one
// from which the browser has sent it, else another one.
func (req *request) returnTo(fallback string) string {
	if u, err := url.Parse(req.r.Referer()); err == nil && u.Host == req.r.Host && u.Path != "" {
		fallback = localPath(u.RequestURI())
	}
	return req.back(fallback)
}

func (h *postHandlers) reply(req *request) error {
	if !req.signed {
		return req.loginFirst()
	}
	parent, err := h.read.targetPost(req)
	if err != nil {
		return err
	}
	typed := req.r.PostFormValue("status")
	post, err := h.posts.ReplyOnce(req.ctx, req.viewer, parent.ID, typed)
	var invalid *social.InvalidError
	switch {
	case errors.As(err, &invalid):
		return h.show(req, http.StatusUnprocessableEntity, view.StatusForm{Status: typed, Problem: invalid.Reason})
	case errors.Is(err, social.ErrNotFound):
		return errNoPost
	case err != nil:
		return err
	}
	return req.changedPosts(view.PostPath(parent)+"#p"+strconv.FormatInt(post.ID, 10), parent.ID, post.ID)
}

func (h *postHandlers) editForm(req *request) error {
	_, item, err := h.read.ownPost(req)
	if err != nil {
		return err
	}
	if path, elsewhere := canonical(req, item, "/edit"); elsewhere {
		return req.redirectToName(path)
	}
	return h.showEdit(req, http.StatusOK, item.Post.Post, view.StatusForm{Status: item.Post.Body})
}

func (h *postHandlers) showEdit(req *request, status int, post social.Post, form view.StatusForm) error {
	form.Cancel = view.PostPath(post)
	form.Action = form.Cancel + "/edit"
	form.Hint = "Everybody can still read the text that you replace, under “edited”. To take it back:"
	return req.render(status, view.DraftPage(req.page("Edit your post"), form))
}

func (h *postHandlers) edit(req *request) error {
	if !req.signed {
		return req.loginFirst()
	}
	post, err := h.read.targetPost(req)
	if err != nil {
		return err
	}
	typed := req.r.PostFormValue("status")
	_, err = h.posts.Edit(req.ctx, req.viewer, post.ID, typed)
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return h.showEdit(req, http.StatusUnprocessableEntity, post, view.StatusForm{Status: typed, Problem: invalid.Reason})
	}
	if err != nil {
		return err
	}
	return req.changedPosts(view.PostPath(post), post.ID)
}

// deleteForm asks whether to delete a post.
func (h *postHandlers) deleteForm(req *request) error {
	v, item, err := h.read.ownPost(req)
	if err != nil {
		return err
	}
	path, elsewhere := canonical(req, item, "/delete")
	if elsewhere {
		return req.redirectToName(path)
	}
	shown, err := h.read.posts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	return req.render(http.StatusOK, view.DeletePage(req.page("Delete this post?"), path, req.returnTo(view.ProfilePath(req.viewer.Name)), shown))
}

func (h *postHandlers) delete(req *request) error {
	post, err := h.read.targetPost(req)
	if err != nil {
		return err
	}
	if err := h.posts.Delete(req.ctx, req.viewer, post.ID); err != nil {
		return err
	}
	to := req.returnTo(view.ProfilePath(req.viewer.Name))
	if path := view.PostPath(post); to == path || strings.HasPrefix(to, path+"/") || strings.HasPrefix(to, path+"?") {
		to = view.ProfilePath(req.viewer.Name) // its own pages are gone
	}
	return req.changedPosts(to, post.ID, post.Parent)
}

// ownPost returns the post in the address of a form that only its author gets.
func (h *reader) ownPost(req *request) (*social.Viewer, timeline.Item, error) {
	v, err := req.asViewer()
	if err != nil {
		return nil, timeline.Item{}, err
	}
	item, err := h.post(req, v)
	if err == nil && item.Post.Author.ID != req.viewer.ID {
		err = social.ErrNotAuthor
	}
	return v, item, err
}
