package view

import (
	"net/url"
	"strconv"
	"strings"

	"retwis/internal/social"
)

// ProfilePath returns the address of the profile of a user.
func ProfilePath(name string) string { return "/u/" + url.PathEscape(name) }

// TabPath returns the address of a profile tab.
func TabPath(name, tab string) string {
	if tab == profileTabs[0].name {
		return ProfilePath(name)
	}
	return ProfilePath(name) + "/" + tab
}

// PostPath returns the address of a post.
func PostPath(p social.Post) string { return PathOf(p.Author.Name, p.ID) }

// PathOf returns the address of a post, given its author and its ID.
func PathOf(author string, post int64) string {
	return ProfilePath(author) + "/" + strconv.FormatInt(post, 10)
}

// TagPath returns the address of a tag.
func TagPath(tag string) string { return "/tag/" + url.PathEscape(tag) }

// CasePath returns the address of the moderators' page about a post or a person.
func CasePath(target string) string { return "/moderation/case?of=" + url.QueryEscape(target) }

// AppealPath is the address of the form for an appeal against a decision about a target.
func AppealPath(target string) string { return "/appeal?of=" + url.QueryEscape(target) }

// SecurityPath is the address of the settings page for passwords, codes and sessions.
const SecurityPath = "/settings/security"

// LoginPath returns the address of the log-in page that leads to next after the log-in.
func LoginPath(next string) string { return "/login?next=" + url.QueryEscape(next) }

// OlderPage returns the address of the next page of posts. The path may have a query.
func OlderPage(path string, next int64) string {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + "before=" + strconv.FormatInt(next, 10)
}

// NextPage returns the address of the next page of a list with a cursor, or "" at the end.
func NextPage(path, cursor string) string {
	if cursor == "" {
		return ""
	}
	return path + "?before=" + url.QueryEscape(cursor)
}
