package web

import (
	"net/http"
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/timeline"
	"retwis/internal/web/request"
	"retwis/internal/web/view"
)

// notificationsOnPage is the number of groups on a page of notifications.
const notificationsOnPage = 25

// notificationsPage shows the notifications and marks them as read.
func (h *handlers) notificationsPage(req *request.Request) error {
	v, err := req.Viewer()
	if err != nil {
		return err
	}
	before, tab := req.R.URL.Query().Get("before"), view.AlertTabOf(req.R.URL.Query().Get("only"))
	page, err := h.app.Notifications.Page(req.Ctx, v, before, notificationsOnPage, tab.Kinds...)
	if err != nil {
		return err
	}
	f := req.Frame(req.T("Notifications"))
	// A prefetched page has not been shown, and a page of some kinds does not show the others.
	if before == "" && tab.Kinds == nil && page.Newest != "" && req.R.Header.Get("Sec-Purpose") == "" && req.R.Method == http.MethodGet {
		if err := h.app.Notifications.MarkRead(req.Ctx, req.User, page.Newest); err != nil {
			// With a read-only database, notifications can still be shown.
			req.Log().Debug("cannot mark notifications as read", "error", err)
		} else {
			f.Unread = 0
		}
	}
	alerts, err := h.alerts(req, v, page.Groups)
	if err != nil {
		return err
	}
	return req.Render(http.StatusOK, view.NotificationsPage(f, tab, alerts, tab.Next(page.Next), before != ""))
}

// alerts returns notifications with the actions on them: following back and replying.
func (h *handlers) alerts(req *request.Request, v *social.Viewer, groups []notify.Group) ([]view.Alert, error) {
	alerts := make([]view.Alert, len(groups))
	var followers []social.User
	var posts []timeline.Item
	for i, g := range groups {
		alerts[i].Group = g
		if g.Kind == notify.Follow {
			followers = append(followers, g.Actors[0])
		} else if view.IsAnswered(g) {
			posts = append(posts, *g.Post)
		}
	}
	people, err := h.withButtons(req, v, followers)
	if err != nil {
		return nil, err
	}
	shown, err := h.shownPosts(req, v, posts)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		if g.Kind == notify.Follow {
			alerts[i].Follower, people = people[0], people[1:]
			alerts[i].Follower.Back, alerts[i].Follower.FollowedBy = req.R.URL.RequestURI(), true
		} else if view.IsAnswered(g) {
			alerts[i].Post = shown.Only(g.Post.Entry.ID)
		} else if g.Kind == notify.Decided && g.Own {
			alerts[i].Contact = req.Info.ContactLink()
		}
	}
	return alerts, nil
}

func (h *handlers) notificationSettings(req *request.Request) error {
	off, err := h.app.Notifications.NotifyOff(req.Ctx, req.User.ID)
	if err != nil {
		return err
	}
	var kinds []view.NotificationKind
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, view.NewNotificationKind(req.Language, kind, !slices.Contains(off, kind)))
	}
	return req.Render(http.StatusOK, view.NotificationSettingsPage(req.Frame(req.T("Settings")), kinds, isSaved(req)))
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
