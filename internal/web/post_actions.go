package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/media"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// postAction returns a handler for an action on a post.
func (h *handlers) postAction(do func(ctx context.Context, user social.User, post int64) error) func(*request.Request) error {
	return func(req *request.Request) error {
		post, err := h.targetPost(req)
		if err != nil {
			return err
		}
		if err := do(req.Ctx, req.User, post.ID); err != nil {
			return err
		}
		return req.Changed(req.ReturnTo(view.PostPath(post))+"#p"+strconv.FormatInt(post.ID, 10), post.ID)
	}
}

func (h *handlers) repost(ctx context.Context, user social.User, post int64) error {
	_, err := h.app.Posts.Repost(ctx, user, post)
	return err
}

func (h *handlers) reply(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	parent, err := h.targetPost(req)
	if err != nil {
		return err
	}
	draft, form, err := h.draft(req)
	var post social.Post
	if err == nil {
		post, err = h.app.Posts.ReplyOnce(req.Ctx, req.User, parent.ID, draft)
	}
	status, problem := pictureProblem(req, err)
	switch {
	case status != 0:
		form.Problem = problem
		return h.showPost(req, status, form)
	case errors.Is(err, social.ErrNotFound):
		return errNoPost
	case err != nil:
		return err
	}
	req.Tell("replied", strconv.FormatInt(post.ID, 10))
	if back := req.Back(""); back != "" {
		return req.Changed(back, parent.ID, post.ID)
	}
	path := view.PostPath(parent) + "#p" + strconv.FormatInt(post.ID, 10)
	if v, err := req.Viewer(); err == nil {
		if thread, err := h.app.Threads.Get(req.Ctx, v, parent.ID, 0, repliesOnPage); err == nil && thread.Next != 0 {
			path = view.PostPath(post) // the reply is on another page of the conversation
		}
	}
	return req.Changed(path, parent.ID, post.ID)
}

func (h *handlers) editPostForm(req *request.Request) error {
	_, item, err := h.ownPost(req)
	if err != nil {
		return err
	}
	if path, moved := canonical(req, item, "/edit"); moved {
		return req.RedirectToName(path)
	}
	form := view.StatusForm{Status: item.Post.Body, Stored: item.Post.Media, Sensitive: item.Post.Sensitive}
	return h.showPostEdit(req, http.StatusOK, item.Post.Post, form)
}

func (h *handlers) showPostEdit(req *request.Request, status int, post social.Post, form view.StatusForm) error {
	form.Cancel = view.PostPath(post)
	form.Action = form.Cancel + "/edit"
	form.Earlier = true
	return req.Render(status, view.DraftPage(req.Frame(req.T("Edit your post")), form))
}

func (h *handlers) editPost(req *request.Request) error {
	if !req.LoggedIn {
		return req.LoginFirst()
	}
	post, err := h.targetPost(req)
	if err != nil {
		return err
	}
	typed := req.R.PostFormValue("status")
	pictures := post.Media.Pictures()
	described := posts.Description{Sensitive: req.R.PostFormValue("sensitive") != ""}
	for i, p := range pictures {
		if alt, ok := req.R.PostForm[altField+"-"+p.ID]; ok {
			pictures[i].Alt = alt[0]
			described.Pictures = append(described.Pictures, media.Chosen{ID: p.ID, Alt: alt[0]})
		}
	}
	if len(described.Pictures) > 0 {
		err = h.app.Posts.Describe(req.Ctx, req.User, post.ID, described)
	}
	if err == nil {
		err = h.app.Posts.Edit(req.Ctx, req.User, post.ID, typed)
	}
	if err != nil {
		return req.Retry(err, func(_, problem string) error {
			form := view.StatusForm{Status: typed, Problem: problem, Stored: social.FormatMedia(pictures), Sensitive: described.Sensitive}
			return h.showPostEdit(req, http.StatusUnprocessableEntity, post, form)
		})
	}
	req.Tell("edited", "")
	return req.Changed(view.PostPath(post), post.ID)
}

