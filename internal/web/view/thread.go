package view

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"retwis/internal/social"
	"retwis/internal/social/posts"
	"retwis/internal/social/timeline"
)

// conversation holds the parts of a thread for its page.
type conversation struct {
	Before threadPosts // the posts that the post replies to
	Post   Posts
	After  int64       // cursor of the page of replies
	Below  threadPosts // the replies
	Next   int64
	More   bool // the conversation begins above the first post of the page
	Root   int64
	Own    bool // the viewer wrote the post
	Pinned bool // the post is pinned on the viewer's profile
}

// NewConversation returns the parts of a thread, and all posts that are shown.
func NewConversation(v *social.Viewer, thread posts.Thread) (c conversation, all Posts) {
	items := []timeline.Item{thread.Post.Item}
	for _, p := range slices.Concat(thread.Ancestors, thread.Replies) {
		if p.Stub == posts.NoStub {
			items = append(items, p.Item)
		}
	}
	return conversation{
		Before: threadPosts{v, thread.Ancestors}, Below: threadPosts{v, thread.Replies},
		Post: NewPosts(v, items[:1]), Next: thread.Next, More: thread.Further, Root: thread.Root,
	}, NewPosts(v, items)
}

// hasReplyBox reports whether the page of a post has a form for a reply. The page of a hidden post
// has it only for a rejected reply, whose text must not be lost.
func hasReplyBox(p social.Post, form StatusForm) bool {
	return p.Hidden.IsZero() || form.Status != "" || form.Problem != ""
}

// threadPosts are posts of a conversation, each below the post that it replies to.
type threadPosts struct {
	viewer *social.Viewer
	posts  []posts.ThreadPost
}

// maxDepth is the maximum indentation of replies. Deeper replies stay at that level, and each names
// the author that it responds to.
const maxDepth = 4

// Render renders the posts as part of a page.
func (t threadPosts) Render(ctx context.Context, w io.Writer) error {
	for _, p := range t.posts {
		at := `<div class="at depth-` + strconv.Itoa(min(max(p.Depth-1, 0), maxDepth)) + `">`
		if p.Depth-1 > maxDepth {
			at = `<div class="at beside depth-` + strconv.Itoa(maxDepth) + `">`
		}
		if _, err := io.WriteString(w, at); err != nil {
			return err
		}
		var content templ.Component = Posts{viewer: t.viewer, items: []timeline.Item{p.Item}}
		if p.Stub != posts.NoStub {
			content = stub(p)
		}
		if err := content.Render(ctx, w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "</div>"); err != nil {
			return err
		}
	}
	return nil
}
