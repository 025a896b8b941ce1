package view

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/a-h/templ"

	"retwis/internal/elapsed"
	"retwis/internal/i18n"
	"retwis/internal/social"
	"retwis/internal/social/timeline"
	"retwis/internal/watched"
)

// nothingSeen is shown above a link to the next page of a list.
var nothingSeen = i18n.T("Everything on this page is hidden from you.")

// fragment is the HTML of one version of a post, split into the pieces from which pages are
// assembled: two or three for most posts. A fragment is cached with the post, so that nothing is
// rendered twice.
//
// The lines above the post and the buttons below it differ between viewers. Usually only the counts
// differ between versions, in the opening tag and on the buttons; then the text between them is
// reused.
type fragment struct {
	article   []byte // everything up to the buttons that differ between viewers
	top       int    // length of the opening tag of article
	text, end int    // where the part of article without counts begins and ends

	repost, like, save [2][]byte // without and with the viewer's mark
	signedOut          []byte    // replaces the buttons for visitors
	tail               []byte    // everything after the buttons, beginning with moreLink
	moreEnd            int       // in tail: the end of the first attribute of moreLink

	repostLine []byte // for a repost, whose other fields are empty
}

// rendered is what is cached with a post: a fragment for each language in which the post was shown,
// and what does not depend on the language.
type rendered struct {
	post      social.Post
	fragments []atomic.Pointer[fragment] // by language
	parent    atomic.Pointer[parentLine] // of a reply; nil until it is first shown
}

// inUse has a bit for each language in which posts were shown. latest is the index of the last such
// language.
var inUse, latest atomic.Int64

// fragmentIn returns the fragment for a language.
func (r *rendered) fragmentIn(l *i18n.Language) *fragment {
	if f := r.fragments[l.Index()].Load(); f != nil {
		return f
	}
	inUse.Or(1 << l.Index())
	latest.Store(int64(l.Index()))
	f := newFragment(r.post, l, nil)
	r.fragments[l.Index()].Store(f)
	return f
}

// renderedOf returns what is cached with a post, or nil.
func renderedOf(v *timeline.View) *rendered {
	r, _ := v.Rendered.(*rendered)
	return r
}

// parentLine describes what a reply responds to: the author and a link to the post.
type parentLine struct {
	author  int64
	html    []byte // the link
	deleted bool
	named   int64 // when the author was looked up; see package elapsed
}

// RenderPost renders the HTML of a post in the languages of its previous version, if that has the
// same text, and in the language used last otherwise. Other languages are rendered when they are
// needed. size counts each language in use. See timeline.Render.
func RenderPost(p social.Post, before *timeline.View) (kept any, size int) {
	r := &rendered{post: p, fragments: make([]atomic.Pointer[fragment], i18n.Count())}
	add := func(l *i18n.Language, previous *fragment) {
		f := newFragment(p, l, previous)
		r.fragments[l.Index()].Store(f)
		size = max(size, f.size())
	}
	all := i18n.All()
	if old := sameText(p, before); old != nil {
		r.parent.Store(old.parent.Load())
		for i, l := range all {
			if previous := old.fragments[i].Load(); previous != nil {
				add(l, previous)
			}
		}
	}
	if size == 0 {
		add(all[latest.Load()], nil)
	}
	return r, size * max(1, bits.OnesCount64(uint64(inUse.Load())))
}

// newFragment renders a post. old is a fragment with the same text, or nil.
func newFragment(p social.Post, l *i18n.Language, old *fragment) *fragment {
	f, ctx := &fragment{}, i18n.With(context.Background(), l)
	if p.RepostOf != 0 {
		f.repostLine = bytesOf(ctx, repostLine(p.Author))
		return f
	}
	b := fmt.Appendf(nil, `<article class="post" data-id="%d" data-replies="%d" data-reposts="%d" data-likes="%d" id="p%d">`,
		p.ID, p.Counts.Replies, p.Counts.Reposts, p.Counts.Likes, p.ID)
	f.top, f.text = len(b), len(b)
	if old != nil {
		b = append(b, old.article[old.text:old.end]...)
	} else {
		b = append(b, bytesOf(ctx, postText(p, nil))...)
	}
	f.end = len(b)
	path := PostPath(p)
	b = append(b, `<form class="post-actions" method="post">`...)
	f.article = append(b, bytesOf(ctx, replyLink(path, p.Counts.Replies))...)
	const end = `</form></div></article>`
	for i, done := range []bool{false, true} {
		f.repost[i] = bytesOf(ctx, actionButton(repostAction, path, done, p.Counts.Reposts))
		f.like[i] = bytesOf(ctx, actionButton(likeAction, path, done, p.Counts.Likes))
		f.save[i] = bytesOf(ctx, actionButton(saveAction, path, done, 0))
	}
	f.tail = append(bytesOf(ctx, moreLink(path)), end...)
	f.moreEnd = bytes.Index(f.tail, []byte(" href="))
	f.signedOut = bytesOf(ctx, signedOutActions(path, p.Counts))
	return f
}

