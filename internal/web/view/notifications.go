package view

import (
	"net/url"

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

// Alert is a notification with what can be done about it.
type Alert struct {
	notify.Group
	Follower Person // of a follow: the latest
	Post     Posts  // of a reply or a mention
}

// IsAnswered reports whether a notification shows a post that one may answer.
func IsAnswered(g notify.Group) bool {
	return g.Post != nil && (g.Kind == notify.Mention || g.Kind == notify.Reply)
}

// AlertTab is a tab of the notifications: all, or some kinds.
type AlertTab struct {
	name, label string
	Kinds       []notify.Kind // nil for all
}

var alertTabs = []AlertTab{
	{"", "All", nil},
	{"mentions", "Mentions", []notify.Kind{notify.Mention, notify.Reply}},
	{"follows", "Follows", []notify.Kind{notify.Follow}},
}

// AlertTabOf returns the tab with a name; the first for an unknown one.
func AlertTabOf(name string) AlertTab {
	for _, tab := range alertTabs {
		if tab.name == name {
			return tab
		}
	}
	return alertTabs[0]
}

func (t AlertTab) path() string {
	if t.name == "" {
		return "/notifications"
	}
	return "/notifications?only=" + t.name
}

// Next is the address of the page from a cursor on, empty at the end.
func (t AlertTab) Next(cursor string) string {
	if cursor == "" || t.name == "" {
		return NextPage(t.path(), cursor)
	}
	return t.path() + "&before=" + url.QueryEscape(cursor)
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
	notify.Like:    "likes my posts",
	notify.Repost:  "reposts my posts",
	notify.Follow:  "follows me",
	notify.Decided: "decides, as a moderator, about my posts or reports",
}

// NewNotificationKind returns a kind with its label.
func NewNotificationKind(kind notify.Kind, on bool) NotificationKind {
	return NotificationKind{Name: kind.String(), Label: kindLabels[kind], On: on}
}
