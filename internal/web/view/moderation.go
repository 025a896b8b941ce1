package view

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
)

// ReportForm is the form to report a post or a person, filled in with rejected input.
type ReportForm struct {
	Action  string // path that the form is sent to
	Back    string
	Name    string // of the person
	Post    Posts  // none or one
	Person  bool   // the report is about a person, not a post
	Unseen  bool   // the subject does not exist or is hidden from the viewer
	Kind    string
	Text    string
	Problem string
	Sent    bool

	Rules        []string // of the site, to choose from
	RulesVersion string
	Rule         int // number of the selected rule, 0 for none

	MayMute, MayBlock bool // offered after the report is sent, unless already done
}

// AppealForm is the form for an appeal, filled in with rejected input.
type AppealForm struct {
	Target  string // what the decision is about
	Back    string
	Text    string
	Problem string
	Open    bool // an appeal is open already
}

// Addresses of moderation pages, for links from other pages.
const (
	ModerationPath = "/moderation"
	ReportsPath    = "/moderation/reports"
)

// moderationSection lists the pages for moderators. The page of a case belongs to the reports.
var moderationSection = section{title: i18n.T("Moderation"), path: ModerationPath, groups: []sectionGroup{
	{i18n.T("To decide"), []sectionEntry{
		{path: ModerationPath, label: i18n.T("Overview"), icon: "overview"},
		{
			path: ReportsPath, label: i18n.T("Reports"), icon: "flag", waiting: func(f Frame) int64 { return f.OpenReports },
			more: []string{"/moderation/case", "/moderation/decide"},
		},
		{path: "/moderation/signups", label: i18n.T("Sign-ups"), icon: "invite", waiting: func(f Frame) int64 { return f.SignUps }},
	}},
	{i18n.T("People and words"), []sectionEntry{
		{path: "/moderation/people", label: i18n.T("People"), icon: "user"},
		{path: "/moderation/blocks", label: i18n.T("Blocks"), icon: "block"},
		{path: "/moderation/tags", label: i18n.T("Tags"), icon: "tag"},
		{path: "/moderation/audit", label: i18n.T("Log"), icon: "log"},
	}},
	{i18n.T("Site"), []sectionEntry{
		{path: "/moderation/site", label: i18n.T("Site and texts"), icon: "settings", shown: isAdmin},
	}},
}}

func isAdmin(f Frame) bool { return f.User.Role >= social.Admin }

// Queue is the queue of reports.
type Queue struct {
	Taken   string       // target of the report that the viewer has taken, empty for none
	Empty   bool         // there is nothing for the viewer to decide
	Done    i18n.Message // what has just been decided
	Reports []QueuedReport
	Next    string
}

// notice returns what has just been decided, and whether nothing is left to decide.
func (q Queue) notice() i18n.Message {
	if !q.Empty {
		return q.Done
	}
	return i18n.Sentences(q.Done, i18n.T("There are no reports for you to review."))
}

// QueuedReport is an open report in the queue.
type QueuedReport struct {
	moderation.WaitingReport
	Holder i18n.Message // zero for nobody
	Own    bool         // taken by the viewer
}

// CaseTitle returns the title of the page of a case.
func CaseTitle(s moderation.Subject) i18n.Message {
	switch _, post := audit.ParseTarget(s.Target); {
	case s.Person.ID == 0:
		return i18n.T("Deleted account or post")
	case post == 0:
		return i18n.Verbatim(s.Person.Name)
	case s.Post != nil:
		return i18n.T("Post by {name}", s.Person.Name)
	case s.ByAuthor():
		return i18n.T("Post by {name}, deleted by its author on {time}", s.Person.Name, s.Deleted)
	default:
		return i18n.T("Post by {name}, deleted by a moderator on {time}", s.Person.Name, s.Deleted)
	}
}

