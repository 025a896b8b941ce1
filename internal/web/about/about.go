package about

import (
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/site"
	"retwis/internal/social/users"
	"retwis/internal/web/reader"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// Pages says what the site is and who runs it. Everybody may read it.
type Pages struct {
	users *users.Users
	read  *reader.Reader
}

// NewPages returns the handlers of these pages.
func NewPages(people *users.Users, read *reader.Reader) *Pages { return &Pages{people, read} }

// About is GET /about. Two round trips.
func (h *Pages) About(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	staff, err := h.users.Staff(req.Ctx)
	if err != nil {
		return err
	}
	account, picture, err := h.read.SiteAccount(req)
	if err != nil {
		return err
	}
	info := req.Info
	page := view.About{Account: account, Picture: picture, Contact: info.Of(site.Contact), ContactLink: info.ContactLink(), Text: info.Of(site.About)}
	for _, user := range staff {
		if user.Role > social.Member && v.Lists(user.ID) {
			page.Staff = append(page.Staff, user)
		}
	}
	return req.Render(http.StatusOK, view.AboutPage(req.Frame("About"), page))
}

// Rules is GET /rules.
func (h *Pages) Rules(req *request.Request) error {
	rules := req.Info.Rules()
	if len(rules) == 0 {
		return request.ErrNotFound
	}
	return req.Render(http.StatusOK, view.RulesPage(req.Frame("Rules"), rules))
}

// Privacy is GET /privacy.
func (h *Pages) Privacy(req *request.Request) error { return showText(req, "Privacy", site.Privacy) }

// Terms is GET /terms.
func (h *Pages) Terms(req *request.Request) error { return showText(req, "Terms", site.Terms) }

func showText(req *request.Request, title string, field site.Field) error {
	text := req.Info.Of(field)
	if text == "" {
		return request.ErrNotFound
	}
	return req.Render(http.StatusOK, view.TextPage(req.Frame(title), text))
}
