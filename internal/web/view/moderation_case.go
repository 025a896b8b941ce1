package view

import (
	"slices"
	"strings"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
)

// Case is the page about a reported post or person.
type Case struct {
	moderation.Subject
	May     bool // the viewer may decide about the person
	Info    social.StandingInfo
	Shown   Posts // the post
	Texts   []moderation.ReportedText
	Reports []moderation.UserReport
	Open    bool // there is an open report
	Taken   bool // the viewer has taken the report
	History []Decision
	Known   Known
	Done    i18n.Message // what has just been decided
	Problem string

	Rules   []string // of the site
	Message string   // initial message to the person
	Note    string
}

// Known is the background of the person of a case.
type Known struct {
	Bio    string
	Counts people.Counts
	Posts  Posts // the latest posts
	Others []moderation.OpenReport
	All    bool // the history is complete
}

// maxOthers is how many other open reports a case lists.
const maxOthers = 10

// HasAppeal reports whether the person has appealed against an earlier decision.
func (c Case) HasAppeal() bool {
	return slices.ContainsFunc(c.Reports, func(r moderation.UserReport) bool { return r.Kind == moderation.AppealKind })
}

// otherTexts returns the reported texts that differ from the current text of the post.
func (c Case) otherTexts() []moderation.ReportedText {
	return slices.DeleteFunc(slices.Clone(c.Texts), func(t moderation.ReportedText) bool {
		return c.Post != nil && t.Text == moderation.TextOf(c.Post.Post).Text
	})
}

// recent is how long a decision counts as recent.
const recent = 30 * 24 * time.Hour

// restrictions are the decisions that a case counts.
var restrictions = []string{"hide", "delete", "limit", "suspend"}

// facts returns what is known about the person, other than when they joined.
func (c Case) facts(now time.Time) []i18n.Message {
	all := []i18n.Message{
		i18n.N(c.Known.Counts.Posts, "{n} post", "{n} posts"), i18n.N(c.Known.Counts.Followers, "{n} follower", "{n} followers"),
	}
	if n := int64(len(c.Known.Others)) + bool01(c.Open); n > 0 {
		all = append(all, i18n.N(n, "{n} open report", "{n} open reports"))
	}
	decided, limited := int64(0), int64(0)
	for _, e := range c.History {
		if now.Sub(e.Time) < recent && slices.Contains(restrictions, e.Action) {
			decided++
		}
		if e.Action == "limit" || e.Action == "suspend" {
			limited++
		}
	}
	all = append(all, i18n.N(decided, "{n} decision in 30 days", "{n} decisions in 30 days"))
	switch {
	case limited > 0:
		all = append(all, i18n.N(limited, "limited or suspended {n} time", "limited or suspended {n} times"))
	case c.Known.All:
		all = append(all, i18n.T("never limited"))
	}
	if c.Person.Role > social.Member {
		all = append(all, c.Person.Role.Label())
	}
	return append(all, standingText(c.Info))
}

func bool01(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// otherTitle returns the title of another open report about the person.
func otherTitle(o moderation.OpenReport) i18n.Message {
	switch _, post := audit.ParseTarget(o.Target); {
	case o.Post != nil:
		return i18n.Verbatim(Opening(o.Post.Body, 80))
	case post != 0:
		return i18n.T("A deleted post")
	}
	return i18n.T("The account")
}

// RuleMessage returns the message to a person who has broken a rule of the site.
func RuleMessage(rule moderation.Rule) i18n.Message {
	text := strings.TrimSuffix(rule.Text, ".")
	if rule.Number == 0 || text == "" {
		return i18n.Message{}
	}
	return i18n.T("This breaks rule {number}: {text}.", rule.Number, text)
}

// choice is a possible decision of a moderator. hint says what the decision does.
type choice struct {
	name        string
	label, hint i18n.Message
}

// isFinal reports whether a choice deletes a post or suspends an account.
func (c choice) isFinal() bool { return c.name == "delete" || c.name == "suspend" }

// choicesOf returns the possible decisions about a case.
func choicesOf(view Case) []choice {
	var all []choice
	switch {
	case view.Taken && view.HasAppeal():
		all = append(all, choice{"dismiss", i18n.T("Keep the decision"), i18n.T("The person is told")})
	case view.Taken:
		all = append(all, choice{"dismiss", i18n.T("No action"), i18n.T("Only closes the report")})
	}
	if view.Person.ID == 0 {
		return all
	}
	if view.Post != nil {
		if view.Post.Hidden.IsZero() {
			all = append(all, choice{"hide", i18n.T("Hide post"), i18n.T("Only its author and moderators see it")})
		} else {
			all = append(all, choice{"unhide", i18n.T("Show post again"), i18n.Message{}})
		}
		all = append(all, choice{"delete", i18n.T("Delete post"), i18n.T("This can't be undone")})
	}
	all = append(all,
		choice{"limit", i18n.T("Limit"), i18n.T("Leave out of public timelines, trends and suggestions")},
		choice{"suspend", i18n.T("Suspend"), i18n.T("Can't log in, posts hidden")})
	if view.Info.Standing != social.Good {
		all = append(all, choice{"restore", i18n.T("Restore"), i18n.T("Ends the limit or the suspension")})
	}
	return all
}

// decided maps actions to messages after a decision.
var decided = map[string]i18n.Message{
	"dismiss": i18n.T("No action taken."), "hide": i18n.T("Post hidden."), "unhide": i18n.T("Post shown again."), "delete": i18n.T("Post deleted."),
	"limit": i18n.T("Account limited."), "suspend": i18n.T("Account suspended."), "restore": i18n.T("Account restored."),
}

// Decided returns the message after a decision, or the zero message for an unknown action. closed
// reports whether the decision has closed a report.
func Decided(action string, closed bool) i18n.Message {
	text := decided[action]
	if !text.IsZero() && closed {
		text = i18n.Sentences(text, i18n.T("Report closed."))
	}
	return text
}
