package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/timeline"
)

// caseView is everything about a post or a person.
type caseView struct {
	Target  string
	Person  social.User
	May     bool // the viewer may decide about the person
	Info    social.StandingInfo
	Post    *timeline.View // nil for a person
	Shown   postList       // the post
	Reports []moderation.UserReport
	Open    bool // there is an open report
	Held    bool // the viewer has it
	History []decisionView
	Done    bool
	Problem string
}

// decisionView is an entry of the audit log.
type decisionView struct {
	audit.Entry
	By     string
	About  string // the person; empty for nobody
	Target string // an address, empty for none
}

func (s *Server) moderationCase(req *request) error { return s.showCase(req, http.StatusOK, "") }

func (s *Server) showCase(req *request, status int, problem string) error {
	actor, err := req.moderator()
	if err != nil {
		return err
	}
	view := caseView{Target: req.r.FormValue("of"), Done: req.r.URL.Query().Has("done"), Problem: problem}
	held, err := s.app.Reports.HeldReport(req.ctx, actor)
	view.Held = err == nil && held.Target == view.Target
	if err != nil && !errors.Is(err, moderation.ErrNoReport) {
		return err
	}
	if !view.Held {
		held, err = s.app.Reports.ReportOf(req.ctx, actor, view.Target)
		if err != nil && !errors.Is(err, moderation.ErrNoReport) {
			return err
		}
	}
	view.Open, view.Reports = err == nil, held.Reports
	view.Person, view.Post, err = s.app.Reports.TargetOf(req.ctx, actor, view.Target)
	if errors.Is(err, social.ErrNotFound) && view.Held {
		err = nil // gone meanwhile: it can only be dismissed
	}
	if err != nil {
		return err
	}
	if err := s.fillCase(req, &view); err != nil {
		return err
	}
	title := "Report"
	if view.Person.Name != "" {
		title = view.Person.Name
		if view.Post != nil {
			title = "Post by " + view.Person.Name
		}
	}
	return req.render(status, casePage(req.page(title), view))
}

// fillCase reads what is known about the person.
func (s *Server) fillCase(req *request, view *caseView) error {
	v, err := req.person()
	if err != nil {
		return err
	}
	if view.Post != nil {
		if view.Shown, err = req.show(v, []timeline.Item{{Entry: view.Post, Post: view.Post}}); err != nil {
			return err
		}
	}
	if view.Person.ID == 0 {
		view.May = true
		return nil
	}
	view.May = req.viewer.MayModerate(view.Person)
	if view.Info, err = s.app.Moderation.StandingOf(req.ctx, view.Person.ID); err != nil {
		return err
	}
	page, err := s.app.Audit.Read(req.ctx, audit.Filter{Person: view.Person.ID}, "", 20)
	if err != nil {
		return err
	}
	view.History, err = s.decisions(req, page.Entries)
	return err
}

func (s *Server) decide(req *request) error {
	actor, err := req.moderator()
	if err != nil {
		return err
	}
	target := req.r.PostFormValue("of")
	d := moderation.ReportDecision{
		Action: req.r.PostFormValue("action"), Message: req.r.PostFormValue("message"), Note: req.r.PostFormValue("note"),
	}
	if d.Action == "limit" || d.Action == "suspend" {
		if d.Until, err = untilIn(req.r.PostFormValue("days"), time.Now()); err != nil {
			return err
		}
	}
	person, _, err := s.app.Reports.TargetOf(req.ctx, actor, target)
	if err != nil && !errors.Is(err, social.ErrNotFound) {
		return err
	}
	held := req.r.PostFormValue("report") != ""
	if held {
		err = s.app.Reports.DecideReport(req.ctx, actor, target, d)
	} else {
		err = s.app.Reports.Decide(req.ctx, actor, target, d)
	}
	var invalid *social.InvalidError
	if errors.As(err, &invalid) {
		return s.showCase(req, http.StatusUnprocessableEntity, invalid.Reason)
	}
	if err != nil {
		return err
	}
	req.security("moderation", person)
	_, pid := audit.ParseTarget(target)
	if held || d.Action == "delete" {
		return req.changedPosts("/moderation", pid)
	}
	return req.changedPosts(casePath(target)+"&done", pid)
}

// untilIn returns the end of a limit or a suspension: the zero time for none.
func untilIn(days string, now time.Time) (time.Time, error) {
	if days == "" {
		return time.Time{}, nil
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 1 || n > 3650 {
		return time.Time{}, &pageError{status: http.StatusBadRequest, detail: "The form couldn't be read. Please try again."}
	}
	return now.AddDate(0, 0, n), nil
}

func (s *Server) returnReport(req *request) error {
	actor, err := req.moderator()
	if err != nil {
		return err
	}
	err = s.app.Reports.ReturnReport(req.ctx, actor, req.r.PostFormValue("of"))
	if err != nil && !errors.Is(err, moderation.ErrReportNotHeld) {
		return err
	}
	return req.redirect("/moderation")
}

// choice is something that a moderator can decide.
type choice struct{ name, label string }

// isFinal reports whether a choice takes away what somebody has written, or their account.
func (c choice) isFinal() bool { return c.name == "delete" || c.name == "suspend" }

// choicesOf are the choices of a decision.
func choicesOf(view caseView) []choice {
	var all []choice
	if view.Held {
		all = append(all, choice{"dismiss", "Dismiss: nothing is wrong"})
	}
	if view.Person.ID == 0 {
		return all
	}
	if view.Post != nil {
		if view.Post.Hidden.IsZero() {
			all = append(all, choice{"hide", "Hide the post: only its author sees it"})
		} else if !view.Held {
			all = append(all, choice{"unhide", "Show the post again"})
		}
		all = append(all, choice{"delete", "Delete the post"})
	}
	all = append(all, choice{"limit", "Limit the account: absent from public lists"}, choice{"suspend", "Suspend the account: no log-in, all posts hidden"})
	if view.Info.Standing != social.Good && !view.Held {
		all = append(all, choice{"restore", "Restore the account"})
	}
	return all
}

// reasons says how often and why something was reported.
func reasons(w moderation.WaitingReport) string {
	labels := make([]string, len(w.Kinds))
	for i, kind := range w.Kinds {
		labels[i] = moderation.KindLabel(kind.Name)
		if len(w.Kinds) > 1 && kind.N > 1 {
			labels[i] += " (" + thousands(kind.N) + ")"
		}
	}
	text := counted(w.Reporters, "report", "reports")
	if len(labels) > 0 {
		text += ": " + strings.Join(labels, ", ")
	}
	return text
}

// caseTitle is how the queue names a report.
func caseTitle(w moderation.WaitingReport) string {
	switch {
	case w.Person.ID == 0:
		return "Something that is gone"
	case w.Post != nil:
		return w.Person.Name + ": " + opening(w.Post.Body, 80)
	}
	return w.Person.Name
}