// waitingTitle returns the title of a report in the queue.
func waitingTitle(w moderation.WaitingReport) i18n.Message {
	switch {
	case w.Person.ID != 0 && w.Post != nil:
		return i18n.T("{name}: {text}", w.Person.Name, Opening(w.Post.Body, 80))
	case len(w.Texts) > 0:
		return i18n.T("{name}: {text}", CaseTitle(w.Subject), Opening(w.Texts[len(w.Texts)-1].Text, 80))
	}
	return CaseTitle(w.Subject)
}

// reasons returns how often and why something was reported.
func reasons(ctx context.Context, w moderation.WaitingReport) string {
	labels := make([]string, len(w.Kinds))
	for i, kind := range w.Kinds {
		labels[i] = message(ctx, moderation.KindLabel(kind.Name))
		if len(w.Kinds) > 1 && kind.N > 1 {
			labels[i] = t(ctx, "{reason} ({number})", labels[i], kind.N)
		}
	}
	if len(labels) == 0 {
		return tn(ctx, w.Reporters, "{n} report", "{n} reports")
	}
	return tn(ctx, w.Reporters, "{n} report: {reasons}", "{n} reports: {reasons}", strings.Join(labels, ", "))
}

// StandingPeople are people on a page for moderators.
type StandingPeople struct {
	People []social.User
	Query  string
	Asked  bool // the page shows the result of a search
	Next   string
}

// AuditLog is a page of the audit log.
type AuditLog struct {
	Entries    []Decision
	By, About  string // usernames to filter by
	Next       string
	Unknown    string // an unknown username
	IsFiltered bool
}

// Decision is an entry of the audit log.
type Decision struct {
	audit.Entry
	By     i18n.Message
	About  i18n.Message // the person; zero for nobody
	Target string       // an address, empty for none
}

// actionTexts maps the actions of the audit log to texts without and with a person concerned. Their
// arguments are who did it, the person, if any, and the target.
var actionTexts = map[string]struct{ plain, about i18n.Message }{
	"dismiss":              {plain: i18n.T("{who} took no action on a report ({target})"), about: i18n.T("{who} took no action on a report about {name} ({target})")},
	"hide":                 {plain: i18n.T("{who} hid a post ({target})"), about: i18n.T("{who} hid a post by {name} ({target})")},
	"unhide":               {plain: i18n.T("{who} unhid a post ({target})"), about: i18n.T("{who} unhid a post by {name} ({target})")},
	"delete":               {plain: i18n.T("{who} deleted a post ({target})"), about: i18n.T("{who} deleted a post by {name} ({target})")},
	"block-tag":            {plain: i18n.T("{who} blocked {target} from trends")},
	"unblock-tag":          {plain: i18n.T("{who} unblocked {target} in trends")},
	"block-word":           {plain: i18n.T("{who} blocked the word {target}")},
	"block-domain":         {plain: i18n.T("{who} blocked the domain {target}")},
	"block-address":        {plain: i18n.T("{who} blocked the address {target}")},
	"unblock-word":         {plain: i18n.T("{who} unblocked the word {target}")},
	"unblock-domain":       {plain: i18n.T("{who} unblocked the domain {target}")},
	"unblock-address":      {plain: i18n.T("{who} unblocked the address {target}")},
	"pin-tag":              {plain: i18n.T("{who} pinned {target} in trends")},
	"unpin-tag":            {plain: i18n.T("{who} unpinned {target} in trends")},
	"limit":                {plain: i18n.T("{who} limited the account {target}"), about: i18n.T("{who} limited the account of {name} ({target})")},
	"suspend":              {plain: i18n.T("{who} suspended the account {target}"), about: i18n.T("{who} suspended the account of {name} ({target})")},
	"restore":              {plain: i18n.T("{who} restored the account {target}"), about: i18n.T("{who} restored the account of {name} ({target})")},
	"role":                 {plain: i18n.T("{who} changed a role ({target})"), about: i18n.T("{who} changed the role of {name} ({target})")},
	"approve-sign-up":      {plain: i18n.T("{who} approved the account {target}"), about: i18n.T("{who} approved the account of {name} ({target})")},
	"refuse-sign-up":       {plain: i18n.T("{who} rejected the account {target}"), about: i18n.T("{who} rejected the account of {name} ({target})")},
	"delete-account":       {plain: i18n.T("{who} deleted the account {target}"), about: i18n.T("{who} deleted the account of {name} ({target})")},
	"reset-password":       {plain: i18n.T("{who} created a password reset link ({target})"), about: i18n.T("{who} created a password reset link for {name} ({target})")},
	"remove-second-factor": {plain: i18n.T("{who} turned off two-step log-in for the account ({target})"), about: i18n.T("{who} turned off two-step log-in for {name} ({target})")},
	"end-sessions":         {plain: i18n.T("{who} ended the sessions of the account ({target})"), about: i18n.T("{who} ended the sessions of {name} ({target})")},
	"remove-email":         {plain: i18n.T("{who} removed the email address of the account ({target})"), about: i18n.T("{who} removed the email address of {name} ({target})")},
	"import-archive":       {plain: i18n.T("{who} imported an archive into the account {target}"), about: i18n.T("{who} imported an archive into the account of {name} ({target})")},
	"invite":               {plain: i18n.T("{who} created an invitation")},
	"revoke-invitation":    {plain: i18n.T("{who} revoked the invitation {target}")},
	"site":                 {plain: i18n.T("{who} changed a setting of the site: {target}")},
	"sign-up-mode":         {plain: i18n.T("{who} changed who can sign up")},
}

