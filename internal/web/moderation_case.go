package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

func (h *handlers) casePage(req *request.Request) error {
	return h.showCase(req, http.StatusOK, "")
}

func (h *handlers) showCase(req *request.Request, status int, problem string) error {
	actor := req.User.Actor()
	c := view.Case{Subject: moderation.Subject{Target: req.R.FormValue("of")}, Problem: problem, Rules: req.Info.Rules()}
	switch query := req.R.URL.Query(); {
	case query.Has("done"):
		c.Done = view.Decided(query.Get("done"), false)
	case query.Has("decided"):
		c.Done = i18n.Sentences(view.Decided(query.Get("decided"), true), i18n.T("This is the next report."))
	}
	held, err := h.app.Reports.HeldReport(req.Ctx, actor)
	c.Taken = err == nil && held.Target == c.Target
	if err != nil && !errors.Is(err, moderation.ErrNoReport) {
		return err
	}
	if !c.Taken {
		held, err = h.app.Reports.ReportOf(req.Ctx, actor, c.Target)
		if err != nil && !errors.Is(err, moderation.ErrNoReport) {
			return err
		}
	}
	c.Open, c.Texts, c.Reports = err == nil, held.Texts, held.Reports
	target := c.Target
	c.Subject, err = h.app.Reports.TargetOf(req.Ctx, actor, target)
	c.Target = target
	if errors.Is(err, social.ErrNotFound) && c.Taken {
		err = nil // deleted in the meantime: the report can only be dismissed
	}
	if err != nil {
		return err
	}
	if err := h.fillCase(req, &c); err != nil {
		return err
	}
	c.Message, c.Note = caseMessage(req, c), req.R.PostFormValue("note")
	return req.Render(status, view.CasePage(req.Frame(req.Language.Say(view.CaseTitle(c.Subject))), c))
}

// caseMessage returns the initial text of the message to the person: what was typed, the rule that
// was chosen, or the first reported rule.
func caseMessage(req *request.Request, c view.Case) string {
	if req.R.Method == http.MethodPost {
		return req.R.PostFormValue("message")
	}
	if n, err := strconv.Atoi(req.R.URL.Query().Get("rule")); err == nil && n >= 1 && n <= len(c.Rules) {
		return req.Language.Say(view.RuleMessage(moderation.Rule{Number: n, Text: c.Rules[n-1]}))
	}
	for _, report := range c.Reports {
		if report.Rule.Number != 0 && !c.HasAppeal() {
			return req.Language.Say(view.RuleMessage(report.Rule))
		}
	}
	return ""
}

// postsInCase is the maximum number of a person's latest posts in a case.
const postsInCase = 5

// readBackground reads the background of the person of a case. Other reports about the person are
// read concurrently.
func (h *handlers) readBackground(req *request.Request, v *social.Viewer, c *view.Case) error {
	others := make(chan error, 1)
	go func() {
		var err error
		c.Known.Others, err = h.app.Reports.OtherReports(req.Ctx, c.Subject)
		others <- err
	}()
	err := h.readPerson(req, v, c)
	return errors.Join(err, <-others)
}

// readPerson reads the profile, the counts and the latest posts of the person of a case.
func (h *handlers) readPerson(req *request.Request, v *social.Viewer, c *view.Case) error {
	profile, err := h.app.Profiles.Get(req.Ctx, c.Person.ID)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return err
	}
	c.Known.Bio = profile.Bio
	if c.Known.Counts, err = h.app.Follows.Counts(req.Ctx, c.Person.ID); err != nil {
		return err
	}
	list, err := h.app.Lists.ProfilePosts(req.Ctx, v.WithoutBlocks(), c.Person.ID, 0, postsInCase+1)
	if err != nil {
		return err
	}
	// The post that the case is about is shown above the latest posts.
	items := slices.DeleteFunc(list.Items, func(item timeline.Item) bool { return c.Post != nil && item.Post.ID == c.Post.ID })
	c.Known.Posts, err = h.shownPosts(req, v.WithoutBlocks(), items[:min(len(items), postsInCase)])
	return err
}

