package web

import (
	"cmp"
	"net/http"
	"regexp"
)

// statusForm is the form for a text, filled in with rejected input. The zero value
// is the form for a new post.
type statusForm struct {
	Action  string // the path that the form is sent to
	ID      string // of the field; two forms on a page have different ones
	Label   string
	Button  string
	Status  string // the text
	Notice  string // a sentence about it
	Problem string // why it was rejected
	Hint    string // what to know before it is sent
	Cancel  string // the page to which a link leads back; empty for none
}

func (f statusForm) action() string { return cmp.Or(f.Action, "/post") }

func (f statusForm) id() string { return cmp.Or(f.ID, "status") }

func (f statusForm) label() string {
	switch {
	case f.Label != "":
		return f.Label
	case isReply.MatchString(f.Action):
		return "Your reply"
	case isEdit.MatchString(f.Action):
		return "Edit your post"
	}
	return "What's on your mind?"
}

func (f statusForm) button() string {
	switch {
	case f.Button != "":
		return f.Button
	case isReply.MatchString(f.Action):
		return "Reply"
	case isEdit.MatchString(f.Action):
		return "Save"
	}
	return "Post"
}

// The paths to which replies and edits are sent.
var (
	isReply = regexp.MustCompile(`^/u/[^/]+/[0-9]+/reply$`)
	isEdit  = regexp.MustCompile(`^/u/[^/]+/[0-9]+/edit$`)
)

// textAction returns the path that a text is sent to, if path is one of those, else
// that of a new post.
func textAction(path string) string {
	if isReply.MatchString(path) || isEdit.MatchString(path) {
		return path
	}
	return "/post"
}

// loginFirst answers a form that was sent without a session: with the log-in form,
// which holds the text that came with it.
func (req *request) loginFirst() error {
	if req.draft == "" {
		return req.toLogin()
	}
	return req.render(http.StatusForbidden, loginPage(req.page("Log in"), accountForm{
		Next: req.formPage(), Draft: req.draft, Action: textAction(req.r.URL.EscapedPath()),
	}))
}

// resumeText shows a text that was written before the session ended, for its author
// to publish. There is no redirect, because the text would have to be stored
// meanwhile.
func (req *request) resumeText(action string) error {
	form := statusForm{
		Action: textAction(action), Status: req.draft,
		Notice: "You're logged in again. You can publish your post now.",
	}
	return req.render(http.StatusOK, draftPage(req.page(draftName(action)), form))
}

// draftName says what a text is, by the path that it was sent to.
func draftName(action string) string {
	if isReply.MatchString(action) {
		return "Your reply"
	}
	return "Your post"
}

// draftForm is the form on an error page for the text that came with the request.
// What replied to a post that is gone can be published as a post.
func (req *request) draftForm(page *pageError, text string) statusForm {
	form := statusForm{Status: text, Notice: page.draft, Action: textAction(cmp.Or(req.r.PostForm.Get("action"), req.r.URL.EscapedPath()))}
	if page.status == http.StatusNotFound {
		form.Action, form.Notice = "/post", "You can publish what you wrote as a new post."
	}
	return form
}
