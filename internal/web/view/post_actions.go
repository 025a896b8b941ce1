package view

// postAction is what a viewer can do with a post, and undo.
type postAction struct {
	icon     string
	do, undo string    // the last parts of the addresses
	names    [2]string // of the buttons
	one, all string    // what is counted; empty for what is private
}

var (
	repostAction = postAction{"repost", "repost", "unrepost", [2]string{"Repost", "Undo repost"}, "repost", "reposts"}
	likeAction   = postAction{"like", "like", "unlike", [2]string{"Like", "Undo like"}, "like", "likes"}
	saveAction   = postAction{"save", "bookmark", "unbookmark", [2]string{"Bookmark", "Remove bookmark"}, "", ""}
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

// label is the accessible name of the button.
func (a postAction) label(done bool, n int64) string {
	name := a.names[0]
	if done {
		name = a.names[1]
	}
	if a.one == "" {
		return name
	}
	return name + ", " + counted(n, a.one, a.all)
}
