package posts

import (
	"cmp"
	"slices"
)

// tree is the shape of a conversation: all replies to a root in display order, where each reply is
// followed by the replies to it, in the order of their IDs. A post never gets another parent.
// Whether a viewer may see a post is decided when it is shown. A tree is immutable, and takes about
// 36 bytes per reply.
type tree struct {
	root   int64
	links  []link  // sorted by ID
	places []int32 // the index in nodes of each link
	nodes  []node

	listed int   // the number of replies in the sorted set of the conversation, up to maxThread
	card   int64 // the size of that set
	last   int64 // the largest ID in that set
}

// link is a reply and its parent.
type link struct{ id, parent int64 }

// node is a reply in display order. The replies to it follow, up to end.
type node struct {
	id    int64
	depth int32 // 1 for a reply to the root
	end   int32
}

// newTree builds a tree from replies sorted by ID. A reply whose parent is not among the replies,
// or not older than the reply, counts as a reply to the root, which breaks every cycle in a damaged
// database.
func newTree(root int64, links []link) *tree {
	t := &tree{root: root, links: links, places: make([]int32, len(links)), nodes: make([]node, 0, len(links))}
	// first and next form the linked lists of replies to each post; the index len(links) is the
	// root.
	first := make([]int32, len(links)+1)
	next := make([]int32, len(links))
	for i := range first {
		first[i] = -1
	}
	for i, l := range slices.Backward(links) {
		at := len(links)
		if l.parent < l.id {
			if p, ok := t.find(l.parent); ok {
				at = p
			}
		}
		next[i], first[at] = first[at], int32(i)
	}
	var above []int32 // places of the nodes whose replies are still being added
	for i := first[len(links)]; ; {
		for i < 0 && len(above) > 0 { // no further reply to the innermost of above
			place := above[len(above)-1]
			above = above[:len(above)-1]
			t.nodes[place].end = int32(len(t.nodes))
			at, _ := t.find(t.nodes[place].id)
			i = next[at]
		}
		if i < 0 {
			return t
		}
		place := int32(len(t.nodes))
		t.places[i] = place
		above = append(above, place)
		t.nodes = append(t.nodes, node{id: links[i].id, depth: int32(len(above))})
		i = first[i]
	}
}

// find returns the index of a reply in links.
func (t *tree) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(t.links, id, func(l link, id int64) int { return cmp.Compare(l.id, id) })
}

// below returns the range of the replies to a post in nodes, and the depth of the post.
func (t *tree) below(id int64) (from, to int, depth int32) {
	if id == t.root {
		return 0, len(t.nodes), 0
	}
	if i, ok := t.find(id); ok {
		n := t.nodes[t.places[i]]
		return int(t.places[i]) + 1, int(n.end), n.depth
	}
	return 0, 0, 0
}

// parent returns the parent of a reply; ok is false for the root and for a post that
// is not in the tree.
func (t *tree) parent(id int64) (parent int64, ok bool) {
	i, ok := t.find(id)
	if !ok {
		return 0, false
	}
	return t.links[i].parent, true
}

// after returns the place that follows a post in display order. If post differs from id, then post
// has left the tree, and id is its closest ancestor that is still in the tree; the result is the
// place where the branch with post was.
func (t *tree) after(id, post int64) int {
	at, end, _ := t.below(id)
	if id == post {
		return at
	}
	for at < end && t.nodes[at].id < post {
		at = int(t.nodes[at].end)
	}
	return at
}

// size returns the approximate number of bytes in memory.
func (t *tree) size() int { return 36*len(t.links) + 200 }