// fillCase reads the post of a case and what is known about the person.
func (h *handlers) fillCase(req *request.Request, c *view.Case) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	if c.Post != nil {
		if c.Shown, err = h.shownPosts(req, v, []timeline.Item{{Entry: c.Post, Post: c.Post}}); err != nil {
			return err
		}
	}
	if c.Person.ID == 0 {
		c.May = true
		return nil
	}
	c.May = req.User.MayModerate(c.Person)
	if c.Info, err = h.app.Moderation.StandingOf(req.Ctx, c.Person.ID); err != nil {
		return err
	}
	page, err := h.app.Audit.Read(req.Ctx, audit.Filter{Person: c.Person.ID}, "", 20)
	if err != nil {
		return err
	}
	c.Known.All = page.Next == ""
	if c.History, err = h.decisions(req, page.Entries); err != nil {
		return err
	}
	return h.readBackground(req, v, c)
}

func (h *handlers) decideReport(req *request.Request) error {
	actor := req.User.Actor()
	target := req.R.PostFormValue("of")
	d := moderation.ReportDecision{
		Action: req.R.PostFormValue("action"), Message: req.R.PostFormValue("message"), Note: req.R.PostFormValue("note"),
		Heard: req.R.PostFormValue("heard") != "",
	}
	var err error
	if d.Action == "limit" || d.Action == "suspend" {
		if d.Until, err = untilIn(req.R.PostFormValue("days"), time.Now()); err != nil {
			return err
		}
	}
	about, err := h.app.Reports.TargetOf(req.Ctx, actor, target)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return err
	}
	held := req.R.PostFormValue("report") != ""
	if held {
		err = h.app.Reports.DecideReport(req.Ctx, actor, target, d)
	} else {
		err = h.app.Reports.Decide(req.Ctx, actor, target, d)
	}
	if err != nil {
		return req.Retry(err, func(_, problem string) error {
			return h.showCase(req, http.StatusUnprocessableEntity, problem)
		})
	}
	req.LogSecurity("moderation", about.Person)
	_, pid := audit.ParseTarget(target)
	to := view.CasePath(target) + "&done=" + d.Action
	switch {
	case held && req.R.PostFormValue("next") != "":
		if to, err = h.nextReport(req, d.Action); err != nil {
			return err
		}
	case held:
		to = view.ReportsPath + "?decided=" + d.Action
	case d.Action == "delete":
		to = view.ReportsPath
	}
	return req.Changed(to, pid)
}

// nextReport takes the next report after a decision and returns its address, or the address of the
// queue if no report is available to the moderator.
func (h *handlers) nextReport(req *request.Request, action string) (string, error) {
	next, err := h.app.Reports.TakeReport(req.Ctx, req.User.Actor())
	switch {
	case errors.Is(err, moderation.ErrNoReport):
		return view.ReportsPath + "?empty&decided=" + action, nil
	case err != nil:
		return "", err
	}
	return view.CasePath(next.Target) + "&decided=" + action, nil
}

// untilIn returns the end of a limit or suspension after a number of days, or the zero time if days
// is empty.
func untilIn(days string, now time.Time) (time.Time, error) {
	if days == "" {
		return time.Time{}, nil
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 1 || n > 3650 {
		return time.Time{}, &request.Error{Status: http.StatusBadRequest, Detail: i18n.T("The form couldn't be read. Please try again.")}
	}
	return now.AddDate(0, 0, n), nil
}

func (h *handlers) returnReport(req *request.Request) error {
	err := h.app.Reports.ReturnReport(req.Ctx, req.User.Actor(), req.R.PostFormValue("of"))
	if err != nil && !errors.Is(err, moderation.ErrReportNotHeld) {
		return err
	}
	return req.Redirect(view.ReportsPath)
}
