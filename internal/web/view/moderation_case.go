package view

import (
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/moderation"
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
	Done    bool
	Problem string
}

// otherTexts are the texts that were reported, but for the one that the post has now.
func (c Case) otherTexts() []moderation.ReportedText {
	return slices.DeleteFunc(slices.Clone(c.Texts), func(t moderation.ReportedText) bool {
		return c.Post != nil && t.Text == moderation.TextOf(c.Post.Post).Text
	})
}

// choice is something that a moderator can decide.
type choice struct{ name, label string }

// isFinal reports whether a choice takes away what somebody has written, or their account.
func (c choice) isFinal() bool { return c.name == "delete" || c.name == "suspend" }

// choicesOf are the choices of a decision.
func choicesOf(view Case) []choice {
	var all []choice
	if view.Taken {
		all = append(all, choice{"dismiss", "Dismiss: nothing is wrong"})
	}
	if view.Person.ID == 0 {
		return all
	}
	if view.Post != nil {
		if view.Post.Hidden.IsZero() {
			all = append(all, choice{"hide", "Hide the post: only its author sees it"})
		} else if !view.Taken {
			all = append(all, choice{"unhide", "Show the post again"})
		}
		all = append(all, choice{"delete", "Delete the post"})
	}
	all = append(all, choice{"limit", "Limit the account: absent from public lists"}, choice{"suspend", "Suspend the account: no log-in, all posts hidden"})
	if view.Info.Standing != social.Good && !view.Taken {
		all = append(all, choice{"restore", "Restore the account"})
	}
	return all
}
