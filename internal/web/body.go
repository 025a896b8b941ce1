package web

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"retwis/internal/social/text"
)

// bodyText is the text of a post, with links to what it names. Search engines are
// told to ignore links that users write, and the linked page cannot reach back.
func bodyText(body string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for _, part := range text.Parse(body) {
			shown := templ.EscapeString(part.Shown())
			switch part.Kind {
			case text.Link:
				target := templ.EscapeString(string(templ.URL(part.Target)))
				b.WriteString(`<a href="` + target + `" rel="nofollow noopener ugc">` + shown + `</a>`)
			case text.Mention:
				b.WriteString(`<a href="` + templ.EscapeString(profilePath(part.Target)) + `">` + shown + `</a>`)
			case text.Tag:
				b.WriteString(`<a href="` + templ.EscapeString(tagPath(part.Target)) + `" rel="tag">` + shown + `</a>`)
			default:
				b.WriteString(shown)
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// tagPath is the address of a tag.
func tagPath(tag string) string { return "/tag/" + url.PathEscape(tag) }
