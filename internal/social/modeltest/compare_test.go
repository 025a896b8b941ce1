package modeltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"retwis/internal/app"
	"retwis/internal/social"
	"retwis/internal/social/notify"
	"retwis/internal/social/posts"
	"retwis/internal/social/search"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

// tags lists the tags that people use.
var tags = []string{"tea", "go", "redis"}

// stranger is the viewer who is not logged in.
const stranger = -1

// show formats a list entry as a viewer sees it.
func show(item timeline.Item) string {
	return showPost(item.Entry.ID, item.Post.ID, item.Post.Body, item.Post.Counts, item.Marks)
}

func showPost(entry, post int64, body string, counts social.PostCounts, marks social.Marks) string {
	return fmt.Sprintf("%d=%d %q %d/%d/%d %03b", entry, post, body, counts.Replies, counts.Reposts, counts.Likes, marks)
}

// show formats a post of the model as a viewer sees it.
func (m *model) show(viewer int, p *entry) string {
	post := p
	if p.repostOf != 0 {
		post = m.posts[p.repostOf]
	}
	counts := social.PostCounts{
		Replies: int64(len(m.ids(func(r *entry) bool { return r.parent == post.id }))),
		Reposts: int64(len(post.reposters)), Likes: int64(len(post.likers)),
	}
	var marks social.Marks
	if viewer != stranger {
		if _, ok := post.likers[viewer]; ok {
			marks |= social.MarkLiked
		}
		if _, ok := post.reposters[viewer]; ok {
			marks |= social.MarkReposted
		}
		if _, ok := m.people[viewer].saved[post.id]; ok {
			marks |= social.MarkSaved
		}
	}
	return showPost(p.id, post.id, post.text, counts, marks)
}

// sees reports whether a viewer sees a post on a list. owner is the owner of the list, or -1.
func (m *model) sees(viewer, owner int, p *entry) bool {
	if p.isGone(viewer) || m.hides(viewer, p.author) || p.author != owner && m.mutes(viewer, p.author) {
		return false
	}
	return p.repostOf == 0 || m.sees(viewer, owner, m.posts[p.repostOf])
}

// list formats a list of the model as a viewer sees it.
func (m *model) list(viewer, owner int, ids []int64) []string {
	var lines []string
	for _, id := range ids {
		if p := m.posts[id]; m.sees(viewer, owner, p) {
			lines = append(lines, m.show(viewer, p))
		}
	}
	return lines
}

// window is the number of older home timeline entries among which a post is not repeated.
const window = 40

// home formats a home timeline.
func (m *model) home(viewer int) []string {
	if m.people[viewer].expired {
		m.rebuild(viewer)
	}
	// Deleted posts stay on the list and count toward the window.
	ids := slices.SortedFunc(maps.Keys(m.people[viewer].home), func(a, b int64) int { return cmp.Compare(b, a) })
	last := map[int64]int{}
	var kept []int64
	for at := len(ids) - 1; at >= 0; at-- {
		p := m.posts[ids[at]]
		if p == nil || p.deleted || !m.sees(viewer, -1, p) || !m.isByFollowed(viewer, p) && !m.isTagged(viewer, p) {
			continue
		}
		post := max(p.repostOf, 0)
		if post == 0 {
			post = p.id
		}
		seen, ok := last[post]
		last[post] = at
		if p.repostOf == 0 || !ok || seen-at > window {
			kept = append(kept, p.id)
		}
	}
	slices.Reverse(kept)
	return m.list(viewer, -1, kept)
}

// liked returns the number of likes in the last week of each post that a viewer sees and that has
// such likes.
func (m *model) liked(viewer int) map[string]int {
	likes := map[string]int{}
	for _, p := range m.posts {
		n := 0
		for _, at := range p.likers {
			if at >= m.now-7*24*60*60 {
				n++
			}
		}
		if n > 0 && m.sees(viewer, -1, p) {
			likes[m.show(viewer, p)] = n
		}
	}
	return likes
}

// likedThisWeek compares the posts that were liked this week with the model. The page lists such
// posts by decreasing number of likes, except for the posts that are among the trends.
func (m *model) likedThisWeek(ctx context.Context, s *app.App, people []social.User, viewer int) ([]string, error) {
	v := &social.Viewer{}
	var err error
	if viewer != stranger {
		if v, err = s.Viewers.Get(ctx, people[viewer]); err != nil {
			return nil, err
		}
	}
	top, err := s.Trends.Top(ctx, v)
	if err != nil {
		return nil, err
	}
	want := m.liked(viewer)
	missing := len(want)
	for _, post := range top.Posts {
		if want[show(post.Item)] > 0 {
			missing--
		}
	}
	var wrong []string
	last := len(people)
	for _, item := range top.Liked {
		n := want[show(item)]
		if n == 0 || n > last {
			wrong = append(wrong, fmt.Sprintf("person %d: unexpected post among those liked this week, with %d likes after %d: %s", viewer, n, last, show(item)))
		}
		last = n
	}
	if missing = min(missing, search.MaxLiked); len(top.Liked) != missing {
		wrong = append(wrong, fmt.Sprintf("person %d: %d posts liked this week, want %d", viewer, len(top.Liked), missing))
	}
	return wrong, nil
}

