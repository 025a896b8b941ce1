package takeout

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"retwis/internal/social"
	"retwis/internal/social/text"
)

// converter converts HTML to plain text.
type converter struct {
	out  strings.Builder
	link *link // the open link
	pre  int   // number of open elements whose line breaks count
	skip int   // number of open elements whose text is invisible
}

// link is an open element a.
type link struct {
	href string
	text strings.Builder
}

// plainText converts HTML to text: paragraphs and line breaks become lines, links their full
// addresses, and people on other sites @name@host.
func plainText(content string) string {
	c := &converter{}
	z := html.NewTokenizer(strings.NewReader(content))
	for {
		switch z.Next() {
		case html.ErrorToken: // the end: reading a string cannot fail
			c.endLink()
			return c.out.String()
		case html.TextToken:
			c.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			c.start(z.Token())
		case html.EndTagToken:
			c.end(z.Token().DataAtom)
		}
	}
}

func (c *converter) text(s string) {
	if c.skip > 0 {
		return
	}
	if c.pre == 0 {
		s = strings.NewReplacer("\r", "", "\n", " ").Replace(s)
	}
	c.write(s)
}

func (c *converter) write(s string) {
	if c.link != nil {
		c.link.text.WriteString(s)
		return
	}
	c.out.WriteString(s)
}

func (c *converter) start(t html.Token) {
	switch t.DataAtom {
	case atom.Br:
		c.write("\n")
	case atom.Li:
		c.write("\n• ")
	case atom.Pre:
		c.pre++
		c.write("\n\n")
	case atom.P, atom.Div, atom.Blockquote, atom.Ul, atom.Ol, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.write("\n\n")
	case atom.Script, atom.Style:
		c.skip++
	case atom.A:
		c.endLink()
		c.link = &link{}
		for _, attr := range t.Attr {
			if attr.Key == "href" {
				c.link.href = attr.Val
			}
		}
	}
}

func (c *converter) end(tag atom.Atom) {
	switch tag {
	case atom.A:
		c.endLink()
	case atom.Pre:
		c.pre = max(0, c.pre-1)
		c.write("\n\n")
	case atom.P, atom.Div, atom.Blockquote, atom.Ul, atom.Ol, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.write("\n\n")
	case atom.Script, atom.Style:
		c.skip = max(0, c.skip-1)
	}
}

func (c *converter) endLink() {
	if l := c.link; l != nil {
		c.link = nil
		c.out.WriteString(l.String())
	}
}

// String returns the link as text.
func (l *link) String() string {
	shown := l.text.String()
	u, err := url.Parse(l.href)
	isAddress := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.IndexFunc(l.href, unicode.IsSpace) < 0
	name := strings.TrimPrefix(shown, "@")
	switch {
	case !isAddress, strings.HasPrefix(shown, "#"):
		return shown
	case name != shown && strings.ContainsRune(name, '@'):
		return shown
	case name != shown:
		return "@" + name + "@" + u.Host
	case shown == "", strings.Contains(shown, "://"), strings.HasPrefix(l.href, "https://"+shown), strings.HasPrefix(l.href, "http://"+shown):
		return l.href
	}
	return shown + " (" + l.href + ")"
}

// qualifyMentions appends the host of the original to the names mentioned in a text, because the
// names belong to people on that host.
func qualifyMentions(body, host string) string {
	var out strings.Builder
	for _, s := range text.Parse(body) {
		switch {
		case s.Kind != text.Mention:
			out.WriteString(s.Text)
		case host == "":
			out.WriteString(s.Target)
		default:
			out.WriteString("@" + s.Target + "@" + host)
		}
	}
	return out.String()
}

// maxParts is the maximum number of posts that a text is split into: Mastodon allows 500
// characters, other servers that write the same archives up to 65,535.
const maxParts = 250

// archiveSplit splits a text into posts that are not too long, at word boundaries if possible. It
// stops after maxParts+1 parts.
func archiveSplit(body string) []string {
	rest, _ := social.CleanLines(social.CleanRunes(body))
	var parts []string
	for rest != "" && len(parts) <= maxParts {
		n := fits(rest)
		if part, err := social.CleanBody(rest[:n]); err == nil { // otherwise nothing in the part is visible
			parts = append(parts, part)
		}
		rest = strings.TrimLeftFunc(rest[n:], unicode.IsSpace)
	}
	return parts
}

// fits returns how many bytes of a text fit into a post.
func fits(body string) int {
	at, word, characters, lines, state := 0, 0, 0, 1, -1
	for rest := body; rest != ""; characters++ {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		isSpace := strings.TrimSpace(c) == ""
		if c == "\n" {
			lines++
		}
		if characters == social.MaxBody || lines > social.MaxBodyLines || at+len(c) > social.MaxBodyBytes {
			switch {
			case at == 0:
				return len(c) // a character that is larger than a post
			case isSpace || word == 0:
				return at
			}
			return word
		}
		if isSpace {
			word = at
		}
		at += len(c)
	}
	return at
}
