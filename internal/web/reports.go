package web

import (
	"errors"
	"net/http"
	"strconv"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/site"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) reportUserForm(req *request.Request) error {
	form, _, err := h.userReport(req)
	if err != nil {
		return err
	}
	return renderReport(req, http.StatusOK, form)
}

// userReport returns the form for the user in the path, and the user. The form is the same for a
// user who has blocked the viewer and for a user who does not exist: it does not reveal a block,
// and a person who was insulted and then blocked can still report the insult.
func (h *handlers) userReport(req *request.Request) (form view.ReportForm, about social.User, err error) {
	user, _, err := h.visibleUser(req)
	var page *request.Error
	name := req.R.PathValue("name")
	switch {
	case err == nil:
		path := view.ProfilePath(user.Name)
		return view.ReportForm{Action: path + "/report", Back: path, Name: user.Name, Person: true}, user, nil
	case !errors.As(err, &page) || social.CheckName(name) != nil:
		return view.ReportForm{}, social.User{}, err
	}
	return view.ReportForm{Action: view.ProfilePath(name) + "/report", Back: "/home", Name: name, Person: true, Unseen: true}, user, nil
}

func (h *handlers) reportUser(req *request.Request) error {
	form, user, err := h.userReport(req)
	if err != nil {
		return err
	}
	reason, err := reportReason(req, &form)
	if err == nil {
		err = h.app.Reports.ReportUser(req.Ctx, req.User, user.ID, reason)
	}
	return h.finishReport(req, form, user, err)
}

func (h *handlers) reportPostForm(req *request.Request) error {
	form, _, err := h.postReport(req)
	if err != nil {
		return err
	}
	return renderReport(req, http.StatusOK, form)
}

// postReport returns the form for the post in the path, and the post. If the viewer does not see
// the post, only its ID is set; see userReport.
func (h *handlers) postReport(req *request.Request) (form view.ReportForm, post social.Post, err error) {
	v, err := req.Viewer()
	if err != nil {
		return view.ReportForm{}, social.Post{}, err
	}
	item, err := h.postInPath(req, v)
	name := req.R.PathValue("name")
	id, ok := request.ParseID(req.R.PathValue("id"))
	switch {
	case errors.Is(err, errNoPost) && ok && social.CheckName(name) == nil:
		return view.ReportForm{Action: view.PathOf(name, id) + "/report", Back: "/home", Name: name, Unseen: true}, social.Post{ID: id}, nil
	case err != nil:
		return view.ReportForm{}, social.Post{}, err
	}
	path := view.PostPath(item.Post.Post)
	form = view.ReportForm{Action: path + "/report", Back: path, Name: item.Post.Author.Name}
	form.Post, err = h.shownPosts(req, v, []timeline.Item{{Entry: item.Post, Post: item.Post, Marks: item.Marks}})
	return form, item.Post.Post, err
}

func (h *handlers) reportPost(req *request.Request) error {
	form, post, err := h.postReport(req)
	if err != nil {
		return err
	}
	reason, err := reportReason(req, &form)
	if err == nil {
		err = h.app.Reports.ReportPost(req.Ctx, req.User, post.ID, reason)
	}
	return h.finishReport(req, form, post.Author, err)
}

// reportReason parses the reason of a report. The number of a rule refers to the rules that the
// form has shown.
func reportReason(req *request.Request, form *view.ReportForm) (moderation.Reason, error) {
	form.Kind, form.Text = req.R.PostFormValue("kind"), req.R.PostFormValue("text")
	reason := moderation.Reason{Kind: form.Kind, Text: form.Text}
	if reason.Kind != moderation.RuleKind {
		return reason, nil
	}
	if req.R.PostFormValue("rules") != req.Info.Version(site.Rules) {
		return reason, social.Invalid("rule", "The rules have changed. Choose the rule again.")
	}
	rules := req.Info.Rules()
	n, err := strconv.Atoi(req.R.PostFormValue("rule"))
	if err != nil || n < 1 || n > len(rules) {
		return reason, social.Invalid("rule", "Choose the rule.")
	}
	form.Rule, reason.Rule = n, moderation.Rule{Number: n, Text: rules[n-1]}
	return reason, nil
}

// finishReport shows the result of a report.
func (h *handlers) finishReport(req *request.Request, form view.ReportForm, about social.User, err error) error {
	var invalid *social.InvalidError
	if errors.As(err, &invalid) && invalid.Field != "target" {
		form.Problem = req.Language.Say(invalid.Reason)
		return renderReport(req, http.StatusUnprocessableEntity, form)
	}
	unknown := form.Unseen && errors.Is(err, social.ErrNotFound) // the response must not reveal that the subject does not exist
	if err != nil && !unknown {
		return err
	}
	if !unknown {
		req.LogSecurity("report", about)
	}
	form.Sent = true
	if !form.Unseen {
		v, err := req.Viewer()
		if err != nil {
			return err
		}
		relation, err := h.app.Relations.Get(req.Ctx, v, about.ID)
		if err != nil {
			return err
		}
		form.MayMute, form.MayBlock = !relation.Muted && !relation.Blocked, !relation.Blocked
	}
	return renderReport(req, http.StatusOK, form)
}

func renderReport(req *request.Request, status int, form view.ReportForm) error {
	title := req.T("Report {name}", form.Name)
	if !form.Person {
		title = req.T("Report a post by {name}", form.Name)
	}
	form.Rules, form.RulesVersion = req.Info.Rules(), req.Info.Version(site.Rules)
	return req.Render(status, view.ReportPage(req.Frame(title), form))
}

// appealForm asks why a decision about the user should change.
func (h *handlers) appealForm(req *request.Request) error {
	return h.showAppeal(req, http.StatusOK, view.AppealForm{Target: req.R.FormValue("of")})
}

func (h *handlers) showAppeal(req *request.Request, status int, form view.AppealForm) error {
	var err error
	if form.Open, err = h.app.Reports.HasAppealed(req.Ctx, req.User, form.Target); err != nil {
		return nothingToAppeal(err)
	}
	form.Back = req.ReturnTo(appealed(req, form.Target))
	req.NoIndex()
	return req.Render(status, view.AppealPage(req.Frame(req.T("Appeal a decision")), form))
}

func (h *handlers) appeal(req *request.Request) error {
	form := view.AppealForm{Target: req.R.PostFormValue("of"), Text: req.R.PostFormValue("text")}
	if err := h.app.Reports.Appeal(req.Ctx, req.User, form.Target, form.Text); err != nil {
		return req.Retry(nothingToAppeal(err), func(_, problem string) error {
			form.Problem = problem
			return h.showAppeal(req, http.StatusUnprocessableEntity, form)
		})
	}
	req.LogSecurity("appeal", req.User)
	req.Tell("appealed", "")
	return req.Changed(req.Back(appealed(req, form.Target)))
}

// appealed returns the page that shows the decision about a target: the user's post or profile.
func appealed(req *request.Request, target string) string {
	if _, post := audit.ParseTarget(target); post != 0 {
		return view.PathOf(req.User.Name, post)
	}
	return view.ProfilePath(req.User.Name)
}

// nothingToAppeal explains ErrNotFound.
func nothingToAppeal(err error) error {
	if errors.Is(err, social.ErrNotFound) {
		return &request.Error{Status: http.StatusNotFound, Detail: i18n.T("This decision is no longer in effect."), Cause: err}
	}
	return err
}
