package web

import (
	"net/http"

	"retwis/internal/social/notify"
	"retwis/internal/web/view"
)

// notificationHandlers has the notifications of the session user, and their settings.
type notificationHandlers struct {
	notifications *notify.Service
}

// notificationsOnPage is how many groups a page of notifications has.
const notificationsOnPage = 25

// page shows the notifications, which are read then.
func (h *notificationHandlers) page(req *request) error {
	v, err := req.asViewer()
	if err != nil {
		return err
	}
	before := req.r.URL.Query().Get("before")
	page, err := h.notifications.Page(req.ctx, v, before, notificationsOnPage)
	if err != nil {
		return err
	}
	f := req.page("Notifications")
	// A browser that loads a page before anybody asks for it has shown nothing.
	if before == "" && page.Newest != "" && req.r.Header.Get("Sec-Purpose") == "" && req.r.Method == http.MethodGet {
		if err := h.notifications.MarkRead(req.ctx, req.viewer, page.Newest); err != nil {
			// A database that takes no writes can be read all the same.
			req.log().Debug("notifications stay unread", "error", err)
		} else {
			f.Unread = 0
		}
	}
	return req.render(http.StatusOK, view.NotificationsPage(f, page, view.NextPage("/notifications", page.Next), before != ""))
}
