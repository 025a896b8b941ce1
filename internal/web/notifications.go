package web

import (
	"net/http"
	"slices"

	"retwis/internal/social/notify"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// notificationsOnPage is how many groups a page of notifications has.
const notificationsOnPage = 25

// notificationsPage shows the notifications, which are read then.
func (h *handlers) notificationsPage(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	before := req.R.URL.Query().Get("before")
	page, err := h.app.Notifications.Page(req.Ctx, v, before, notificationsOnPage)
	if err != nil {
		return err
	}
	f := req.Frame("Notifications")
	// A browser that loads a page before anybody asks for it has shown nothing.
	if before == "" && page.Newest != "" && req.R.Header.Get("Sec-Purpose") == "" && req.R.Method == http.MethodGet {
		if err := h.app.Notifications.MarkRead(req.Ctx, req.User, page.Newest); err != nil {
			// A database that takes no writes can be read all the same.
			req.Log().Debug("notifications stay unread", "error", err)
		} else {
			f.Unread = 0
		}
	}
	return req.Render(http.StatusOK, view.NotificationsPage(f, page, view.NextPage("/notifications", page.Next), before != ""))
}

func (h *handlers) notificationSettings(req *request.Request) error {
	off, err := h.app.Notifications.NotifyOff(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	var kinds []view.NotificationKind
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, view.NewNotificationKind(kind, !slices.Contains(off, kind)))
	}
	return req.Render(http.StatusOK, view.NotificationSettingsPage(req.Frame("Settings"), kinds, isSaved(req)))
}

func (h *handlers) changeNotificationSettings(req *request.Request) error {
	var off []notify.Kind
	for _, kind := range notify.Kinds() {
		if !slices.Contains(req.R.PostForm["on"], kind.String()) {
			off = append(off, kind)
		}
	}
	if err := h.app.Notifications.SetNotifyOff(req.Ctx, req.User, off); err != nil {
		return err
	}
	return req.Changed("/settings/notifications?" + saved)
}
