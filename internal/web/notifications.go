package web

import (
	"net/http"

	"retwis/internal/social"
)

// notificationsOnPage is how many groups a page of notifications has.
const notificationsOnPage = 25

var kindIcons = map[social.NotificationKind]string{
	social.NotifyMention: "at",
	social.NotifyReply:   "reply",
	social.NotifyLike:    "like",
	social.NotifyRepost:  "repost",
	social.NotifyFollow:  "user",
}

func kindIcon(kind social.NotificationKind) string { return kindIcons[kind] }

// what is the text of a notification after the name of its latest person.
func what(g social.NotificationGroup) string {
	others := ""
	if n := int64(g.Count) - 1; n > 0 {
		others = "and " + counted(n, "other", "others") + " "
	}
	return others + map[social.NotificationKind]string{
		social.NotifyMention: "mentioned you",
		social.NotifyReply:   "replied to you",
		social.NotifyLike:    "liked your post",
		social.NotifyRepost:  "reposted your post",
		social.NotifyFollow:  "followed you",
	}[g.Kind]
}

// notifications shows the notifications, which are read then.
func (s *Server) notifications(req *request) error {
	if !req.signed {
		return req.toLogin()
	}
	v, err := req.person()
	if err != nil {
		return err
	}
	before := req.r.URL.Query().Get("before")
	page, err := s.social.Notifications(req.ctx, v, before, notificationsOnPage)
	if err != nil {
		return err
	}
	f := req.page("Notifications")
	// A browser that loads a page before anybody asks for it has shown nothing.
	if before == "" && page.Newest != "" && req.r.Header.Get("Sec-Purpose") == "" && req.r.Method == http.MethodGet {
		if err := s.social.MarkRead(req.ctx, req.viewer, page.Newest); err != nil {
			// A database that takes no writes can be read all the same.
			req.server.log.Debug("notifications stay unread", "request", req.id, "error", err)
		} else {
			f.Unread = 0
		}
	}
	return req.render(http.StatusOK, notificationsPage(f, page, moreOf("/notifications", page.Next), before != ""))
}