// deletePostForm asks whether to delete a post.
func (h *handlers) deletePostForm(req *request.Request) error {
	v, item, err := h.ownPost(req)
	if err != nil {
		return err
	}
	path, moved := canonical(req, item, "/delete")
	if moved {
		return req.RedirectToName(path)
	}
	shown, err := h.shownPosts(req, v, []timeline.Item{item})
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.DeletePage(req.Frame(req.T("Delete this post?")), path, req.ReturnTo(view.ProfilePath(req.User.Name)), shown))
}

func (h *handlers) deletePost(req *request.Request) error {
	post, err := h.targetPost(req)
	if err != nil {
		return err
	}
	if err := h.app.Posts.Delete(req.Ctx, req.User, post.ID); err != nil {
		return err
	}
	to := req.ReturnTo(view.ProfilePath(req.User.Name))
	if path := view.PostPath(post); to == path || strings.HasPrefix(to, path+"/") || strings.HasPrefix(to, path+"?") {
		to = view.ProfilePath(req.User.Name) // the pages of the post no longer exist
	}
	req.Tell("deleted", "")
	return req.Changed(to, post.ID, post.Parent)
}

// pin pins a post to the top of its author's profile.
func (h *handlers) pin(req *request.Request) error {
	if req.LoggedIn {
		if _, err := h.targetPost(req); err != nil {
			return err // a post hidden from the viewer counts as not found
		}
	}
	return h.changePin(req, "pinned", h.app.Profiles.Pin)
}

func (h *handlers) unpin(req *request.Request) error {
	return h.changePin(req, "unpinned", h.app.Profiles.Unpin)
}

func (h *handlers) changePin(req *request.Request, kind string, change func(ctx context.Context, user social.User, id int64) error) error {
	id, err := strconv.ParseInt(req.R.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return request.ErrNotFound
	}
	err = change(req.Ctx, req.User, id)
	if errors.Is(err, social.ErrNotAuthor) {
		return &request.Error{Status: http.StatusForbidden, Detail: i18n.T("You can only pin your own posts."), Cause: err}
	}
	if err != nil {
		return err
	}
	req.Tell(kind, "")
	return req.Changed(req.Back(view.ProfilePath(req.User.Name)))
}

// postMenu lists the actions on a post, for browsers without scripts.
func (h *handlers) postMenu(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.postInPath(req, v)
	if err != nil {
		return err
	}
	if path, moved := canonical(req, item, "/more"); moved {
		return req.RedirectToName(path)
	}
	p := item.Post.Post
	relation, err := h.app.Relations.Get(req.Ctx, v, p.Author.ID)
	if err != nil {
		return err
	}
	req.NoIndex()
	return req.Render(http.StatusOK, view.PostMenuPage(req.Frame(req.T("Post by {name}", p.Author.Name)), view.PostMenu{
		Path: view.PostPath(p), Name: p.Author.Name, ID: p.ID, LoggedIn: req.LoggedIn,
		Own: req.LoggedIn && p.Author.ID == req.User.ID, Follows: relation.Following, Decides: req.User.MayModerate(p.Author),
	}))
}

// replyForm shows a post with the reply form below it.
func (h *handlers) replyForm(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	item, err := h.postInPath(req, v)
	if err != nil {
		return err
	}
	path, moved := canonical(req, item, "/reply")
	if moved {
		return req.RedirectToName(path)
	}
	shown, err := h.shownPosts(req, v, []timeline.Item{{Entry: item.Post, Post: item.Post, Marks: item.Marks}})
	if err != nil {
		return err
	}
	form := view.StatusForm{Action: path, ID: "reply", Back: req.ReturnTo(view.PostPath(item.Post.Post)), Pictures: h.app.Media.IsOn()}
	return req.Render(http.StatusOK, view.ComposePage(req.Frame(req.T("Reply to @{name}", item.Post.Author.Name)), shown, form))
}

// compose shows a page with only the form for a new post.
func (h *handlers) compose(req *request.Request) error {
	form := view.StatusForm{ID: "new", Back: req.ReturnTo("/home"), Pictures: h.app.Media.IsOn()}
	return req.Render(http.StatusOK, view.ComposePage(req.Frame(req.T("New post")), view.Posts{}, form))
}
