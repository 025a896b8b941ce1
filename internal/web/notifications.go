package web

import (
	"net/http"

	"retwis/internal/web/view"
)

// notificationsOnPage is how many groups a page of notifications has.
const notificationsOnPage = 25

// notifications shows the notifications, which are read then.
func (s *Server) notifications(req *request) error {
	v, err := req.person()
	if err != nil {
		return err
	}
	before := req.r.URL.Query().Get("before")
	page, err := s.app.Notifications.Page(req.ctx, v, before, notificationsOnPage)
	if err != nil {
		return err
	}
	f := req.page("Notifications")
	// A browser that loads a page before anybody asks for it has shown nothing.
	if before == "" && page.Newest != "" && req.r.Header.Get("Sec-Purpose") == "" && req.r.Method == http.MethodGet {
		if err := s.app.Notifications.MarkRead(req.ctx, req.viewer, page.Newest); err != nil {
			// A database that takes no writes can be read all the same.
			req.server.log.Debug("notifications stay unread", "request", req.id, "error", err)
		} else {
			f.Unread = 0
		}
	}
	return req.render(http.StatusOK, view.NotificationsPage(f, page, view.NextPage("/notifications", page.Next), before != ""))
}
