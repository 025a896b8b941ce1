package view

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/rivo/uniseg"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/text"
)

// MachineTime formats a time for programs.
func MachineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// countText formats a number below a post. It returns "" for 0.
func countText(ctx context.Context, n int64) string {
	if n == 0 {
		return ""
	}
	return i18n.From(ctx).Number(n)
}

// Opening returns the beginning of a text on one line, of at most limit characters.
func Opening(body string, limit int) string {
	body = strings.Join(strings.Fields(body), " ")
	rest, state := body, -1
	for n := 0; rest != ""; n++ {
		if n == limit-1 && uniseg.GraphemeClusterCount(rest) > 1 {
			return strings.TrimSpace(body[:len(body)-len(rest)]) + "…"
		}
		_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return body
}

// shownLink returns the displayed form of a link on a profile.
func shownLink(address string) string {
	return text.Segment{Kind: text.Link, Target: address}.Shown()
}

// ShownName returns the display name of a user.
func ShownName(u social.User) string { return cmp.Or(u.DisplayName, u.Name) }

// bodyText is the text of a post with links. Names are isolated from the text direction: otherwise,
// in a right-to-left text, the @ would be at the end of the name. Links have attributes that tell
// search engines to ignore them and that keep the linked page from accessing this window. marks are
// the highlighted ranges in bytes.
func bodyText(body string, marks [][2]int) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		at := 0
		for _, part := range text.Parse(body) {
			shown := templ.EscapeString(part.Shown())
			if marks != nil && part.Shown() == part.Text {
				shown = marked(part.Text, at, marks)
			}
			at += len(part.Text)
			switch part.Kind {
			case text.Link:
				target := templ.EscapeString(string(templ.URL(part.Target)))
				b.WriteString(`<a href="` + target + `" rel="nofollow noopener ugc">` + shown + `</a>`)
			case text.Mention:
				b.WriteString(`<a href="` + templ.EscapeString(ProfilePath(part.Target)) + `" dir="auto">` + shown + `</a>`)
			case text.Tag:
				b.WriteString(`<a href="` + templ.EscapeString(TagPath(part.Target)) + `" rel="tag" dir="auto">` + shown + `</a>`)
			default:
				b.WriteString(shown)
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// marked returns part of a text as HTML with the highlights in that part. The part starts at byte
// begin.
func marked(part string, begin int, marks [][2]int) string {
	var b strings.Builder
	at := 0
	for _, mark := range marks {
		from, to := max(mark[0]-begin, at), min(mark[1]-begin, len(part))
		if from >= to {
			continue
		}
		b.WriteString(templ.EscapeString(part[at:from]) + "<mark>" + templ.EscapeString(part[from:to]) + "</mark>")
		at = to
	}
	b.WriteString(templ.EscapeString(part[at:]))
	return b.String()
}
