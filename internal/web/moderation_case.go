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

func (h *moderationHandlers) casePage(req *request.Request) error {
	return h.showCase(req, http.StatusOK, "")
}

func (h *moderationHandlers) showCase(req *request.Request, status int, problem string) error {
	actor, err := requireModerator(req)
	if err != nil {
		return err
	}
	data := view.Case{Target: req.R.FormValue("of"), Done: req.R.URL.Query().Has("done"), Problem: problem}
	held, err := h.reports.HeldReport(req.Ctx, actor)
	data.Held = err == nil && held.Target == data.Target
	if err != nil && !errors.Is(err, moderation.ErrNoReport) {
		return err
	}
	if !data.Held {
		held, err = h.reports.ReportOf(req.Ctx, actor, data.Target)
		if err != nil && !errors.Is(err, moderation.ErrNoReport) {
			return err
		}
	}
	data.Open, data.Reports = err == nil, held.Reports
	data.Person, data.Post, err = h.reports.TargetOf(req.Ctx, actor, data.Target)
	if errors.Is(err, social.ErrNotFound) && data.Held {
		err = nil // gone meanwhile: it can only be dismissed
	}
	if err != nil {
		return err
	}
	if err := h.fillCase(req, &data); err != nil {
		return err
	}
	title := "Report"
	if data.Person.Name != "" {
		title = data.Person.Name
		if data.Post != nil {
			title = "Post by " + data.Person.Name
		}
	}
	return req.Render(status, view.CasePage(req.Frame(title), data))
}

// fillCase reads what is known about the person.
func (h *moderationHandlers) fillCase(req *request.Request, data *view.Case) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	if data.Post != nil {
		if data.Shown, err = h.read.posts(req, v, []timeline.Item{{Entry: data.Post, Post: data.Post}}); err != nil {
			return err
		}
	}
	if data.Person.ID == 0 {
		data.May = true
		return nil
	}
	data.May = req.User.MayModerate(data.Person)
	if data.Info, err = h.moderation.StandingOf(req.Ctx, data.Person.ID); err != nil {
		return err
	}
	page, err := h.audit.Read(req.Ctx, audit.Filter{Person: data.Person.ID}, "", 20)
	if err != nil {
		return err
	}
	data.History, err = h.decisions(req, page.Entries)
	return err
}

func (h *moderationHandlers) decide(req *request.Request) error {
	actor, err := requireModerator(req)
	if err != nil {
		return err
	}
	target := req.R.PostFormValue("of")
	d := moderation.ReportDecision{
		Action: req.R.PostFormValue("action"), Message: req.R.PostFormValue("message"), Note: req.R.PostFormValue("note"),
	}
	if d.Action == "limit" || d.Action == "suspend" {
		if d.Until, err = untilIn(req.R.PostFormValue("days"), time.Now()); err != nil {
			return err
		}
	}
	person, _, err := h.reports.TargetOf(req.Ctx, actor, target)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return err
	}
	held := req.R.PostFormValue("report") != ""
	if held {
		err = h.reports.DecideReport(req.Ctx, actor, target, d)
	} else {
		err = h.reports.Decide(req.Ctx, actor, target, d)
	}
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return h.showCase(req, http.StatusUnprocessableEntity, invalid.Reason)
	}
	if err != nil {
		return err
	}
	req.LogSecurity("moderation", person)
	_, pid := audit.ParseTarget(target)
	if held || d.Action == "delete" {
		return req.ChangedPosts("/moderation", pid)
	}
	return req.ChangedPosts(view.CasePath(target)+"&done", pid)
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

func (h *moderationHandlers) release(req *request.Request) error {
	actor, err := requireModerator(req)
	if err != nil {
		return err
	}
	err = h.reports.ReturnReport(req.Ctx, actor, req.R.PostFormValue("of"))
	if err != nil && !errors.Is(err, moderation.ErrReportNotHeld) {
		return err
	}
	return req.Redirect("/moderation")
}
