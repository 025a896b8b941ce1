package posts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveOrder appends the replies to a post in display order.
func naiveOrder(links []link, effective map[int64]int64, post int64, depth int32, all []node) []node {
	for _, l := range links {
		if effective[l.id] == post {
			at := len(all)
			all = append(all, node{id: l.id, depth: depth})
			all = naiveOrder(links, effective, l.id, depth+1, all)
			all[at].end = int32(len(all))
		}
	}
	return all
}

// newTree returns the same tree as a simple recursion, even if the parents of replies are missing,
// not older than the reply, or in a cycle.
func TestTreeOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const root = 3
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 60).Filter(func(id int64) bool { return id != root }), 0, 40, rapid.ID).Draw(t, "ids")
		slices.Sort(ids)
		links := make([]link, len(ids))
		effective := map[int64]int64{}
		for i, id := range ids {
			links[i] = link{id, rapid.Int64Range(0, 62).Draw(t, "parent")}
			effective[id] = root
			if p := links[i].parent; p < id && slices.Contains(ids, p) {
				effective[id] = p
			}
		}
		tree := newTree(root, links)
		want := naiveOrder(links, effective, root, 1, []node{})
		if !slices.Equal(tree.nodes, want) {
			t.Fatalf("%v\ngot  %v\nwant %v", links, tree.nodes, want)
		}
		for at, n := range want {
			if tree.after(n.id, n.id) != at+1 {
				t.Fatalf("after(%d) = %d, want %d", n.id, tree.after(n.id, n.id), at+1)
			}
			from, to, depth := tree.below(n.id)
			if from != at+1 || to != int(n.end) || depth != n.depth {
				t.Fatalf("below(%d) = %d, %d, depth %d; want %d, %d, depth %d", n.id, from, to, depth, at+1, n.end, n.depth)
			}
		}
		// After a leaf is removed from the tree, the same post still follows the leaf.
		if len(links) == 0 {
			return
		}
		leaf := rapid.SampledFrom(want).Draw(t, "leaf")
		at := tree.after(leaf.id, leaf.id)
		if int(leaf.end) != at {
			return
		}
		withoutLeaf := newTree(root, slices.DeleteFunc(slices.Clone(links), func(l link) bool { return l.id == leaf.id }))
		if got := withoutLeaf.after(effective[leaf.id], leaf.id); got != at-1 {
			t.Fatalf("%v without %d: resumes at %d, want %d", links, leaf.id, got, at-1)
		}
	})
}