func (f *fragment) size() int {
	n := len(f.article) + len(f.tail) + len(f.signedOut) + len(f.repostLine)
	for i := range f.repost {
		n += len(f.repost[i]) + len(f.like[i]) + len(f.save[i])
	}
	return n
}

// sameText returns what is cached with an earlier version of a post that differs at most in its
// counts, or nil.
func sameText(p social.Post, before *timeline.View) *rendered {
	if before == nil {
		return nil
	}
	old := before.Post
	old.Counts = p.Counts
	r := renderedOf(before)
	if r == nil || p.RepostOf != 0 || !p.Time.Equal(old.Time) || !p.Edited.Equal(old.Edited) {
		return nil
	}
	old.Time, old.Edited = p.Time, p.Edited
	if old != p {
		return nil
	}
	return r
}

// Feed is a page of posts.
type Feed struct {
	Posts Posts
	Next  int64
	More  string // address of the next page, if Next does not determine it
	Path  string // of the first page
	Later bool   // not the first page
	Empty string // message if there are no posts
	Step  string // text of a link shown with that message
	To    string // target of that link
}

// older returns the address of the next page, empty at the end.
func (f Feed) older() string {
	if f.More == "" && f.Next != 0 {
		return OlderPage(f.Path, f.Next)
	}
	return f.More
}

// Posts are the posts of a page as seen by a viewer.
type Posts struct {
	viewer *social.Viewer
	items  []timeline.Item
	find   func(text string) [][2]int // finds what to highlight in the texts; nil for nothing
	around map[int64]around           // by entry; see Together
}

// Marked returns the posts with the matches of find highlighted in their texts.
func (p Posts) Marked(find func(text string) [][2]int) Posts {
	p.find = find
	return p
}

// NewPosts returns posts for a page of a viewer; see UnnamedParents.
func NewPosts(v *social.Viewer, items []timeline.Item) Posts {
	return Posts{viewer: v, items: items}
}

// IsEmpty reports whether there are no posts.
func (p Posts) IsEmpty() bool { return len(p.items) == 0 }

// Without returns the posts except the entry with an ID. Reposts of the post stay.
func (p Posts) Without(id int64) Posts {
	p.items = slices.DeleteFunc(slices.Clone(p.items), func(item timeline.Item) bool { return item.Entry.ID == id })
	return p
}

// Only returns the posts reduced to the entry with an ID.
func (p Posts) Only(id int64) Posts {
	p.items = slices.DeleteFunc(slices.Clone(p.items), func(item timeline.Item) bool { return item.Entry.ID != id })
	return p
}

// UnnamedParents returns the IDs of the parents of replies whose authors are not known yet; pass
// the parents to NameParents. Authors looked up within the last minute count as known: a reply does
// not change when its parent's author is deleted.
func (p Posts) UnnamedParents() []int64 {
	now := elapsed.Now()
	var ids []int64
	for _, item := range p.items {
		if r := renderedOf(item.Post); r != nil && item.Post.Parent != 0 {
			if line := r.parent.Load(); line == nil || now-line.named >= int64(watched.MaxAge) {
				ids = append(ids, item.Post.Parent)
			}
		}
	}
	return ids
}

// NameParents stores the authors of the parents whose IDs UnnamedParents has returned. A lost
// parent is nil. A deleted parent has no page.
func (p Posts) NameParents(ids []int64, parents []*timeline.View) {
	now := elapsed.Now()
	lines := map[int64]*parentLine{}
	for i, parent := range parents {
		line := &parentLine{named: now}
		switch {
		case parent != nil && parent.Deleted:
			line.deleted = true
		case parent != nil:
			line.author, line.html = parent.Author.ID, bytesOf(context.Background(), parentLink(parent.Post))
		}
		lines[ids[i]] = line
	}
	for _, item := range p.items {
		r := renderedOf(item.Post)
		if line := lines[item.Post.Parent]; r != nil && line != nil {
			r.parent.Store(line)
		}
	}
}

