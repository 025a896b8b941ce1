package view

import (
	"cmp"
	"regexp"

	"retwis/internal/i18n"
	"retwis/internal/social"
)

// StatusForm is the form for a text, filled in with rejected input. The zero value is the form for
// a new post.
type StatusForm struct {
	Action  string // path that the form is sent to
	ID      string // of the field; two forms on a page have different IDs
	Label   string
	Button  string
	Status  string // the text
	Notice  string // a sentence about the text
	Problem string // why it was rejected
	Earlier bool   // people can see the text that is replaced
	Cancel  string // page that a link leads back to; empty for none
	Back    string // page shown after the form is sent; empty for the default

	Pictures  bool         // the form accepts pictures
	Stored    social.Media // pictures that the text already has
	Sensitive bool

	Kept string // hidden fields of pictures, as url.Values encodes them
}

// encoding returns the encoding of a form. Only a form with pictures is multipart, because the
// other encoding is shorter.
func encoding(pictures bool) string {
	if pictures {
		return "multipart/form-data"
	}
	return "application/x-www-form-urlencoded"
}

// composerKey is the cache key of an empty form for a post.
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

// isReply and isEdit match the paths that replies and edits are sent to.
var (
	isReply = regexp.MustCompile(`^/u/[^/]+/[0-9]+/reply$`)
	isEdit  = regexp.MustCompile(`^/u/[^/]+/[0-9]+/edit$`)
)

// TextAction returns path if replies or edits can be sent to it, and the path for new posts
// otherwise.
func TextAction(path string) string {
	if isReply.MatchString(path) || isEdit.MatchString(path) {
		return path
	}
	return "/post"
}

// DraftName returns the name of the kind of text that was sent to a path.
func DraftName(action string) i18n.Message {
	if isReply.MatchString(action) {
		return i18n.T("Your reply")
	}
	return i18n.T("Your post")
}
