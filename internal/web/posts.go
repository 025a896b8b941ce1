package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/a-h/templ"

	"retwis/internal/social"
	"retwis/internal/social/timeline"
)

// fragment is the HTML of one version of a post, in the pieces that pages are put
// together from: two or three for most posts. It is kept with the post, so that a
// page renders nothing that it has rendered before.
//
// What differs by viewer are the lines above the post and the buttons below it. What
// differs by version are most often only the counts, in the opening tag and on the
// buttons: then the text between them is used again.
type fragment struct {
	article   []byte // everything up to the buttons that differ by viewer
	top       int    // the length of its opening tag
	text, end int    // where in it the part without counts begins and ends

	repost, like, save [2][]byte // without and with the viewer's mark
	signedOut          []byte    // what has the place of the buttons for visitors
	rest, restOwn      []byte    // what follows the buttons, to the end; the author's has a menu

	repostLine []byte                     // of a repost, which has nothing else
	parent     atomic.Pointer[parentLine] // of a reply; nil until it is first shown
}

// parentLine is the line above a reply, with the author of its parent.
type parentLine struct {
	author int64
	html   []byte
}

// renderPost makes a fragment of a post; see social.Render.
func renderPost(p social.Post, before *timeline.View) (rendered any, size int) {
	f := &fragment{}
	if p.RepostOf != 0 {
		f.repostLine = bytesOf(repostLine(p.Author))
		return f, len(f.repostLine)
	}
	b := fmt.Appendf(nil, `<article class="post" data-id="%d" data-replies="%d" data-reposts="%d" data-likes="%d" id="p%d">`,
		p.ID, p.Counts.Replies, p.Counts.Reposts, p.Counts.Likes, p.ID)
	f.top, f.text = len(b), len(b)
	if old := sameText(p, before); old != nil {
		b = append(b, old.article[old.text:old.end]...)
		f.parent.Store(old.parent.Load())
	} else {
		b = append(b, bytesOf(postText(p))...)
	}
	f.end = len(b)
	path := postPath(p)
	b = append(b, `<form class="acts" method="post">`...)
	f.article = append(b, bytesOf(replyLink(path, p.Counts.Replies))...)
	const end = `</form></div></article>`
	for i, done := range []bool{false, true} {
		f.repost[i] = bytesOf(actButton(repostAct, path, done, p.Counts.Reposts))
		f.like[i] = bytesOf(actButton(likeAct, path, done, p.Counts.Likes))
		f.save[i] = bytesOf(actButton(saveAct, path, done, 0))
		size += len(f.repost[i]) + len(f.like[i]) + len(f.save[i])
	}
	link := bytesOf(postLink(path))
	f.rest = append(bytes.Clone(link), end...)
	f.restOwn = append(append(link, bytesOf(ownMenu(path))...), end...)
	f.signedOut = bytesOf(signedOutActs(path, p.Counts))
	return f, size + len(f.article) + len(f.rest) + len(f.restOwn) + len(f.signedOut)
}

// sameText returns the fragment of an earlier version of a post that differs in the
// counts at most, or nil.
func sameText(p social.Post, before *timeline.View) *fragment {
	if before == nil {
		return nil
	}
	old := before.Post
	old.Counts = p.Counts
	f, _ := before.Rendered.(*fragment)
	if f == nil || f.article == nil || !p.Time.Equal(old.Time) || !p.Edited.Equal(old.Edited) {
		return nil
	}
	old.Time, old.Edited = p.Time, p.Edited
	if old != p {
		return nil
	}
	return f
}

func bytesOf(c templ.Component) []byte {
	var buf bytes.Buffer
	_ = c.Render(context.Background(), &buf) // a buffer takes everything
	return buf.Bytes()
}

// postList is the posts of a page, as a viewer sees them.
type postList struct {
	viewer *social.Viewer
	items  []timeline.Item
}

// show returns posts for a page.
func (req *request) show(v *social.Viewer, items []timeline.Item) (postList, error) {
	return postList{viewer: v, items: items}, req.server.nameParents(req.ctx, items)
}