// subject returns the target as the page shows it: a tag as people write it, and an invitation by
// its ID, because the text says what it is.
func (d Decision) subject() string {
	if tag, ok := audit.ParseTag(d.Entry.Target); ok {
		return "#" + tag
	}
	return strings.TrimPrefix(d.Entry.Target, "invite:")
}

// text returns what was done.
func (d Decision) text() i18n.Message {
	target := any(templ.Component(targetLink(d)))
	texts, ok := actionTexts[d.Action]
	switch {
	case ok && (d.About.IsZero() || texts.about.IsZero()):
		return texts.plain.With(actorStrong(d.By), target)
	case ok:
		return texts.about.With(actorStrong(d.By), d.About, target)
	case d.About.IsZero():
		return i18n.T("{who}: {action} {target}", actorStrong(d.By), d.Action, target)
	}
	return i18n.T("{who}: {action}, {name} ({target})", actorStrong(d.By), d.Action, d.About, target)
}

// ActorName returns the name to show for the person who made a decision.
func ActorName(actor social.Actor, names map[int64]social.User) i18n.Message {
	switch actor {
	case social.Operator:
		return i18n.T("An operator")
	case social.Automatic:
		return i18n.Verbatim("Retwis")
	}
	if user, ok := names[int64(actor)]; ok {
		return i18n.Verbatim(user.Name)
	}
	return i18n.T("A deleted account")
}

// PersonName returns the name of the person that a decision is about. The account may have been
// deleted.
func PersonName(uid int64, names map[int64]social.User) i18n.Message {
	if user, ok := names[uid]; ok {
		return i18n.Verbatim(user.Name)
	}
	return i18n.T("a deleted account|object")
}

// Overview shows what needs attention and, for admins, the state of the site, as lines of text.
type Overview struct {
	Attention        []Attention
	Site, Work, Load []OverviewLine
}

// Attention is something that needs attention: how much is waiting, since when, and where, or what
// to do.
type Attention struct {
	Text  string
	Since time.Time // zero if it does not apply
	Path  string    // empty for none
	Hint  string    // empty for none
}

// OverviewLine is a named value. Bad marks a value that an operator should look into.
type OverviewLine struct {
	Name, Value string
	Bad         bool
}