// views returns all lists of the model that a viewer sees, by name.
func (m *model) views(viewer int) map[string][]string {
	all := map[string][]string{}
	all["public"] = m.list(viewer, -1, m.ids(func(p *entry) bool { return p.parent == 0 && p.repostOf == 0 }))
	for i := range m.people {
		all[fmt.Sprint("profile ", i)] = m.list(viewer, i, m.ids(func(p *entry) bool { return p.author == i && p.parent == 0 }))
		all[fmt.Sprint("replies ", i)] = m.list(viewer, i, m.ids(func(p *entry) bool { return p.author == i && p.parent != 0 }))
		since := map[int64]int64{}
		for id, p := range m.posts {
			if at, ok := p.likers[i]; ok && !m.hides(viewer, i) {
				since[id] = at
			}
		}
		all[fmt.Sprint("likes ", i)] = m.list(viewer, i, byTime(since))
	}
	for _, tag := range tags {
		all["tag "+tag] = m.list(viewer, -1, m.ids(func(p *entry) bool { return slices.Contains(text.Tags(p.text), tag) }))
	}
	for id, root := range m.posts {
		if root.parent == 0 && root.repostOf == 0 && m.sees(viewer, -1, root) {
			all[fmt.Sprint("thread ", id)] = m.list(viewer, -1, m.ids(func(p *entry) bool { return p.root == id }))
		}
	}
	if viewer == stranger {
		return all
	}
	all["home"] = m.home(viewer)
	all["saved"] = m.list(viewer, -1, byTime(m.people[viewer].saved))
	return all
}

// views reads all lists of a service that a viewer sees, by name.
func views(ctx context.Context, s *app.App, people []social.User, viewer int) (map[string][]string, error) {
	v := &social.Viewer{}
	var err error
	if viewer != stranger {
		if v, err = s.Viewers.Get(ctx, people[viewer]); err != nil {
			return nil, err
		}
	}
	all := map[string][]string{}
	postsOf := func(name string, read func(before int64) (timeline.Listing, error)) {
		for next := int64(0); err == nil; {
			var list timeline.Listing
			if list, err = read(next); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				return
			}
			for _, item := range list.Items {
				all[name] = append(all[name], show(item))
			}
			if next = list.Next; next == 0 {
				return
			}
		}
	}
	marked := func(name string, read func(cursor string) (posts.MarkedPosts, error)) {
		for next := ""; err == nil; {
			var list posts.MarkedPosts
			if list, err = read(next); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				return
			}
			for _, item := range list.Items {
				all[name] = append(all[name], show(item))
			}
			if next = list.Next; next == "" {
				return
			}
		}
	}
	const limit = 50
	postsOf("public", func(before int64) (timeline.Listing, error) { return s.Lists.PublicPosts(ctx, v, before, limit) })
	for i, user := range people {
		postsOf(fmt.Sprint("profile ", i), func(before int64) (timeline.Listing, error) {
			return s.Lists.ProfilePosts(ctx, v, user.ID, before, limit)
		})
		postsOf(fmt.Sprint("replies ", i), func(before int64) (timeline.Listing, error) {
			return s.Lists.ProfileReplies(ctx, v, user.ID, before, limit)
		})
		marked(fmt.Sprint("likes ", i), func(cursor string) (posts.MarkedPosts, error) {
			return s.Reactions.LikedPosts(ctx, v, user.ID, cursor, limit)
		})
	}
	for _, tag := range tags {
		postsOf("tag "+tag, func(before int64) (timeline.Listing, error) { return s.Tags.TagPosts(ctx, v, tag, before, limit) })
	}
	for _, item := range all["public"] {
		var id int64
		fmt.Sscan(item, &id)
		if err == nil {
			all[fmt.Sprint("thread ", id)], err = thread(ctx, s, v, id)
		}
		if errors.Is(err, social.ErrNotFound) { // the public timeline is up to a second old
			all[fmt.Sprint("thread ", id)], err = []string{"not found"}, nil
		}
	}
	if viewer != stranger {
		postsOf("home", func(before int64) (timeline.Listing, error) { return s.Lists.HomePosts(ctx, v, before, limit) })
		marked("saved", func(cursor string) (posts.MarkedPosts, error) {
			return s.Reactions.BookmarkedPosts(ctx, v, cursor, limit)
		})
	}
	return all, err
}

