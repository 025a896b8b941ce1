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
)

// moderationTabs are the pages for moderators.
var moderationTabs = []struct {
	path, label string
	least       social.Role // who sees it
}{
	{"/moderation", "Reports", social.Moderator},
	{"/moderation/people", "People", social.Moderator},
	{"/moderation/audit", "Decisions", social.Moderator},
	{"/moderation/overview", "Overview", social.Admin},
}

// moderationTab is the aria-current attribute of a tab. The page of one case belongs to
// the reports.
func moderationTab(f frame, path string) string {
	if f.Here == "/moderation/case" && path == "/moderation" {
		return "true"
	}
	return f.current(path)
}

// casePath is the page of a moderator about a post or a person.
func casePath(target string) string { return "/moderation/case?of=" + url.QueryEscape(target) }

// errNotModerator: somebody else has opened a page for moderators.
var errNotModerator = errors.New("web: not a moderator")

// moderator returns an error unless a moderator is logged in. For everybody else the
// pages do not exist.
func (req *request) moderator() (social.Actor, error) {
	if !req.signed || req.viewer.Role < social.Moderator {
		return 0, fmt.Errorf("%w: %w", errNotModerator, errNotFound)
	}
	return req.viewer.Actor(), nil
}

func (s *Server) toModeration(req *request) error {
	if _, err := req.moderator(); err != nil {
		return err
	}
	return req.redirect("/moderation")
}

// queueView is the queue of reports.
type queueView struct {
	Held    string // the target of the report that the viewer has, empty for none
	Empty   bool   // nothing waits that the viewer may decide
	Reports []waitingView
	Next    string
}

// waitingView is an open report in the queue.
type waitingView struct {
	moderation.WaitingReport
	Holder string // empty for nobody
	Own    bool   // the viewer has it
}

// queuePage is how many reports a page of the queue has.
const queuePage = 50

func (s *Server) moderation(req *request) error {
	actor, err := req.moderator()
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(req.r.URL.Query().Get("from"))
	open, more, err := s.app.Reports.OpenReports(req.ctx, actor, from, queuePage)
	if err != nil {
		return err
	}
	view := queueView{Empty: req.r.URL.Query().Has("empty")}
	if more {
		view.Next = "/moderation?from=" + strconv.Itoa(from+queuePage)
	}
	var ids []int64
	for _, one := range open {
		ids = append(ids, int64(one.Holder))
	}
	names, err := s.app.Reports.UsersOf(req.ctx, positive(ids)...)
	if err != nil {
		return err
	}
	for _, one := range open {
		w := waitingView{WaitingReport: one, Own: one.Holder == actor}
		if one.Holder != 0 {
			w.Holder = actorName(one.Holder, names)
		}
		if w.Own {
			view.Held = one.Target
		}
		view.Reports = append(view.Reports, w)
	}
	return req.render(http.StatusOK, queueOfReports(req.page("Moderation"), view))
}

// positive returns the ids of users among those of actors.
func positive(ids []int64) []int64 {
	var users []int64
	for _, id := range ids {
		if id > 0 {
			users = append(users, id)
		}
	}
	return users
}

// actorName is how a page names who has decided.
func actorName(actor social.Actor, names map[int64]social.User) string {
	switch actor {
	case social.Operator:
		return "An operator"
	case social.Automatic:
		return "Retwis"
	}
	return personName(int64(actor), names)
}

func personName(uid int64, names map[int64]social.User) string {
	if user, ok := names[uid]; ok {
		return user.Name
	}
	return "a deleted account"
}

func (s *Server) takeReport(req *request) error {
	actor, err := req.moderator()
	if err != nil {
		return err
	}
	var c moderation.ReportCase
	if target := req.r.PostFormValue("of"); target != "" {
		c, err = s.app.Reports.TakeReportOf(req.ctx, actor, target)
	} else {
		c, err = s.app.Reports.TakeReport(req.ctx, actor)
		if errors.Is(err, moderation.ErrNoReport) {
			return req.redirect("/moderation?empty")
		}
	}
	if err != nil {
		return err
	}
	return req.redirect(casePath(c.Target))
}

