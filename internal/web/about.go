package web

import (
	"net/http"

	"retwis/internal/social"
	"retwis/internal/social/site"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// about serves GET /about in two round trips.
func (h *handlers) about(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	staff, err := h.app.Users.Staff(req.Ctx)
	if err != nil {
		return err
	}
	account, picture, err := h.siteAccount(req)
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
	return req.Render(http.StatusOK, view.AboutPage(req.Frame(req.T("About")), page))
}

// rules serves GET /rules.
func (h *handlers) rules(req *request.Request) error {
	rules := req.Info.Rules()
	if len(rules) == 0 {
		return request.ErrNotFound
	}
	return req.Render(http.StatusOK, view.RulesPage(req.Frame(req.T("Rules")), rules))
}

// privacy serves GET /privacy.
func (h *handlers) privacy(req *request.Request) error {
	return showSiteText(req, req.T("Privacy"), site.Privacy)
}

// terms serves GET /terms.
func (h *handlers) terms(req *request.Request) error {
	return showSiteText(req, req.T("Terms"), site.Terms)
}

// showSiteText shows a text of the site. It returns ErrNotFound if the text is empty.
func showSiteText(req *request.Request, title string, field site.Field) error {
	text := req.Info.Of(field)
	if text == "" {
		return request.ErrNotFound
	}
	return req.Render(http.StatusOK, view.TextPage(req.Frame(title), text))
}