// thread reads the replies in a conversation, latest first, without stubs.
func thread(ctx context.Context, s *app.App, v *social.Viewer, root int64) ([]string, error) {
	shown := map[int64]string{}
	for after := int64(0); ; {
		page, err := s.Threads.Get(ctx, v, root, after, 50)
		if err != nil {
			return nil, fmt.Errorf("thread %d: %w", root, err)
		}
		for _, reply := range page.Replies {
			if reply.Stub == posts.NoStub {
				shown[reply.ID] = show(reply.Item)
			}
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	ids := slices.Sorted(maps.Keys(shown))
	slices.Reverse(ids)
	var lines []string
	for _, id := range ids {
		lines = append(lines, shown[id])
	}
	return lines, nil
}

// differences compares what all viewers see with the model and describes the differences.
func (m *model) differences(ctx context.Context, s *app.App, people []social.User) ([]string, error) {
	var all []string
	if err := s.Trends.Merge(ctx); err != nil {
		return nil, err
	}
	for viewer := stranger; viewer < len(people); viewer++ {
		got, err := views(ctx, s, people, viewer)
		if err != nil {
			return nil, fmt.Errorf("as person %d: %w", viewer, err)
		}
		for name, want := range m.views(viewer) {
			if !slices.Equal(got[name], want) {
				all = append(all, fmt.Sprintf("person %d, list %s:\n%s", viewer, name, diff(got[name], want)))
			}
		}
		wrong, err := m.notices(ctx, s, people, viewer)
		if err != nil {
			return nil, err
		}
		all = append(all, wrong...)
		if wrong, err = m.likedThisWeek(ctx, s, people, viewer); err != nil {
			return nil, err
		}
		all = append(all, wrong...)
	}
	return all, nil
}

// diff describes the differences between two lists.
func diff(got, want []string) string {
	var b strings.Builder
	for _, line := range got {
		if !slices.Contains(want, line) {
			fmt.Fprintln(&b, "\tunexpected:", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintln(&b, "\tmissing:", line)
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "\t%d entries in another order or repeated: %q, want %q\n", len(got), got, want)
	}
	return b.String()
}

// notices compares the notifications of a person with the model. The person must have all
// notifications that are certain in the model, and none that the model lacks.
func (m *model) notices(ctx context.Context, s *app.App, people []social.User, viewer int) ([]string, error) {
	if viewer == stranger {
		return nil, nil
	}
	v, err := s.Viewers.Get(ctx, people[viewer])
	if err != nil {
		return nil, err
	}
	got, decisions := map[notice]int{}, map[string]int{}
	for next := ""; ; {
		page, err := s.Notifications.Page(ctx, v, next, 50)
		if err != nil {
			return nil, err
		}
		for _, group := range page.Groups {
			post := int64(0)
			if group.Post != nil {
				post = group.Post.Post.ID
			}
			for _, actor := range group.Actors {
				index := slices.IndexFunc(people, func(u social.User) bool { return u.ID == actor.ID })
				if group.Kind == notify.Decided {
					decisions[group.Action]++
					continue
				}
				got[notice{group.Kind.String(), index, post}]++
			}
		}
		if next = page.Next; next == "" {
			break
		}
	}
	var wrong []string
	if want := m.people[viewer].decisions; !maps.Equal(decisions, want) {
		wrong = append(wrong, fmt.Sprintf("person %d: notified of the decisions %v, want %v", viewer, decisions, want))
	}
	for n, times := range got {
		switch {
		case m.people[viewer].notified[n] == 0:
			wrong = append(wrong, fmt.Sprintf("person %d: unexpected notification %+v", viewer, n))
		case times > 1 && m.people[viewer].notified[n] == surely && n.kind != "follow":
			wrong = append(wrong, fmt.Sprintf("person %d: %d notifications %+v, want 1", viewer, times, n))
		case !m.seesNotice(viewer, n):
			wrong = append(wrong, fmt.Sprintf("person %d: notification %+v should be hidden", viewer, n))
		}
	}
	for n, certain := range m.people[viewer].notified {
		if certain == surely && got[n] == 0 && m.seesNotice(viewer, n) {
			wrong = append(wrong, fmt.Sprintf("person %d: missing notification %+v", viewer, n))
		}
	}
	return wrong, nil
}

// seesNotice reports whether a person sees a notification that was written.
func (m *model) seesNotice(viewer int, n notice) bool {
	if m.hides(viewer, n.actor) || m.mutes(viewer, n.actor) {
		return false
	}
	if n.post == 0 {
		return true
	}
	p := m.posts[n.post]
	return m.sees(viewer, viewer, p)
}
