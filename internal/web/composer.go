package web

import (
	"cmp"
	"net/http"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// loginFirst answers a form that was sent without a session: with the log-in form,
// which holds the text that came with it.
func (req *request) loginFirst() error {
	if req.draft == "" {
		return req.toLogin()
	}
	return req.render(http.StatusForbidden, view.LoginPage(req.page("Log in"), view.AccountForm{
		Next: req.formPage(), Draft: req.draft, Action: view.TextAction(req.r.URL.EscapedPath()),
	}))
}

// resumeText shows a text that was written before the session ended, for its author
// to publish. There is no redirect, because the text would have to be stored
// meanwhile.
func (req *request) resumeText(user social.User, action string) error {
	req.setCookie(freshCookie, formatFresh(nil), freshFor)
	req.viewer, req.signed, req.known = user, true, true
	form := view.StatusForm{
		Action: view.TextAction(action), Status: req.draft,
		Notice: "You're logged in again. You can publish your post now.",
	}
	return req.render(http.StatusOK, view.DraftPage(req.page(view.DraftName(action)), form))
}

// draftForm is the form on an error page for the text that came with the request.
// What replied to a post that is gone can be published as a post.
func draftForm(req *request, page *pageError, text string) view.StatusForm {
	form := view.StatusForm{Status: text, Notice: page.draft, Action: view.TextAction(cmp.Or(req.r.PostForm.Get("action"), req.r.URL.EscapedPath()))}
	if page.status == http.StatusNotFound {
		form.Action, form.Notice = "/post", "You can publish what you wrote as a new post."
	}
	return form
}
