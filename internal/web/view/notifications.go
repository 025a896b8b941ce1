package view

import (
	"retwis/internal/social/notify"
)

var kindIcons = map[notify.Kind]string{
	notify.Mention: "at",
	notify.Reply:   "reply",
	notify.Like:    "like",
	notify.Repost:  "repost",
	notify.Follow:  "user",
	notify.Decided: "flag",
}

func kindIcon(kind notify.Kind) string { return kindIcons[kind] }

// notificationText is the text of a notification after the name of its latest person.
func notificationText(g notify.Group) string {
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

// NotificationKind is a kind of notification in the settings.
type NotificationKind struct {
	Name, Label string
	On          bool
}

// kindLabels are the labels of the switches in the settings.
var kindLabels = map[notify.Kind]string{
	notify.Mention: "mentions me",
	notify.Reply:   "replies to me",
	notify.Like:    "likes a post of mine",
	notify.Repost:  "reposts a post of mine",
	notify.Follow:  "follows me",
	notify.Decided: "decides, as a moderator, about a post or a report of mine",
}

// NewNotificationKind returns a kind with its label.
func NewNotificationKind(kind notify.Kind, on bool) NotificationKind {
	return NotificationKind{Name: kind.String(), Label: kindLabels[kind], On: on}
}
