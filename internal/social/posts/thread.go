package posts

import (
	"context"
	"fmt"
	"slices"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// Thread is a post within its conversation, as a viewer sees it.
type Thread struct {
	Root      int64        // the first post of the conversation
	Ancestors []ThreadPost // the ancestors of the post, oldest first
	Further   bool         // there are older ancestors
	Post      ThreadPost   // the post itself, with Depth 0
	Replies   []ThreadPost // a page of direct and indirect replies to the post, in display order
	Next      int64        // the cursor of the next page of replies; 0 at the end
}

// ThreadPost is a place in a conversation.
type ThreadPost struct {
	ID    int64
	Depth int  // 1 for a direct reply to the post of the Thread, 2 for a reply to such a reply, and so on; 0 for the post and its ancestors
	Stub  Stub // the reason why there is no Item; a muted post has both
	timeline.Item
}

// Stub is the reason why a place in a conversation does not show its post. A stub that no visible
// reply depends on is omitted.
type Stub uint8

const (
	// NoStub means that the post is shown.
	NoStub Stub = iota
	// StubDeleted means that the post was deleted or lost.
	StubDeleted
	// StubUnavailable means that the viewer must not see the post.
	StubUnavailable
	// StubMuted means that the viewer has muted the author; the post can be shown on demand.
	StubMuted
)

const (
	// maxAncestors is the maximum number of ancestors shown.
	maxAncestors = 20
	// maxThread is the maximum number of replies of a conversation that are shown, oldest first:
	// about 4 MB in memory.
	maxThread = 100_000
)

// Get returns a post, its ancestors, and a page of the replies to the post. after is the cursor of
// the page, 0 for the first page. A reply that arrives while a viewer reads page by page causes no
// other reply to be repeated or skipped. A page can have fewer replies than requested even if
// another page follows. The thread of a repost is the thread of its original. Get returns
// ErrNotFound if the post is deleted or hidden from the viewer.
//
// Get takes no round trip if the conversation was shown recently and has not changed. Otherwise it
// takes a round trip per 1,000 replies, and one or two for the posts of the page.
func (t *Threads) Get(ctx context.Context, v *social.Viewer, id, after int64, limit int) (Thread, error) {
	item, err := t.lists.PostPage(ctx, v, id)
	if err != nil {
		return Thread{}, err
	}
	post := item.Post
	v = v.Asking(post.Author.ID)
	thread := Thread{Root: post.Root, Post: ThreadPost{ID: post.ID, Item: timeline.Item{Entry: post, Post: post, Marks: item.Marks}}}
	if thread.Root == 0 {
		thread.Root = post.ID
	}
	tree, err := t.tree(ctx, thread.Root)
	if err != nil {
		return Thread{}, err
	}
	if err := t.ancestors(ctx, v, tree, &thread); err != nil {
		return Thread{}, err
	}
	return thread, t.replies(ctx, v, tree, &thread, after, social.PageSize(limit))
}

// ancestors adds the ancestors of the post.
func (t *Threads) ancestors(ctx context.Context, v *social.Viewer, tree *tree, thread *Thread) error {
	var ids []int64
	for id := thread.Post.Post.Parent; id != 0; {
		if len(ids) == maxAncestors {
			thread.Further = true
			break
		}
		ids = append(ids, id)
		parent, ok := tree.parent(id)
		if !ok && id != thread.Root { // the tree lacks the end of the conversation
			parent = thread.Root
		}
		id = parent
	}
	slices.Reverse(ids)
	views, err := t.views.Get(ctx, ids...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		thread.Ancestors = append(thread.Ancestors, threadPost(v, id, views[i], 0))
	}
	return t.mark(ctx, v, thread.Ancestors)
}

// threadPost returns the ThreadPost that a viewer sees at a place. view is nil for a missing post.
func threadPost(v *social.Viewer, id int64, view *timeline.View, depth int) ThreadPost {
	p := ThreadPost{ID: id, Depth: depth}
	switch {
	case view == nil || view.Deleted:
		p.Stub = StubDeleted
		return p
	case social.Visible(v, view.Post) == social.Hidden:
		p.Stub = StubUnavailable
		return p
	case social.Visible(v, view.Post) == social.Muted:
		p.Stub = StubMuted
	}
	p.Item = timeline.Item{Entry: view, Post: view}
	return p
}

// replies adds a page of replies.
func (t *Threads) replies(ctx context.Context, v *social.Viewer, tree *tree, thread *Thread, after int64, limit int) error {
	from, to, depth := tree.below(thread.Post.ID)
	if after != 0 {
		at, err := t.resume(ctx, tree, after)
		if err != nil {
			return err
		}
		if at < from || at > to {
			return social.Invalid("before", "This page address is not valid.")
		}
		from = at
	}
	look := lookAhead{posts: t.views, nodes: tree.nodes[from:to], first: from, chunk: limit}
	at := from
	for at < to && len(thread.Replies) < limit {
		n := tree.nodes[at]
		view, ok, err := look.view(ctx, at)
		if err != nil {
			return err
		}
		if !ok { // enough posts were examined for one page
			break
		}
		p := threadPost(v, n.id, view, int(n.depth-depth))
		if p.Stub != NoStub {
			needed, err := look.anyShown(ctx, v, at+1, int(n.end))
			if err != nil {
				return err
			}
			if !needed {
				at = int(n.end)
				continue
			}
		}
		thread.Replies = append(thread.Replies, p)
		at++
	}
	if at < to {
		thread.Next = tree.nodes[at-1].id
	}
	return t.mark(ctx, v, thread.Replies)
}

// maxLost limits the number of posts above a lost cursor that are read.
const maxLost = 100

// resume returns the place after the cursor of a page, or -1 if the cursor does not belong to this
// conversation. The post of the cursor, and deleted posts above it, may have left the tree since: a
// deleted post leaves the tree with its last reply.
func (t *Threads) resume(ctx context.Context, tree *tree, after int64) (int, error) {
	id := after
	for range maxLost {
		if _, ok := tree.parent(id); ok || id == tree.root {
			return tree.after(id, after), nil
		}
		views, err := t.views.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if views[0] == nil || views[0].Root != tree.root || views[0].Parent >= id {
			break
		}
		after, id = id, views[0].Parent
	}
	if id == after {
		return -1, nil
	}
	return tree.after(tree.root, after), nil
}

// mark adds the viewer's marks, such as likes, to the shown posts.
func (t *Threads) mark(ctx context.Context, v *social.Viewer, posts []ThreadPost) error {
	items := make([]timeline.Item, 0, len(posts))
	for _, p := range posts {
		if p.Post != nil {
			items = append(items, p.Item)
		}
	}
	if err := t.lists.Mark(ctx, v, items); err != nil {
		return err
	}
	for i := range posts {
		if posts[i].Post != nil {
			posts[i].Item, items = items[0], items[1:]
		}
	}
	return nil
}

// lookAhead reads the posts of a page, and, after stubs, later posts of the conversation.
type lookAhead struct {
	posts *timeline.Views
	nodes []node // starting at the first post of the page
	first int    // the place of the first post of the page
	chunk int

	views      []*timeline.View // of the first nodes
	hiddenUpTo int              // up to this place, no post after the current one is shown
}

// view returns the post at a place. ok is false if the place is too far away.
func (l *lookAhead) view(ctx context.Context, place int) (view *timeline.View, ok bool, err error) {
	i := place - l.first
	for i >= len(l.views) {
		if len(l.views) >= social.MaxLooks*l.chunk {
			return nil, false, nil
		}
		var ids [social.MaxPage]int64
		n := 0
		for _, node := range l.nodes[len(l.views):min(len(l.views)+l.chunk, len(l.nodes))] {
			ids[n] = node.id
			n++
		}
		views, err := l.posts.Get(ctx, ids[:n]...)
		if err != nil {
			return nil, false, fmt.Errorf("social: read a conversation: %w", err)
		}
		l.views = append(l.views, views...)
	}
	return l.views[i], true, nil
}

// anyShown reports whether the viewer sees any post between two places, or might see a post that is
// too far away to check. Places only grow between calls, so no post is checked twice.
func (l *lookAhead) anyShown(ctx context.Context, v *social.Viewer, from, to int) (bool, error) {
	for l.hiddenUpTo = max(l.hiddenUpTo, from); l.hiddenUpTo < to; l.hiddenUpTo++ {
		view, ok, err := l.view(ctx, l.hiddenUpTo)
		if err != nil || !ok {
			return !ok, err
		}
		if view != nil && social.Visible(v, view.Post) >= social.Unlisted {
			return true, nil
		}
	}
	return false, nil
}
