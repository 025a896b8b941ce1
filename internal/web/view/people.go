package view

import (
	"retwis/internal/i18n"
	"retwis/internal/social"
)

// Person is a person in a list, with a follow button.
type Person struct {
	User        social.User
	Own         bool // the person is the viewer
	Following   bool
	FollowedBy  bool
	Undo        string       // "unmute" or "unblock" to show that button instead of the follow button
	Compact     bool         // in a sidebar, where there is little room
	Why         Why          // why the person is suggested
	Latest      *social.Post // latest post; nil for none
	Dismissible bool         // the suggestion has a button that removes it
	Back        string       // page that the button leads back to; empty for the person's profile
}

// People is a page of people and the address of the next page.
type People struct {
	People []Person
	Next   string
	Later  bool // not the first page
}

func followLabel(p Person) i18n.Message {
	if p.FollowedBy {
		return i18n.T("Follow back")
	}
	return i18n.T("Follow")
}

// followName returns the accessible name of the follow button of a person or a tag.
func followName(p Person, name string) i18n.Message {
	if p.FollowedBy {
		return i18n.T("Follow back: {name}", name)
	}
	return i18n.T("Follow {name}", name)
}

func undoLabel(action string) i18n.Message {
	if action == "unmute" {
		return i18n.T("Unmute")
	}
	return i18n.T("Unblock")
}

// undoName returns the accessible name of the button that unmutes or unblocks a person.
func undoName(p Person) i18n.Message {
	if p.Undo == "unmute" {
		return i18n.T("Unmute {name}", p.User.Name)
	}
	return i18n.T("Unblock {name}", p.User.Name)
}

// NewMembers is how many new members the page of people to follow lists.
const NewMembers = 8
