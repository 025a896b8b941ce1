package email

import (
	"context"
	"strings"
	"time"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/auth"
	"retwis/internal/social/notify"
)

// paragraphs returns the text of an email in a language. A paragraph is an i18n.Message, or a text
// in no language, such as a link.
func paragraphs(l *i18n.Language, all ...any) string {
	texts := make([]string, len(all))
	for i, paragraph := range all {
		switch p := paragraph.(type) {
		case i18n.Message:
			texts[i] = l.Say(p)
		case string:
			texts[i] = p
		}
	}
	return strings.Join(texts, "\n\n") + "\n"
}

// changes are the subjects of warnings, by the user's field that has changed.
var changes = map[string]i18n.Message{
	auth.PasswordField: i18n.T("Your password was changed"),
	auth.FactorField:   i18n.T("Two-step log-in was turned off"),
	auth.PasskeysField: i18n.T("A passkey was added"),
}

// warningInfo describes what a warning is about.
type warningInfo struct {
	what  i18n.Message
	name  string
	at    time.Time
	reset bool // whether a reset link would still be sent to the address
}

// warning returns the text of a warning.
func (s *Service) warning(ctx context.Context, l *i18n.Language, w warningInfo) string {
	what := i18n.T("{change}: the account {name} on {site}, {time}.", w.what, w.name, s.siteName(ctx), w.at)
	fine := i18n.T("If this was you, you can ignore this email.")
	if w.reset {
		return paragraphs(l, what, fine, i18n.T("If it wasn't you, set a new password now. This logs out all devices:"), s.Server.Link("/forgot"))
	}
	return paragraphs(l, what, fine,
		i18n.T("If it wasn't you, log in, change your password and set your email address again. If you can't, contact the people who run the site:"), s.Server.Link("/about"))
}

// maxExcerpt limits the text of a post in a digest, in characters.
const maxExcerpt = 100

// digestLine formats a group of notifications as one line.
func digestLine(l *i18n.Language, g notify.Group) string {
	if g.Kind == notify.Decided {
		return "- " + strings.Join(strings.Fields(l.Say(g.DecisionText())+" "+g.Reason+inBrackets(l.Say(g.DecisionAbout()))), " ")
	}
	line := "- " + l.Say(g.Text(shownName(g.Actors[0])))
	if g.Post == nil {
		return line
	}
	body := []rune(strings.Join(strings.Fields(g.Post.Post.Body), " "))
	if len(body) > maxExcerpt {
		body = append(body[:maxExcerpt-1], '…')
	}
	return line + ": " + string(body)
}

// inBrackets puts a text in brackets, unless it is empty.
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
