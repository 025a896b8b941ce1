package view

import (
	"retwis/internal/social"
	"retwis/internal/social/moderation"
	"retwis/internal/social/timeline"
)

// Case is everything about a post or a person.
type Case struct {
	Target  string
	Person  social.User
	May     bool // the viewer may decide about the person
	Info    social.StandingInfo
	Post    *timeline.View // nil for a person
	Shown   Posts          // the post
	Reports []moderation.UserReport
	Open    bool // there is an open report
	Taken   bool // the viewer has it
	History []Decision
	Done    bool
	Problem string
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
