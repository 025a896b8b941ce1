package view

import (
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
)

// ReportForm is the form to report a post or a person, filled in with rejected input.
type ReportForm struct {
	Action  string // where it is sent
	Back    string
	Name    string // of the person
	Post    Posts  // none, or one
	Person  bool   // not a post
	Unseen  bool   // the viewer does not see it, or it does not exist
	Kind    string
	Text    string
	Problem string
	Sent    bool

	Rules        []string // of the site, to choose from
	RulesVersion string
	Rule         int // the number of the one that was chosen, 0 for none

	MayMute, MayBlock bool // once it is sent: the viewer has not done so
}

// The pages of moderation that others lead to.
const (
	ModerationPath = "/moderation"
	ReportsPath    = "/moderation/reports"
)

// moderationSection has the pages for moderators. The page of one case belongs to the reports.
var moderationSection = section{title: "Moderation", path: ModerationPath, groups: []sectionGroup{
	{"To decide", []sectionEntry{
		{path: ModerationPath, label: "Overview", icon: "overview"},
		{
			path: ReportsPath, label: "Reports", icon: "flag", waiting: func(f Frame) int64 { return f.OpenReports },
			more: []string{"/moderation/case", "/moderation/decide"},
		},
		{path: "/moderation/signups", label: "Sign-ups", icon: "invite", waiting: func(f Frame) int64 { return f.SignUps }},
	}},
	{"People and words", []sectionEntry{
		{path: "/moderation/people", label: "People", icon: "user"},
		{path: "/moderation/blocks", label: "Blocks", icon: "block"},
		{path: "/moderation/tags", label: "Tags", icon: "tag"},
		{path: "/moderation/audit", label: "Log", icon: "log"},
	}},
	{"Site", []sectionEntry{
		{path: "/moderation/site", label: "Site and texts", icon: "settings", shown: isAdmin},
	}},
}}

func isAdmin(f Frame) bool { return f.User.Role >= social.Admin }

// Queue is the queue of reports.
type Queue struct {
	Taken   string // the target of the report that the viewer has, empty for none
	Empty   bool   // nothing waits that the viewer may decide
	Done    string // what has just been decided
	Reports []QueuedReport
	Next    string
}

// QueuedReport is an open report in the queue.
type QueuedReport struct {
	moderation.WaitingReport
	Holder string // empty for nobody
	Own    bool   // the viewer has it
}

// CaseTitle is how the page of a case names it.
func CaseTitle(s moderation.Subject) string {
	switch _, post := audit.ParseTarget(s.Target); {
	case s.Person.ID == 0:
		return "Something that is gone"
	case post == 0:
		return s.Person.Name
	case s.Post != nil:
		return "Post by " + s.Person.Name
	case s.ByAuthor():
		return "Post by " + s.Person.Name + ", deleted by its author at " + HumanTime(s.Deleted)
	default:
		return "Post by " + s.Person.Name + ", deleted by a moderator at " + HumanTime(s.Deleted)
	}
}

// waitingTitle is how the queue names a report.
func waitingTitle(w moderation.WaitingReport) string {
	switch {
	case w.Person.ID != 0 && w.Post != nil:
		return w.Person.Name + ": " + Opening(w.Post.Body, 80)
	case len(w.Texts) > 0:
		return CaseTitle(w.Subject) + ": " + Opening(w.Texts[len(w.Texts)-1].Text, 80)
	}
	return CaseTitle(w.Subject)
}

// reasons says how often and why something was reported.
func reasons(w moderation.WaitingReport) string {
	labels := make([]string, len(w.Kinds))
	for i, kind := range w.Kinds {
		labels[i] = moderation.KindLabel(kind.Name)
		if len(w.Kinds) > 1 && kind.N > 1 {
			labels[i] += " (" + Thousands(kind.N) + ")"
		}
	}
	text := counted(w.Reporters, "report", "reports")
	if len(labels) > 0 {
		text += ": " + strings.Join(labels, ", ")
	}
	return text
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
	By, About  string // names that filter it
	Next       string
	Unknown    string // a name that nobody has
	IsFiltered bool
}

// Decision is an entry of the audit log.
type Decision struct {
	audit.Entry
	By     string
	About  string // the person; empty for nobody
	Target string // an address, empty for none
}

// deeds are what the pages call the actions of the audit log.
var deeds = map[string]string{
	"dismiss": "took no action on a report", "hide": "hid a post", "unhide": "showed a post again", "delete": "deleted a post",
	"block-tag": "blocked in trends", "unblock-tag": "no longer blocks in trends",
	"block-word": "blocked the word", "block-domain": "blocked the domain", "block-address": "blocked the address",
	"unblock-word": "no longer blocks the word", "unblock-domain": "no longer blocks the domain", "unblock-address": "no longer blocks the address",
	"pin-tag": "pinned in trends", "unpin-tag": "no longer pins in trends",
	"limit": "limited the account", "suspend": "suspended the account", "restore": "restored the account", "role": "changed the role",
	"approve-sign-up": "approved the account", "refuse-sign-up": "refused the account", "delete-account": "deleted the account",
	"reset-password": "made a link for a new password", "remove-second-factor": "turned off the second factor",
	"end-sessions": "ended the sessions", "remove-email": "removed the email address", "import-archive": "imported an archive into the account",
	"invite": "made an invitation", "revoke-invitation": "revoked the invitation",
	"site": "changed a setting of the site:", "sign-up-mode": "changed who can sign up",
}

// deed is what the pages call an action.
func deed(action string) string {
	if text, ok := deeds[action]; ok {
		return text
	}
	return action
}

// ActorName is how a page names who has decided.
func ActorName(actor social.Actor, names map[int64]social.User) string {
	switch actor {
	case social.Operator:
		return "An operator"
	case social.Automatic:
		return "Retwis"
	}
	return PersonName(int64(actor), names)
}

// PersonName is how a page names a user, who may be deleted.
func PersonName(uid int64, names map[int64]social.User) string {
	if user, ok := names[uid]; ok {
		return user.Name
	}
	return "a deleted account"
}

// Overview is what needs attention, and for admins the state of the site, as lines of text.
type Overview struct {
	Attention        []Attention
	Site, Work, Load []OverviewLine
}

// Attention is something that somebody should look at: how much waits, since when, and where.
type Attention struct {
	Text  string
	Since time.Time // zero where that says nothing
	Path  string    // empty for nowhere
}

// OverviewLine is a value with its name. Bad marks one that an operator should look at.
type OverviewLine struct {
	Name, Value string
	Bad         bool
}
