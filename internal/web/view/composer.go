package view

import (
	"cmp"
	"regexp"

	"retwis/internal/i18n"
	"retwis/internal/social"
)

// StatusForm is the form for a text, filled in with rejected input. The zero value
// is the form for a new post.
type StatusForm struct {
	Action  string // the path that the form is sent to
	ID      string // of the field; two forms on a page have different ones
	Label   string
	Button  string
	Status  string // the text
	Notice  string // a sentence about it
	Problem string // why it was rejected
	Earlier bool   // people can see what the text replaces
	Cancel  string // the page to which a link leads back; empty for none
	Back    string // the page that follows; empty for that of the form

	Pictures  bool         // the form takes pictures
	Stored    social.Media // those that it has already
	Sensitive bool

	Kept string // fields of pictures that the form sends on unseen, as url.Values encodes them
}

// encoding is how the form is sent: with files, or as short as possible.
func (f StatusForm) encoding() string {
	if f.Pictures {
		return "multipart/form-data"
	}
	return "application/x-www-form-urlencoded"
}

// composerKey is what an empty form for a post shows.
type composerKey struct {
	user     social.User
	pictures bool
}

func (f StatusForm) action() string { return cmp.Or(f.Action, "/post") }

func (f StatusForm) id() string { return cmp.Or(f.ID, "status") }

func (f StatusForm) label() i18n.Message {
	switch {
	case f.Label != "":
		return i18n.Verbatim(f.Label)
	case isReply.MatchString(f.Action):
		return i18n.T("Your reply")
	case isEdit.MatchString(f.Action):
		return i18n.T("Edit your post")
	}
	return i18n.T("What's on your mind?")
}

func (f StatusForm) button() i18n.Message {
	switch {
	case f.Button != "":
		return i18n.Verbatim(f.Button)
	case isReply.MatchString(f.Action):
		return i18n.T("Reply")
	case isEdit.MatchString(f.Action):
		return i18n.T("Save")
	}
	return i18n.T("Post|verb")
}

// The paths to which replies and edits are sent.
var (
	isReply = regexp.MustCompile(`^/u/[^/]+/[0-9]+/reply$`)
	isEdit  = regexp.MustCompile(`^/u/[^/]+/[0-9]+/edit$`)
)

// TextAction returns the path that a text is sent to, if path is one of those, else
// that of a new post.
func TextAction(path string) string {
	if isReply.MatchString(path) || isEdit.MatchString(path) {
		return path
	}
	return "/post"
}

// DraftName says what a text is, by the path that it was sent to.
func DraftName(action string) i18n.Message {
	if isReply.MatchString(action) {
		return i18n.T("Your reply")
	}
	return i18n.T("Your post")
}
