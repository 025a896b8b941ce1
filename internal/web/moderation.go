package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// moderator restricts a page to moderators. For others the page is not found.
func moderator(page request.Page) request.Page { return forRole(social.Moderator, page) }

// admin restricts a page to admins and owners.
func admin(page request.Page) request.Page { return forRole(social.Admin, page) }

func forRole(minRole social.Role, page request.Page) request.Page {
	return func(req *request.Request) error {
		if !req.LoggedIn || req.User.Role < minRole {
			return fmt.Errorf("%w: %w", request.ErrNotModerator, request.ErrNotFound)
		}
		return page(req)
	}
}

// queuePage is the number of entries on a page of the report queue, of people and of the audit log.
const queuePage = 50

func (h *handlers) reportQueue(req *request.Request) error {
	actor := req.User.Actor()
	from, _ := strconv.Atoi(req.R.URL.Query().Get("from"))
	open, more, err := h.app.Reports.OpenReports(req.Ctx, actor, from, queuePage)
	if err != nil {
		return err
	}
	queue := view.Queue{Empty: req.R.URL.Query().Has("empty"), Done: view.Decided(req.R.URL.Query().Get("decided"), true)}
	if more {
		queue.Next = view.ReportsPath + "?from=" + strconv.Itoa(from+queuePage)
	}
	var ids []int64
	for _, report := range open {
		ids = append(ids, int64(report.Holder))
	}
	names, err := h.app.Reports.UsersOf(req.Ctx, userIDs(ids)...)
	if err != nil {
		return err
	}
	for _, report := range open {
		w := view.QueuedReport{WaitingReport: report, Own: report.Holder == actor}
		if report.Holder != 0 {
			w.Holder = view.ActorName(report.Holder, names)
		}
		if w.Own {
			queue.Taken = report.Target
		}
		queue.Reports = append(queue.Reports, w)
	}
	return req.Render(http.StatusOK, view.QueuePage(req.Frame(req.T("Moderation")), queue))
}

// userIDs returns the user IDs among actor IDs.
func userIDs(ids []int64) []int64 {
	var users []int64
	for _, id := range ids {
		if id > 0 {
			users = append(users, id)
		}
	}
	return users
}

func (h *handlers) takeReport(req *request.Request) error {
	var c moderation.ReportCase
	var err error
	actor := req.User.Actor()
	if target := req.R.PostFormValue("of"); target != "" {
		c, err = h.app.Reports.TakeReportOf(req.Ctx, actor, target)
	} else {
		c, err = h.app.Reports.TakeReport(req.Ctx, actor)
		if errors.Is(err, moderation.ErrNoReport) {
			return req.Redirect(view.ReportsPath + "?empty")
		}
	}
	if err != nil {
		return err
	}
	return req.Redirect(view.CasePath(c.Target))
}

// decisions returns audit log entries with the names of the people.
func (h *handlers) decisions(req *request.Request, entries []audit.Entry) ([]view.Decision, error) {
	var ids []int64
	for _, e := range entries {
		ids = append(ids, int64(e.Actor), e.Person)
	}
	names, err := h.app.Reports.UsersOf(req.Ctx, userIDs(ids)...)
	if err != nil {
		return nil, err
	}
	all := make([]view.Decision, len(entries))
	for i, e := range entries {
		all[i] = view.Decision{Entry: e, By: view.ActorName(e.Actor, names)}
		if e.Person != 0 {
			all[i].About = view.PersonName(e.Person, names)
		}
		if uid, pid := audit.ParseTarget(e.Target); uid != 0 || pid != 0 {
			all[i].Target = view.CasePath(e.Target)
		} else if tag, ok := audit.ParseTag(e.Target); ok {
			all[i].Target = view.TagPath(tag)
		}
	}
	return all, nil
}

func (h *handlers) restrictedPeople(req *request.Request) error {
	query := req.R.URL.Query()
	page := view.StandingPeople{Query: social.TypedName(query.Get("q"))}
	if page.Query != "" {
		page.Asked = true
		user, err := h.app.Users.UserByName(req.Ctx, page.Query)
		if err == nil {
			page.People = []social.User{user}
		} else if !errors.Is(err, social.ErrNotFound) {
			return err
		}
		similar, err := h.app.Completions.FindPeople(req.Ctx, page.Query, 20)
		if err != nil {
			return err
		}
		for _, other := range similar {
			if other.ID != user.ID {
				page.People = append(page.People, other)
			}
		}
		return req.Render(http.StatusOK, view.StandingPeoplePage(req.Frame(req.T("Moderation")), page))
	}
	people, err := h.app.Moderation.StandingPeople(req.Ctx, query.Get("before"), queuePage)
	if err != nil {
		return err
	}
	page.People, page.Next = people.Users, view.NextPage("/moderation/people", people.Next)
	return req.Render(http.StatusOK, view.StandingPeoplePage(req.Frame(req.T("Moderation")), page))
}

func (h *handlers) auditLog(req *request.Request) error {
	query := req.R.URL.Query()
	log := view.AuditLog{By: strings.TrimSpace(query.Get("by")), About: strings.TrimSpace(query.Get("about"))}
	var filter audit.Filter
	for _, field := range []struct {
		name string
		set  func(uid int64)
	}{
		{log.By, func(uid int64) { filter.Actor = social.Actor(uid) }},
		{log.About, func(uid int64) { filter.Person = uid }},
	} {
		if field.name == "" {
			continue
		}
		log.IsFiltered = true
		if field.name == social.Operator.String() {
			field.set(int64(social.Operator))
			continue
		}
		user, err := h.app.Users.UserByName(req.Ctx, social.TypedName(field.name))
		if errors.Is(err, social.ErrNotFound) {
			log.Unknown = field.name
			return req.Render(http.StatusOK, view.AuditPage(req.Frame(req.T("Moderation")), log))
		}
		if err != nil {
			return err
		}
		field.set(user.ID)
	}
	page, err := h.app.Audit.Read(req.Ctx, filter, query.Get("before"), queuePage)
	if err != nil {
		return err
	}
	if page.Next != "" {
		next := url.Values{"before": {page.Next}}
		for name, value := range map[string]string{"by": log.By, "about": log.About} {
			if value != "" {
				next.Set(name, value)
			}
		}
		log.Next = "/moderation/audit?" + next.Encode()
	}
	if log.Entries, err = h.decisions(req, page.Entries); err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.AuditPage(req.Frame(req.T("Moderation")), log))
}
