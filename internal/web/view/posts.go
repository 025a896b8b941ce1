package view

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/a-h/templ"

	"retwis/internal/elapsed"
	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/watched"
)

// nothingSeen is said above a link to the next page of a list.
const nothingSeen = "Everything on this page is hidden from you."

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
	rest               []byte    // what follows the buttons, to the end

	repostLine []byte                     // of a repost, which has nothing else
	parent     atomic.Pointer[parentLine] // of a reply; nil until it is first shown
}

// parentLine is the line above a reply, with the author of its parent.
type parentLine struct {
	author int64
	html   []byte
	named  int64 // when; see package elapsed
}

// RenderPost makes a fragment of a post; see timeline.Render.
func RenderPost(p social.Post, before *timeline.View) (rendered any, size int) {
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
		b = append(b, bytesOf(postText(p, nil))...)
	}
	f.end = len(b)
	path := PostPath(p)
	b = append(b, `<form class="post-actions" method="post">`...)
	f.article = append(b, bytesOf(replyLink(path, p.Counts.Replies))...)
	const end = `</form></div></article>`
	for i, done := range []bool{false, true} {
		f.repost[i] = bytesOf(actionButton(repostAction, path, done, p.Counts.Reposts))
		f.like[i] = bytesOf(actionButton(likeAction, path, done, p.Counts.Likes))
		f.save[i] = bytesOf(actionButton(saveAction, path, done, 0))
		size += len(f.repost[i]) + len(f.like[i]) + len(f.save[i])
	}
	f.rest = append(bytesOf(moreLink(path)), end...)
	f.signedOut = bytesOf(signedOutActions(path, p.Counts))
	return f, size + len(f.article) + len(f.rest) + len(f.signedOut)
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

// Feed is a page of posts.
type Feed struct {
	Posts Posts
	Next  int64
	More  string // the address of the next page, where Next does not say it
	Path  string // of the first page
	Later bool   // this is not the first page
	Empty string // what to say where there is nothing
	Step  string // what to do about that: the text of a link
	To    string // and where it leads
}

// older returns the address of the next page, empty at the end.
func (f Feed) older() string {
	if f.More == "" && f.Next != 0 {
		return OlderPage(f.Path, f.Next)
	}
	return f.More
}

// Posts is the posts of a page, as a viewer sees them.
type Posts struct {
	viewer *social.Viewer
	items  []timeline.Item
	find   func(text string) [][2]int // what to mark in their texts; nil for nothing
	around map[int64]around           // by the entry; see Together
}

// Marked returns the posts with marks in their texts, where find finds something.
func (p Posts) Marked(find func(text string) [][2]int) Posts {
	p.find = find
	return p
}

// NewPosts returns posts for a page of a viewer; see UnnamedParents.
func NewPosts(v *social.Viewer, items []timeline.Item) Posts {
	return Posts{viewer: v, items: items}
}

// IsEmpty reports whether there is no post.
func (p Posts) IsEmpty() bool { return len(p.items) == 0 }

// Without returns the posts but for one, and what reposts it.
func (p Posts) Without(id int64) Posts {
	p.items = slices.DeleteFunc(slices.Clone(p.items), func(item timeline.Item) bool { return item.Entry.ID == id })
	return p
}

// Only returns one of the posts.
func (p Posts) Only(id int64) Posts {
	p.items = slices.DeleteFunc(slices.Clone(p.items), func(item timeline.Item) bool { return item.Entry.ID != id })
	return p
}

// UnnamedParents returns the ids of the posts that these reply to, where their authors are not
// known yet; NameParents takes them. There are none for replies that were shown in the last
// minute: a reply does not change when its parent's author is deleted.
func (p Posts) UnnamedParents() []int64 {
	now := elapsed.Now()
	var ids []int64
	for _, item := range p.items {
		if f, _ := item.Post.Rendered.(*fragment); f != nil && item.Post.Parent != 0 {
			if line := f.parent.Load(); line == nil || now-line.named >= int64(watched.MaxAge) {
				ids = append(ids, item.Post.Parent)
			}
		}
	}
	return ids
}

// NameParents takes the posts with the ids of UnnamedParents; nil for one that is lost. One that was
// deleted has no page.
func (p Posts) NameParents(ids []int64, parents []*timeline.View) {
	now := elapsed.Now()
	lines := map[int64]*parentLine{}
	for i, parent := range parents {
		line := &parentLine{html: unknownParent, named: now}
		switch {
		case parent != nil && parent.Deleted:
			line.html = deletedParent
		case parent != nil:
			line.author, line.html = parent.Author.ID, bytesOf(replyLine(parent.Post))
		}
		lines[ids[i]] = line
	}
	for _, item := range p.items {
		f, _ := item.Post.Rendered.(*fragment)
		if line := lines[item.Post.Parent]; f != nil && line != nil {
			f.parent.Store(line)
		}
	}
}

// unknownParent is the line above a reply to a post that is lost, or whose author
// the viewer must not see.
var unknownParent = []byte(`<p class="context"><span>Replying to a post</span></p>`)

// deletedParent is the line above a reply to a deleted post, which has no page.
var deletedParent = []byte(`<p class="context"><svg><use href="#i-reply"></use></svg><span>Replying to a deleted post</span></p>`)

var _ templ.Component = Posts{}

// Render makes posts a part of a page.
func (p Posts) Render(_ context.Context, w io.Writer) error {
	w, err := direct(w)
	write := func(b []byte) {
		if err == nil && len(b) > 0 {
			_, err = w.Write(b)
		}
	}
	for i := range p.items {
		at := p.around[p.items[i].Entry.ID]
		write(at.before)
		p.one(&p.items[i], write)
		write(at.after)
	}
	return err
}

func (p Posts) one(item *timeline.Item, write func([]byte)) {
	f, _ := item.Post.Rendered.(*fragment)
	if f == nil {
		return
	}
	repost := item.Entry != item.Post
	if p.find != nil && !repost {
		p.marked(item, f, write)
	} else if repost || item.Post.Parent != 0 || !item.Post.Hidden.IsZero() {
		write(f.article[:f.top])
		if line, _ := item.Entry.Rendered.(*fragment); repost && line != nil {
			write(line.repostLine)
		}
		p.above(item, f, write)
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
	write(f.rest)
}

// marked writes a post up to the buttons that differ by viewer, with marks in its text.
func (p Posts) marked(item *timeline.Item, f *fragment, write func([]byte)) {
	write(f.article[:f.top])
	p.above(item, f, write)
	marks := p.find(item.Post.Body)
	if len(marks) == 0 {
		write(f.article[f.top:])
		return
	}
	write(bytesOf(postText(item.Post.Post, marks)))
	write(f.article[f.end:])
}

// hiddenLines are the lines above a hidden post, for moderators and for its author.
var hiddenLines = [2][]byte{
	[]byte(`<p class="context"><svg><use href="#i-flag"></use></svg><span>Hidden by a moderator. Only its author and moderators see it.</span></p>`),
	[]byte(`<p class="context"><svg><use href="#i-flag"></use></svg><span>Hidden by a moderator. Only you see it.</span></p>`),
}

// above writes the lines above a post.
func (p Posts) above(item *timeline.Item, f *fragment, write func([]byte)) {
	if !item.Post.Hidden.IsZero() {
		own := 0
		if item.Post.Author.ID == p.viewer.User.ID {
			own = 1
		}
		write(hiddenLines[own])
	}
	if item.Post.Parent != 0 {
		write(f.replyLine(p.viewer))
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
