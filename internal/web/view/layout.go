package view

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"retwis/internal/i18n"
	"retwis/internal/web/static"
)

// layout is a page: the shell with the children of the component in the middle.
func layout(f Frame) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		children := templ.GetChildren(ctx)
		if children == nil {
			children = templ.NopComponent
		}
		ctx = templ.ClearChildren(ctx)
		s, err := shellOf(ctx, f)
		if err != nil {
			return err
		}
		to, err := direct(w)
		if err == nil {
			_, err = to.Write(s.head)
		}
		if err == nil && f.Head != nil {
			err = f.Head.Render(ctx, w)
		}
		if err == nil {
			to, err = direct(w) // flush f.Head, which is still in the buffer
		}
		for _, part := range [...][]byte{s.body, spriteBytes, s.menu} {
			if err == nil {
				_, err = to.Write(part)
			}
		}
		if err != nil {
			return err
		}
		if err := mainElement(f, children).Render(ctx, w); err != nil {
			return err
		}
		if f.Sidebar != nil {
			if _, err = w.Write(s.between); err == nil {
				err = sidebar(f.Sidebar.Sidebar()).Render(ctx, w)
			}
			if err != nil {
				return err
			}
		}
		_, err = w.Write(s.end)
		return err
	})
}

// shell is a rendered shellPage without the icons, which all pages share, and without the elements
// that only one page has.
type shell struct{ head, body, menu, between, end []byte }

var (
	spriteBytes = []byte(spriteSource())
	headEnd     = []byte("</head>")
	// middle marks the place of the children, and besideMark the place of the sidebar.
	middle     = []byte("<!-- main -->")
	besideMark = []byte("<!-- sidebar -->")
)

func shellOf(ctx context.Context, f Frame) (*shell, error) {
	r := cacheIn(ctx)
	f.columns = f.Sidebar != nil
	f.Head, f.Live, f.Since, f.Outdated, f.Sidebar, f.Told = nil, "", "", nil, nil, Told{}
	if r != nil {
		if s, ok := r.shells.GetIfPresent(f); ok {
			return s, nil
		}
	}
	var buf bytes.Buffer
	if err := shellPage(f).Render(templ.WithChildren(ctx, templ.Raw(string(middle))), &buf); err != nil {
		return nil, err
	}
	s := new(shell)
	s.head, _, _ = bytes.Cut(buf.Bytes(), headEnd)
	body, rest, _ := bytes.Cut(buf.Bytes()[len(s.head):], spriteBytes)
	s.body = body
	s.menu, s.end, _ = bytes.Cut(rest, middle)
	if f.columns {
		s.between, s.end, _ = bytes.Cut(s.end, besideMark)
	}
	if r != nil {
		r.shells.Set(f, s)
	}
	return s, nil
}

// commonLinks are the links to static files in the head of every page. The first link makes
// browsers wait for the main part before rendering, because the part above the main part would move
// while the page is loading.
var commonLinks = `<link rel="expect" href="#main" blocking="render"/>` +
	`<link rel="icon" href="` + static.Address("favicon.svg") + `" type="image/svg+xml"/>` +
	`<link rel="apple-touch-icon" href="` + static.Address("icon-192.png") + `"/><link rel="manifest" href="/site.webmanifest"/>` +
	`<link rel="stylesheet" href="` + static.Address("app.css") + `"/>` +
	`<link rel="modulepreload" href="` + static.Address("page.js") + `"/>` +
	`<link rel="modulepreload" href="` + static.Address("completion.js") + `"/>` +
	script("app.js") + script("composer.js") + script("dialog.js") + script("find.js") + script("keys.js") + script("lightbox.js") +
	script("live.js") + script("pictures.js")

// links returns the links of a page. Password scripts are left out on pages without password
// fields.
func links(f Frame) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		all := ""
		if texts := static.Address(static.TextsName(i18n.From(ctx))); texts != "" {
			all = `<script defer src="` + texts + `"></script>` // before the scripts that use them
		}
		all += commonLinks
		if !f.LoggedIn || strings.HasPrefix(f.Here, "/settings") || strings.HasPrefix(f.Here, "/reset/") {
			all += passwordLinks
		}
		_, err := io.WriteString(w, all)
		return err
	})
}

var passwordLinks = script("passkeys.js") + script("password.js")

func script(name string) string {
	return `<script type="module" src="` + static.Address(name) + `"></script>`
}