// lines are the lines above posts that are the same for all posts, in one language.
type lines struct {
	hidden        [2][]byte // for moderators, and for the author
	unknownParent []byte    // the parent is lost, or its author is hidden from the viewer
	deletedParent []byte    // the parent is deleted and has no page
	reply         [2][]byte // before and after the link to the parent
}

// linesIn holds the lines of each language.
var linesIn = func() (all []lines) {
	for _, l := range i18n.All() {
		ctx := i18n.With(context.Background(), l)
		html := func(icon string, text templ.Component) []byte { return bytesOf(ctx, contextLine(icon, text)) }
		before, behind, _ := bytes.Cut(html("reply", say("Replying to {name}", templ.Raw("\x00"))), []byte("\x00"))
		all = append(all, lines{
			hidden: [2][]byte{
				html("flag", say("Hidden by a moderator. Only its author and moderators see it.")),
				html("flag", say("Hidden by a moderator. Only you and moderators see it.")),
			},
			unknownParent: html("", say("Replying to a post")), deletedParent: html("reply", say("Replying to a deleted post")),
			reply: [2][]byte{before, behind},
		})
	}
	return all
}()

var _ templ.Component = Posts{}

// Render renders the posts as part of a page.
func (p Posts) Render(ctx context.Context, w io.Writer) error {
	l := i18n.From(ctx)
	w, err := direct(w)
	write := func(b []byte) {
		if err == nil && len(b) > 0 {
			_, err = w.Write(b)
		}
	}
	for i := range p.items {
		at := p.around[p.items[i].Entry.ID]
		write(at.before)
		p.writePost(l, &p.items[i], write)
		if at.more != nil && err == nil {
			err = at.more.Render(ctx, w)
		}
		write(at.after)
	}
	return err
}

func (p Posts) writePost(l *i18n.Language, item *timeline.Item, write func([]byte)) {
	r := renderedOf(item.Post)
	if r == nil {
		return
	}
	f := r.fragmentIn(l)
	repost := item.Entry != item.Post
	if p.find != nil && !repost {
		p.marked(l, item, f, write)
	} else if repost || item.Post.Parent != 0 || !item.Post.Hidden.IsZero() {
		write(f.article[:f.top])
		if by := renderedOf(item.Entry); repost && by != nil {
			write(by.fragmentIn(l).repostLine)
		}
		p.above(l, item, write)
		write(f.article[f.top:])
	} else {
		write(f.article)
	}
	if p.viewer.User.ID == 0 {
		write(f.signedOut)
		write(f.tail)
		return
	}
	write(f.repost[bit(item.Marks, social.MarkReposted)])
	write(f.like[bit(item.Marks, social.MarkLiked)])
	write(f.save[bit(item.Marks, social.MarkSaved)])
	if p.viewer.Following.Has(item.Post.Author.ID) {
		write(f.tail[:f.moreEnd])
		write(followsAuthor)
		write(f.tail[f.moreEnd:])
	} else {
		write(f.tail)
	}
}

// followsAuthor tells the script for menus that the viewer follows the author and can unfollow them.
var followsAuthor = []byte(" data-unfollow")

// marked writes a post up to the buttons that differ between viewers, with highlights in its text.
func (p Posts) marked(l *i18n.Language, item *timeline.Item, f *fragment, write func([]byte)) {
	write(f.article[:f.top])
	p.above(l, item, write)
	marks := p.find(item.Post.Body)
	if len(marks) == 0 {
		write(f.article[f.top:])
		return
	}
	write(bytesOf(i18n.With(context.Background(), l), postText(item.Post.Post, marks)))
	write(f.article[f.end:])
}

// above writes the lines above a post.
func (p Posts) above(l *i18n.Language, item *timeline.Item, write func([]byte)) {
	lines := &linesIn[l.Index()]
	if !item.Post.Hidden.IsZero() {
		own := 0
		if item.Post.Author.ID == p.viewer.User.ID {
			own = 1
		}
		write(lines.hidden[own])
	}
	if item.Post.Parent != 0 {
		lines.writeReply(renderedOf(item.Post).parent.Load(), p.viewer, write)
	}
}

// writeReply writes the line above a reply. It omits the name of an author who is hidden from the
// viewer.
func (s *lines) writeReply(parent *parentLine, v *social.Viewer, write func([]byte)) {
	switch {
	case parent != nil && parent.deleted:
		write(s.deletedParent)
	case parent == nil || parent.author == 0 || v.Sees(parent.author) == social.Hidden:
		write(s.unknownParent)
	default:
		write(s.reply[0])
		write(parent.html)
		write(s.reply[1])
	}
}

func bit(marks, mark social.Marks) int {
	if marks&mark != 0 {
		return 1
	}
	return 0
}
