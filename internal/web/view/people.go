package view

import (
	"retwis/internal/social"
)

// Person is a person in a list, with a button to follow them.
type Person struct {
	User        social.User
	Own         bool // the viewer
	Following   bool
	FollowedBy  bool
	Undo        string       // "unmute" or "unblock": a button for that instead
	Compact     bool         // beside a page, where there is little room
	Why         Why          // of a person who is suggested
	Latest      *social.Post // nil for none
	Dismissible bool         // with a button that removes the suggestion
	Back        string       // the page that the button leads back to; empty for the person's profile
}

// People is a page of people, and the address of the next one.
type People struct {
	People []Person
	Next   string
	Later  bool // this is not the first page
}

func followLabel(p Person) string {
	if p.FollowedBy {
		return "Follow back"
	}
	return "Follow"
}

func undoLabel(what string) string {
	if what == "unmute" {
		return "Unmute"
	}
	return "Unblock"
}

// NewMembers is how many new members the page of people lists.
const NewMembers = 8