// nameParents finds the authors of the posts that these reply to, where they are not
// known yet. One round trip at most, none for replies that were shown lately.
func (s *Server) nameParents(ctx context.Context, items []timeline.Item) error {
	var ids []int64
	var replies []*fragment
	for _, item := range items {
		if item.Post.Parent == 0 {
			continue
		}
		if f, _ := item.Post.Rendered.(*fragment); f != nil && f.parent.Load() == nil {
			ids = append(ids, item.Post.Parent)
			replies = append(replies, f)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	parents, err := s.app.Views.Get(ctx, ids...)
	if err != nil {
		return err
	}
	for i, parent := range parents {
		line := &parentLine{html: unknownParent}
		if parent != nil {
			line = &parentLine{author: parent.Author.ID, html: bytesOf(replyLine(parent.Post))}
		}
		replies[i].parent.Store(line)
	}
	return nil
}

// unknownParent is the line above a reply to a post that is lost, or whose author
// the viewer must not see.
var unknownParent = []byte(`<p class="context"><span>Replying to a post</span></p>`)

var _ templ.Component = postList{}

// Render makes posts a part of a page.
func (p postList) Render(_ context.Context, w io.Writer) error {
	w, err := direct(w)
	write := func(b []byte) {
		if err == nil && len(b) > 0 {
			_, err = w.Write(b)
		}
	}
	for i := range p.items {
		p.one(&p.items[i], write)
	}
	return err
}

func (p postList) one(item *timeline.Item, write func([]byte)) {
	f, _ := item.Post.Rendered.(*fragment)
	if f == nil {
		return
	}
	repost := item.Entry != item.Post
	if repost || item.Post.Parent != 0 {
		write(f.article[:f.top])
		if line, _ := item.Entry.Rendered.(*fragment); repost && line != nil {
			write(line.repostLine)
		}
		if item.Post.Parent != 0 {
			write(f.replyLine(p.viewer))
		}
		write(f.article[f.top:])
	} else {
		write(f.article)
	}
	if p.viewer.User.ID == 0 {
		write(f.signedOut)
		write(f.rest)
		return
	}
	write(f.repost[bit(item.Marks, social.MarkReposted)])
	write(f.like[bit(item.Marks, social.MarkLiked)])
	write(f.save[bit(item.Marks, social.MarkSaved)])
	if item.Post.Author.ID == p.viewer.User.ID {
		write(f.restOwn)
	} else {
		write(f.rest)
	}
}

// replyLine is the line above a reply: a block hides the name of the other person
// there too.
func (f *fragment) replyLine(v *social.Viewer) []byte {
	line := f.parent.Load()
	if line == nil || line.author != 0 && v.Sees(line.author) == social.Hidden {
		return unknownParent
	}
	return line.html
}

func bit(marks, mark social.Marks) int {
	if marks&mark != 0 {
		return 1
	}
	return 0
}

// act is what a viewer can do with a post, and undo.
type act struct {
	icon     string
	do, undo string    // the last parts of the addresses
	names    [2]string // of the buttons
	one, all string    // what is counted; empty for what is private
}

var (
	repostAct = act{"repost", "repost", "unrepost", [2]string{"Repost", "Undo repost"}, "repost", "reposts"}
	likeAct   = act{"like", "like", "unlike", [2]string{"Like", "Undo like"}, "like", "likes"}
	saveAct   = act{"save", "bookmark", "unbookmark", [2]string{"Bookmark", "Remove bookmark"}, "", ""}
)

func (a act) class(done bool) string {
	if done {
		return a.icon + " on"
	}
	return a.icon
}

func (a act) path(post string, done bool) string {
	if done {
		return post + "/" + a.undo
	}
	return post + "/" + a.do
}

// label is the accessible name of the button.
func (a act) label(done bool, n int64) string {
	name := a.names[0]
	if done {
		name = a.names[1]
	}
	if a.one == "" {
		return name
	}
	return name + ", " + counted(n, a.one, a.all)
}

// counted returns a number with its noun.
func counted(n int64, one, many string) string { return thousands(n) + " " + plural(n, one, many) }

// some is a number below a post, where none is not written.
func some(n int64) string {
	if n == 0 {
		return ""
	}
	return thousands(n)
}

// postPath is the address of a post.
func postPath(p social.Post) string { return pathOf(p.Author.Name, p.ID) }

func pathOf(author string, post int64) string {
	return profilePath(author) + "/" + strconv.FormatInt(post, 10)
}

// person returns the session user as a viewer of posts, or a stranger.
func (req *request) person() (*social.Viewer, error) {
	if req.as != nil && req.as.User == req.viewer {
		return req.as, nil
	}
	var err error
	req.as, err = req.server.app.Viewers.Get(req.ctx, req.viewer)
	return req.as, err
}
