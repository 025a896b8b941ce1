package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

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
	c := view.Case{Subject: moderation.Subject{Target: req.R.FormValue("of")}, Done: req.R.URL.Query().Has("done"), Problem: problem}
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
		err = nil // gone meanwhile: it can only be dismissed
	}
	if err != nil {
		return err
	}
	if err := h.fillCase(req, &c); err != nil {
		return err
	}
	return req.Render(status, view.CasePage(req.Frame(view.CaseTitle(c.Subject)), c))
}

// fillCase reads what is known about the person.
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
	c.History, err = h.decisions(req, page.Entries)
	return err
}

func (h *handlers) decideReport(req *request.Request) error {
	actor := req.User.Actor()
	target := req.R.PostFormValue("of")
	d := moderation.ReportDecision{
		Action: req.R.PostFormValue("action"), Message: req.R.PostFormValue("message"), Note: req.R.PostFormValue("note"),
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
		return request.Retry(err, func(_, problem string) error {
			return h.showCase(req, http.StatusUnprocessableEntity, problem)
		})
	}
	req.LogSecurity("moderation", about.Person)
	_, pid := audit.ParseTarget(target)
	if held || d.Action == "delete" {
		return req.Changed("/moderation", pid)
	}
	return req.Changed(view.CasePath(target)+"&done", pid)
}

// untilIn returns the end of a limit or a suspension: the zero time for none.
func untilIn(days string, now time.Time) (time.Time, error) {
	if days == "" {
		return time.Time{}, nil
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 1 || n > 3650 {
		return time.Time{}, &request.Error{Status: http.StatusBadRequest, Detail: "The form couldn't be read. Please try again."}
	}
	return now.AddDate(0, 0, n), nil
}

func (h *handlers) returnReport(req *request.Request) error {
	err := h.app.Reports.ReturnReport(req.Ctx, req.User.Actor(), req.R.PostFormValue("of"))
	if err != nil && !errors.Is(err, moderation.ErrReportNotHeld) {
		return err
	}
	return req.Redirect("/moderation")
}
