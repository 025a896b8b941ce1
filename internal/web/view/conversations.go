package view

import (
	"slices"

	"github.com/a-h/templ"

	"retwis/internal/social/timeline"
)

// around is what is written around a post of a page.
type around struct {
	before, after []byte
	more          templ.Component // first of what is after it; nil for none
}

// Together returns the posts with those of each conversation in one place, that of the latest: the
// first post of the conversation where it is on the page, the latest reply, and how many other
// replies the page has, with a link to them. Reposts stay where they are.
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

// addGroup adds the posts of a conversation that are shown of several, the latest first. The link
// leads to what the viewer sees: the first post is not on the page where they do not.
func (p *Posts) addGroup(group []timeline.Item) {
	isFirst := func(item timeline.Item) bool { return item.Post.Parent == 0 }
	shown, thread := group[:1], group[len(group)-1]
	if at := slices.IndexFunc(group, isFirst); at >= 0 {
		thread = group[at]
		latest := slices.IndexFunc(group, func(item timeline.Item) bool { return !isFirst(item) })
		if latest < 0 { // damage
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
