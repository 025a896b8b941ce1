package view

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"retwis/internal/i18n"
)

// t returns a text in the language of a page.
func t(ctx context.Context, id string, args ...any) string {
	return i18n.From(ctx).Say(i18n.T(id, args...))
}

// tn returns a text that depends on a number.
func tn(ctx context.Context, n int64, one, other string, args ...any) string {
	return i18n.From(ctx).Say(i18n.N(n, one, other, args...))
}

// message is a text in the language of a page.
func message(ctx context.Context, m i18n.Message) string { return i18n.From(ctx).Say(m) }

// say is a text with markup. Its values can be components. The values of its elements are the
// results of element and link.
func say(id string, args ...any) templ.Component { return markup(i18n.T(id, args...)) }

// markup is a text with markup; see say.
func markup(m i18n.Message) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, part := range i18n.From(ctx).Parts(m) {
			var err error
			switch v := part.Value.(type) {
			case nil:
				_, err = io.WriteString(w, templ.EscapeString(part.Text))
			case templ.Component:
				err = v.Render(ctx, w)
			case tag:
				text := v.open
				if part.Close {
					text = v.end
				}
				_, err = io.WriteString(w, text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// tag is an element of a text.
type tag struct{ open, end string }

// link is the element of a text that leads to a page.
func link(to string) tag {
	return tag{`<a href="` + templ.EscapeString(string(templ.URL(to))) + `">`, "</a>"}
}

// linkOut is like link, but opens the page in a new tab, so that a form stays as it is.
func linkOut(to string) tag {
	return tag{`<a target="_blank" href="` + templ.EscapeString(string(templ.URL(to))) + `">`, "</a>"}
}

// element is an element of a text without attributes.
func element(name string) tag { return tag{"<" + name + ">", "</" + name + ">"} }
