package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/web/pictures"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// action makes a handler of what can be done with a post.
func (h *postHandlers) action(do func(ctx context.Context, user social.User, post int64) error) func(*request.Request) error {
	return func(req *request.Request) error {
		post, err := h.read.TargetPost(req)
		if err != nil {
			return err
		}
		if err := do(req.Ctx, req.User, post.ID); err != nil {
			return err
		}
		return req.Changed(req.ReturnTo(view.PostPath(post))+"#p"+strconv.FormatInt(post.ID, 10), post.ID)
	}
}

func (h *postHandlers) repost(ctx context.Context, user social.User, post int64) error {
	_, err := h.posts.Repost(ctx, user, post)
	return err
}

func (h *postHandlers) reply(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	parent, err := h.read.TargetPost(req)
	if err != nil {
		return err
	}
	draft, form, err := h.pictures.Draft(req)
	var post social.Post
	if err == nil {
		post, err = h.posts.ReplyOnce(req.Ctx, req.User, parent.ID, draft)
	}
	status, problem := pictures.Problem(req, err)
	switch {
	case status != 0:
		form.Problem = problem
		return h.show(req, status, form)
	case errors.Is(err, social.ErrNotFound):
		return reader.ErrNoPost
	case err != nil:
		return err
	}
	path := view.PostPath(parent) + "#p" + strconv.FormatInt(post.ID, 10)
	if v, err := req.Viewer(); err == nil {
		if thread, err := h.threads.Get(req.Ctx, v, parent.ID, 0, repliesOnPage); err == nil && thread.Next != 0 {
			path = view.PostPath(post) // another page of the conversation has it
		}
	}
	return request.Published(req, path, parent.ID, post.ID)
}

func (h *postHandlers) editForm(req *request.Request) error {
	_, item, err := h.read.OwnPost(req)
	if err != nil {
		return err
	}
	if path, elsewhere := reader.Canonical(req, item, "/edit"); elsewhere {
		return req.RedirectToName(path)
	}
	return h.showEdit(req, http.StatusOK, item.Post.Post, view.StatusForm{Status: item.Post.Body})
}

func (h *postHandlers) showEdit(req *request.Request, status int, post social.Post, form view.StatusForm) error {
	form.Cancel = view.PostPath(post)
	form.Action = form.Cancel + "/edit"
	form.Hint = "Everybody can still read the text that you replace, under “edited”. To take it back:"
	return req.Render(status, view.DraftPage(req.Frame("Edit your post"), form))
}

func (h *postHandlers) edit(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	post, err := h.read.TargetPost(req)
	if err != nil {
		return err
	}
	typed := req.R.PostFormValue("status")
	_, err = h.posts.Edit(req.Ctx, req.User, post.ID, typed)
	if err != nil {
		return request.Retry(err, func(_, problem string) error {
			return h.showEdit(req, http.StatusUnprocessableEntity, post, view.StatusForm{Status: typed, Problem: problem})
		})
	}
	return request.Published(req, view.PostPath(post), post.ID)
}

// deleteForm asks whether to delete a post.
func (h *postHandlers) deleteForm(req *request.Request) error {
	v, item, err := h.read.OwnPost(req)
	if err != nil {
		return err
	}
	path, elsewhere := reader.Canonical(req, item, "/delete")
	if elsewhere {
		return req.RedirectToName(path)
	}
	shown, err := h.read.Posts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.DeletePage(req.Frame("Delete this post?"), path, req.ReturnTo(view.ProfilePath(req.User.Name)), shown))
}

func (h *postHandlers) delete(req *request.Request) error {
	post, err := h.read.TargetPost(req)
	if err != nil {
		return err
	}
	if err := h.posts.Delete(req.Ctx, req.User, post.ID); err != nil {
		return err
	}
	to := req.ReturnTo(view.ProfilePath(req.User.Name))
	if path := view.PostPath(post); to == path || strings.HasPrefix(to, path+"/") || strings.HasPrefix(to, path+"?") {
		to = view.ProfilePath(req.User.Name) // its own pages are gone
	}
	return req.Changed(to, post.ID, post.Parent)
}

// pin and unpin choose the post that is shown first on a profile.
func (h *postHandlers) pin(req *request.Request) error {
	if req.LoggedIn {
		if _, err := h.read.TargetPost(req); err != nil {
			return err // a post that the viewer must not see does not exist
		}
	}
	return h.changePin(req, h.profiles.Pin)
}

func (h *postHandlers) unpin(req *request.Request) error { return h.changePin(req, h.profiles.Unpin) }

func (h *postHandlers) changePin(req *request.Request, change func(ctx context.Context, user social.User, id int64) error) error {
	id, err := strconv.ParseInt(req.R.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return request.ErrNotFound
	}
	err = change(req.Ctx, req.User, id)
	if errors.Is(err, social.ErrNotAuthor) {
		return &request.Error{Status: http.StatusForbidden, Detail: "You can pin your own posts only.", Cause: err}
	}
	if err != nil {
		return err
	}
	return req.Changed(req.Back(view.ProfilePath(req.User.Name)))
}
