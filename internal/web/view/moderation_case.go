package view

import (
	"slices"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/audit"
	"retwis/internal/social/moderation"
	"retwis/internal/social/people"
)

// Case is everything about a post or a person.
type Case struct {
	moderation.Subject
	May     bool // the viewer may decide about the person
	Info    social.StandingInfo
	Shown   Posts // the post
	Texts   []moderation.ReportedText
	Reports []moderation.UserReport
	Open    bool // there is an open report
	Taken   bool // the viewer has it
	History []Decision
	Known   Known
	Done    string // what has just been decided
	Problem string

	Rules   []string // of the site
	Message string   // for the person, as it is filled in
	Note    string
}

// Known is what helps to judge a person.
type Known struct {
	Bio    string
	Counts people.Counts
	Posts  Posts // the latest
	Others []moderation.OpenReport
	All    bool // the history is complete
}

// maxOthers is how many other open reports a case lists.
const maxOthers = 10

// otherTexts are the texts that were reported, but for the one that the post has now.
func (c Case) otherTexts() []moderation.ReportedText {
	return slices.DeleteFunc(slices.Clone(c.Texts), func(t moderation.ReportedText) bool {
		return c.Post != nil && t.Text == moderation.TextOf(c.Post.Post).Text
	})
}

// recent is for how long a decision is recent.
const recent = 30 * 24 * time.Hour

// facts say what is known about the person, after when they joined.
func (c Case) facts(now time.Time) []string {
	all := []string{
		counted(c.Known.Counts.Posts, "post", "posts"), counted(c.Known.Counts.Followers, "follower", "followers"),
	}
	if n := int64(len(c.Known.Others)) + bool01(c.Open); n > 0 {
		all = append(all, counted(n, "open report", "open reports"))
	}
	decided, limited := int64(0), int64(0)
	for _, e := range c.History {
		if now.Sub(e.Time) < recent && slices.Contains(moderation.ReportActions, e.Action) {
			decided++
		}
		if e.Action == "limit" || e.Action == "suspend" {
			limited++
		}
	}
	all = append(all, counted(decided, "decision", "decisions")+" in 30 days")
	switch {
	case limited > 0:
		all = append(all, "limited or suspended "+counted(limited, "time", "times"))
	case c.Known.All:
		all = append(all, "never limited")
	}
	if c.Person.Role > social.Member {
		all = append(all, c.Person.Role.String())
	}
	return append(all, standingText(c.Info))
}

func bool01(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// otherTitle names another open report about the person.
func otherTitle(o moderation.OpenReport) string {
	switch _, post := audit.ParseTarget(o.Target); {
	case o.Post != nil:
		return Opening(o.Post.Body, 80)
	case post != 0:
		return "A deleted post"
	}
	return "The account"
}

// RuleMessage is what a person is told who has broken a rule of the site.
func RuleMessage(rule moderation.Rule) string {
	text := strings.TrimSuffix(rule.Text, ".")
	if rule.Number == 0 || text == "" {
		return ""
	}
	return "This breaks " + strings.ToLower(rule.String()[:1]) + strings.TrimSuffix(rule.String()[1:], ".") + "."
}

// choice is something that a moderator can decide. Hint says what it does.
type choice struct{ name, label, hint string }

// isFinal reports whether a choice takes away what somebody has written, or their account.
func (c choice) isFinal() bool { return c.name == "delete" || c.name == "suspend" }

// choicesOf are the choices of a decision.
func choicesOf(view Case) []choice {
	var all []choice
	if view.Taken {
		all = append(all, choice{"dismiss", "No action", "Only closes the report"})
	}
	if view.Person.ID == 0 {
		return all
	}
	if view.Post != nil {
		if view.Post.Hidden.IsZero() {
			all = append(all, choice{"hide", "Hide post", "Only its author and moderators see it"})
		} else if !view.Taken {
			all = append(all, choice{"unhide", "Show post again", ""})
		}
		all = append(all, choice{"delete", "Delete post", "This can't be undone"})
	}
	all = append(all,
		choice{"limit", "Limit", "Leave out of public timelines, trends and suggestions"},
		choice{"suspend", "Suspend", "Can't log in, posts hidden"})
	if view.Info.Standing != social.Good && !view.Taken {
		all = append(all, choice{"restore", "Restore", "Ends the limit or the suspension"})
	}
	return all
}

// decided are what the pages say after a decision, by its action.
var decided = map[string]string{
	"dismiss": "No action taken.", "hide": "Post hidden.", "unhide": "The post is shown again.", "delete": "Post deleted.",
	"limit": "Account limited.", "suspend": "Account suspended.", "restore": "Account restored.",
}

// Decided says what was decided; empty for what is no action. closed: that has ended a report.
func Decided(action string, closed bool) string {
	text := decided[action]
	if text != "" && closed {
		text += " Report closed."
	}
	return text
}
