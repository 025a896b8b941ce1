package email

import (
	"context"
	"fmt"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/notify"
)

const confirmText = `The account %s on %s wants to use this address. To confirm that, open this page within a day:

%s

If that is not your account, do nothing: your address won't be used.
`

const ownedText = `Someone wants to use this address for an account on %s. It belongs to the account %s there
already, so nothing has changed.

If that is you, and you have forgotten your password, set a new one here:

%s
`

const resetText = `You can set a new password for the account %s on %s, within an hour:

%s

If you didn't ask for it, do nothing: your password stays as it is.
`

// changes are the subjects of warnings, by the field of the user that has changed.
var changes = map[string]string{
	auth.PasswordField: "Your password was changed",
	auth.FactorField:   "Two-step log-in was turned off",
	auth.PasskeysField: "A passkey was added",
}

// warned is what somebody is warned of.
type warned struct {
	what, name string
	at         time.Time
	reset      bool // a link for a forgotten password would still come to the address
}

// warning is the text of a warning.
func (s *Service) warning(ctx context.Context, w warned) string {
	text := fmt.Sprintf("%s: the account %s on %s, %s.\n\nIf that was you, all is well.\n", w.what, w.name, s.siteName(ctx), w.at.UTC().Format("2 January 2006, 15:04 UTC"))
	if w.reset {
		return text + "If not, set a new password now, which logs out all devices:\n\n" + s.Server.Link("/forgot") + "\n"
	}
	return text + "If not, log in, change your password and set your address again; if you can't, write to those who run the site:\n\n" + s.Server.Link("/about") + "\n"
}

// maxExcerpt bounds the text of a post in a digest, in characters.
const maxExcerpt = 100

// phrases are what people have done.
var phrases = map[notify.Kind]string{
	notify.Mention: "mentioned you", notify.Reply: "replied to you", notify.Like: "liked your post",
	notify.Repost: "reposted your post", notify.Follow: "followed you",
}

// digestLine is a group of notifications in one line.
func digestLine(g notify.Group) string {
	if g.Kind == notify.Decided {
		return "- " + strings.Join(strings.Fields(g.DecisionText()+" "+g.Reason+inBrackets(g.DecisionAbout())), " ")
	}
	text := "- " + shownName(g.Actors[0])
	switch others := g.Count - 1; {
	case others == 1:
		text += " and 1 other"
	case others > 1:
		text += fmt.Sprintf(" and %d others", others)
	}
	text += " " + phrases[g.Kind]
	if g.Post == nil {
		return text
	}
	body := []rune(strings.Join(strings.Fields(g.Post.Post.Body), " "))
	if len(body) > maxExcerpt {
		body = append(body[:maxExcerpt-1], '…')
	}
	return text + ": " + string(body)
}

// inBrackets puts a text in brackets; nothing for an empty one.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func shownName(u social.User) string {
	if u.DisplayName == "" {
		return u.Name
	}
	return u.DisplayName + " (" + u.Name + ")"
}