// decisions names the people of entries of the audit log.
func (s *Server) decisions(req *request, entries []audit.Entry) ([]decisionView, error) {
	var ids []int64
	for _, e := range entries {
		ids = append(ids, int64(e.Actor), e.Person)
	}
	names, err := s.app.Reports.UsersOf(req.ctx, positive(ids)...)
	if err != nil {
		return nil, err
	}
	all := make([]decisionView, len(entries))
	for i, e := range entries {
		all[i] = decisionView{Entry: e, By: actorName(e.Actor, names)}
		if e.Person != 0 {
			all[i].About = personName(e.Person, names)
		}
		if uid, pid := audit.ParseTarget(e.Target); uid != 0 || pid != 0 {
			all[i].Target = casePath(e.Target)
		}
	}
	return all, nil
}

// deeds are what the pages call the actions of the audit log.
var deeds = map[string]string{
	"dismiss": "dismissed a report", "hide": "hid a post", "unhide": "showed a post again", "delete": "deleted a post",
	"limit": "limited the account", "suspend": "suspended the account", "restore": "restored the account", "role": "changed the role",
}

// deed is what the pages call an action.
func deed(action string) string {
	if text, ok := deeds[action]; ok {
		return text
	}
	return action
}

// standingPeople are people on a page for moderators.
type standingPeople struct {
	People []social.User
	Query  string
	Asked  bool // the page shows the result of a search
	Next   string
}

func (s *Server) moderationPeople(req *request) error {
	if _, err := req.moderator(); err != nil {
		return err
	}
	query := req.r.URL.Query()
	view := standingPeople{Query: strings.TrimPrefix(strings.TrimSpace(query.Get("q")), "@")}
	if view.Query != "" {
		view.Asked = true
		user, err := s.app.Users.UserByName(req.ctx, view.Query)
		if err == nil {
			view.People = []social.User{user}
		} else if !errors.Is(err, social.ErrNotFound) {
			return err
		}
		similar, err := s.app.Completions.FindPeople(req.ctx, view.Query, 20)
		if err != nil {
			return err
		}
		for _, other := range similar {
			if other.ID != user.ID {
				view.People = append(view.People, other)
			}
		}
		return req.render(http.StatusOK, peopleForModerators(req.page("Moderation"), view))
	}
	people, err := s.app.Moderation.StandingPeople(req.ctx, query.Get("before"), queuePage)
	if err != nil {
		return err
	}
	view.People, view.Next = people.Users, moreOf("/moderation/people", people.Next)
	return req.render(http.StatusOK, peopleForModerators(req.page("Moderation"), view))
}

// auditView is a page of the audit log.
type auditView struct {
	Entries    []decisionView
	By, About  string // names that filter it
	Next       string
	Unknown    string // a name that nobody has
	IsFiltered bool
}

func (s *Server) moderationAudit(req *request) error {
	if _, err := req.moderator(); err != nil {
		return err
	}
	query := req.r.URL.Query()
	view := auditView{By: strings.TrimSpace(query.Get("by")), About: strings.TrimSpace(query.Get("about"))}
	var filter audit.Filter
	for _, one := range []struct {
		name string
		set  func(uid int64)
	}{
		{view.By, func(uid int64) { filter.Actor = social.Actor(uid) }},
		{view.About, func(uid int64) { filter.Person = uid }},
	} {
		if one.name == "" {
			continue
		}
		view.IsFiltered = true
		if one.name == social.Operator.String() {
			one.set(int64(social.Operator))
			continue
		}
		user, err := s.app.Users.UserByName(req.ctx, strings.TrimPrefix(one.name, "@"))
		if errors.Is(err, social.ErrNotFound) {
			view.Unknown = one.name
			return req.render(http.StatusOK, auditPage(req.page("Moderation"), view))
		}
		if err != nil {
			return err
		}
		one.set(user.ID)
	}
	page, err := s.app.Audit.Read(req.ctx, filter, query.Get("before"), queuePage)
	if err != nil {
		return err
	}
	if page.Next != "" {
		next := url.Values{"before": {page.Next}}
		for name, value := range map[string]string{"by": view.By, "about": view.About} {
			if value != "" {
				next.Set(name, value)
			}
		}
		view.Next = "/moderation/audit?" + next.Encode()
	}
	if view.Entries, err = s.decisions(req, page.Entries); err != nil {
		return err
	}
	return req.render(http.StatusOK, auditPage(req.page("Moderation"), view))
}
