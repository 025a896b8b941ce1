package request

import (
	"cmp"
	"net/http"
	"net/url"

	"retwis/internal/social"
	"retwis/internal/web/view"
)

// LoginFirst responds to a form sent without a session with the log-in form, which keeps the
// submitted text.
func (req *Request) LoginFirst() error {
	if req.Draft == "" {
		return req.toLogin()
	}
	form := view.AccountForm{Next: req.FormPage(), Draft: req.Draft, Kept: KeptFields(req), Action: view.TextAction(req.R.URL.EscapedPath())}
	if req.upload != nil && req.upload.file != nil { // files of visitors are not stored
		form.Notice = req.T("Your pictures weren't kept. Please add them again after you log in.")
	}
	return req.Render(http.StatusForbidden, view.LoginPage(req.Frame(req.T("Log in")), form))
}

// ResumeText shows a text that was written before the session ended, for its author to publish. It
// does not redirect, because a redirect would require storing the text.
func (req *Request) ResumeText(user social.User, action string) error {
	req.SetCookie(freshCookie, formatFresh(nil), freshFor)
	req.User, req.LoggedIn, req.identified = user, true, true
	form := view.StatusForm{
		Action: view.TextAction(action), Status: req.Draft, Kept: KeptFields(req),
		Notice: req.T("You're logged in again. You can publish your post now."),
	}
	return req.Render(http.StatusOK, view.DraftPage(req.Frame(req.Language.Say(view.DraftName(action))), form))
}

// KeptFields returns the form fields of the stored pictures of an unpublished text, as url.Values
// encodes them. Package web reads these fields in draft.go.
func KeptFields(req *Request) string {
	if req.Draft == "" {
		return ""
	}
	form, kept := req.R.PostForm, url.Values{}
	ids := form["media"]
	for _, id := range ids[:min(len(ids), social.MaxPictures)] {
		if !social.IsPictureID(id) || form.Get("remove-"+id) != "" {
			continue
		}
		kept.Add("media", id)
		for _, name := range []string{"alt-" + id, "focus-" + id} {
			kept.Set(name, form.Get(name))
		}
	}
	if len(kept) > 0 && form.Get("sensitive") != "" {
		kept.Set("sensitive", "yes")
	}
	return kept.Encode()
}

// draftForm returns the form on an error page for the submitted text. A reply to a deleted post can
// be published as a new post.
func draftForm(req *Request, page *Error, text string) view.StatusForm {
	form := view.StatusForm{Status: text, Kept: KeptFields(req), Notice: req.Language.Say(page.draft), Action: view.TextAction(cmp.Or(req.R.PostForm.Get("action"), req.R.URL.EscapedPath()))}
	if page.Status == http.StatusNotFound {
		form.Action, form.Notice = "/post", req.T("You can publish what you wrote as a new post.")
	}
	return form
}
