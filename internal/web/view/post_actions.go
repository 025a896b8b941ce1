package view

import (
	"context"

	"retwis/internal/i18n"
)

// postAction is an action of a viewer on a post that can be undone.
type postAction struct {
	icon     string
	do, undo string                      // last segments of the paths
	label    [2]func(int64) i18n.Message // accessible names of the buttons
}

var (
	repostAction = postAction{"repost", "repost", "unrepost", [2]func(int64) i18n.Message{
		func(n int64) i18n.Message { return i18n.N(n, "Repost, {n} repost", "Repost, {n} reposts") },
		func(n int64) i18n.Message { return i18n.N(n, "Undo repost, {n} repost", "Undo repost, {n} reposts") },
	}}
	likeAction = postAction{"like", "like", "unlike", [2]func(int64) i18n.Message{
		func(n int64) i18n.Message { return i18n.N(n, "Like, {n} like", "Like, {n} likes") },
		func(n int64) i18n.Message { return i18n.N(n, "Undo like, {n} like", "Undo like, {n} likes") },
	}}
	saveAction = postAction{"save", "bookmark", "unbookmark", [2]func(int64) i18n.Message{
		func(int64) i18n.Message { return i18n.T("Bookmark") },
		func(int64) i18n.Message { return i18n.T("Remove bookmark") },
	}}
)

func (a postAction) class(done bool) string {
	if done {
		return a.icon + " on"
	}
	return a.icon
}

func (a postAction) path(post string, done bool) string {
	if done {
		return post + "/" + a.undo
	}
	return post + "/" + a.do
}

// name returns the accessible name of the button, with the count.
func (a postAction) name(ctx context.Context, done bool, n int64) string {
	label := a.label[0]
	if done {
		label = a.label[1]
	}
	return message(ctx, label(n))
}
