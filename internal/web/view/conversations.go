package view

import (
	"slices"

	"github.com/a-h/templ"

	"retwis/internal/social/timeline"
)

// around is what is rendered around a post on a page.
type around struct {
	before, after []byte
	more          templ.Component // rendered after the post; nil for none
}

// Together groups the posts of each conversation at the position of the latest post. A group has
// the first post of the conversation, if it is on the page, the latest reply, and a link with the
// number of the page's other replies. Reposts stay in place.
func (p Posts) Together() Posts {
	groups := map[int64][]timeline.Item{}
	for _, item := range p.items {
		if !isRepost(item) {
			root := item.Post.Conversation()
			groups[root] = append(groups[root], item)
		}
	}
	all := p.items
	p.items, p.around = make([]timeline.Item, 0, len(all)), map[int64]around{}
	for _, item := range all {
		group := groups[item.Post.Conversation()]
		if isRepost(item) || len(group) == 1 {
			p.items = append(p.items, item)
		} else if group[0] == item {
			p.addGroup(group)
		}
	}
	return p
}

func isRepost(item timeline.Item) bool { return item.Entry != item.Post }

// addGroup adds the posts that are shown of a conversation with several posts on the page. group is
// sorted from the latest. The link leads to a post that the viewer can see: a first post that is
// not on the page may be hidden.
func (p *Posts) addGroup(group []timeline.Item) {
	isFirst := func(item timeline.Item) bool { return item.Post.Parent == 0 }
	shown, thread := group[:1], group[len(group)-1]
	if at := slices.IndexFunc(group, isFirst); at >= 0 {
		thread = group[at]
		latest := slices.IndexFunc(group, func(item timeline.Item) bool { return !isFirst(item) })
		if latest < 0 { // damaged data
			p.items = append(p.items, group...)
			return
		}
		shown = []timeline.Item{thread, group[latest]}
	}
	first, last := shown[0].Entry.ID, shown[len(shown)-1].Entry.ID
	p.around[first] = around{before: []byte(`<div class="conversation">`)}
	end := p.around[last]
	if more := len(group) - len(shown); more > 0 {
		end.more = moreReplies(PostPath(thread.Post.Post), int64(more))
	}
	end.after = append(end.after, `</div>`...)
	p.around[last] = end
	p.items = append(p.items, shown...)
}
