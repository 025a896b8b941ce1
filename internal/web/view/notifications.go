package view

import (
	"net/url"

	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/audit"
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

// Alert is a notification with the actions on it.
type Alert struct {
	notify.Group
	Follower Person // latest follower, if the notification is about follows
	Post     Posts  // for a reply or a mention
	Contact  string // link to the moderators, for a decision about the viewer; empty for none
}

// appealable returns the target of a decision about the viewer that can be appealed, or an empty
// string.
func (a Alert) appealable() string {
	switch {
	case a.Kind != notify.Decided || !a.Own:
		return ""
	case a.Action == "hide" && a.Group.Post != nil && !a.Group.Post.Post.Hidden.IsZero():
		return audit.PostTarget(a.Group.Post.Post.ID)
	case a.Action == "limit" && a.Actors[0].Standing == social.Limited:
		return audit.UserTarget(a.Actors[0].ID)
	}
	return ""
}

// IsAnswered reports whether a notification shows a post to which the viewer may reply.
func IsAnswered(g notify.Group) bool {
	return g.Post != nil && (g.Kind == notify.Mention || g.Kind == notify.Reply)
}

// AlertTab is a tab of the notifications page: all, or some kinds.
type AlertTab struct {
	name  string
	label i18n.Message
	Kinds []notify.Kind // nil for all
}

var alertTabs = []AlertTab{
	{"", i18n.T("All|notifications"), nil},
	{"mentions", i18n.T("Mentions"), []notify.Kind{notify.Mention, notify.Reply}},
	{"follows", i18n.T("Follows"), []notify.Kind{notify.Follow}},
}

// AlertTabOf returns the tab with a name, or the first tab if the name is unknown.
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

// Next returns the address of the page after a cursor, or "" at the end.
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
var kindLabels = map[notify.Kind]i18n.Message{
	notify.Mention: i18n.T("mentions me"),
	notify.Reply:   i18n.T("replies to me"),
	notify.Like:    i18n.T("likes my posts"),
	notify.Repost:  i18n.T("reposts my posts"),
	notify.Follow:  i18n.T("follows me"),
	notify.Decided: i18n.T("makes a moderation decision about my posts or reports"),
}

// NewNotificationKind returns a kind with its label in a language.
func NewNotificationKind(l *i18n.Language, kind notify.Kind, on bool) NotificationKind {
	return NotificationKind{Name: kind.String(), Label: l.Say(kindLabels[kind]), On: on}
}
