package web

import (
	"net/http"

	"retwis/internal/social/notify"
)

// notificationsOnPage is how many groups a page of notifications has.
const notificationsOnPage = 25

var kindIcons = map[notify.Kind]string{
	notify.Mention: "at",
	notify.Reply:   "reply",
	notify.Like:    "like",
	notify.Repost:  "repost",
	notify.Follow:  "user",
}

func kindIcon(kind notify.Kind) string { return kindIcons[kind] }

// what is the text of a notification after the name of its latest person.
func what(g notify.Group) string {
	others := ""
	if n := int64(g.Count) - 1; n > 0 {
		others = "and " + counted(n, "other", "others") + " "
	}
	return others + map[notify.Kind]string{
		notify.Mention: "mentioned you",
		notify.Reply:   "replied to you",
		notify.Like:    "liked your post",
		notify.Repost:  "reposted your post",
		notify.Follow:  "followed you",
	}[g.Kind]
}

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
	return req.render(http.StatusOK, notificationsPage(f, page, moreOf("/notifications", page.Next), before != ""))
}
