package suggest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/internal/script"
)

// maxComplete is how many completions can be asked for.
const maxComplete = 1000

// Complete returns the k most frequent terms that begin with a prefix, the most
// frequent first, those of one count by their normalised form. The prefix is
// normalised as terms are, so that case and marks do not matter. A blank at its end,
// or punctuation that becomes one, ends a word: "new " is the beginning of "new
// york", and all of "new", but not of "newton". An empty one is that of every term.
//
// The answer is exact, and takes one round trip that reads about 64 terms, or
// all if they are fewer, however many have the prefix. More are read where k is
// above 32, at most 1,000, and where the best terms of a prefix have been
// removed: its head is then made anew in passing, by a write.
func (x *Index) Complete(ctx context.Context, prefix string, k int) (best []Suggestion, err error) {
	defer x.wrap(&err)
	name, err := x.normal(prefix)
	if err != nil {
		return nil, err
	}
	if err := x.ready(ctx, k); err != nil {
		return nil, err
	}
	found, err := x.exact(ctx, name, k)
	if err != nil {
		return nil, err
	}
	return x.suggest(ctx, found)
}

// exact returns the k best terms that begin with a normalised prefix.
func (x *Index) exact(ctx context.Context, prefix string, k int) ([]term, error) {
	found, err := x.best(ctx, rangesOf(prefix), k)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	if len(found) > 1 {
		slices.SortFunc(all, compare)
	}
	return all[:min(k, len(all))], nil
}

// rangesOf returns the prefixes of the keys of the terms that a normalised prefix
// stands for: where that ends with a blank, also the term that ends there.
func rangesOf(prefix string) []string {
	if whole, ended := strings.CutSuffix(prefix, " "); ended {
		return []string{prefix, whole + ":"}
	}
	return []string{prefix}
}

// ready checks what is asked for.
func (x *Index) ready(ctx context.Context, k int) error {
	if k < 1 || k > maxComplete {
		return fmt.Errorf("%w: %d completions: ask for 1 to %d", index.ErrValue, k, maxComplete)
	}
	return x.set.Check(ctx)
}

// suggest returns terms to the user, and cleans up.
func (x *Index) suggest(ctx context.Context, found []term) ([]Suggestion, error) {
	out := make([]Suggestion, len(found))
	for i, t := range found {
		out[i] = x.shown(t)
	}
	if len(found) > 0 && x.opt.Cleanup > 0 && rand.Float64() < x.opt.Cleanup {
		if _, err := x.remove(ctx, "lose", 1, []string{x.choose(found).key}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// choose picks the term that loses one.
func (x *Index) choose(found []term) term {
	if !x.opt.CleanupRare {
		return found[rand.IntN(len(found))]
	}
	all := 0.0
	for _, t := range found {
		all += 1 / t.count
	}
	at := rand.Float64() * all
	for _, t := range found {
		if at -= 1 / t.count; at <= 0 {
			return t
		}
	}
	return found[len(found)-1]
}

// node is what is known of the terms of a prefix in a partition.
type node struct {
	part   int
	prefix string
	terms  []term // among them are all that do not rank behind the floor
	floor  *term  // nil: all there are
	whole  bool   // terms that have no head and are too many to be read
}

// good returns how many of the terms are certain to be the best.
func (n *node) good() int {
	if n.floor == nil {
		return len(n.terms)
	}
	return len(n.terms) - n.behind(*n.floor)
}

func (n *node) behind(floor term) int {
	i, _ := slices.BinarySearchFunc(n.terms, floor, compare)
	if i < len(n.terms) && compare(n.terms[i], floor) == 0 {
		i++
	}
	return len(n.terms) - i
}

// best returns the k best terms of each prefix: one round trip, unless heads
// have to be mended or are too short.
func (x *Index) best(ctx context.Context, prefixes []string, k int) ([][]term, error) {
	var wanted []node
	for _, prefix := range prefixes {
		for part := range x.keys {
			wanted = append(wanted, node{part: part, prefix: prefix})
		}
	}
	nodes, err := x.read(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found := make([][]term, len(prefixes))
	for i := range nodes {
		n := &nodes[i]
		if n.whole || n.floor != nil && n.good() < min(k, x.keep) {
			if err := x.mend(ctx, n.part, n.prefix); err != nil {
				return nil, err
			}
			again, err := x.read(ctx, nodes[i:i+1])
			if err != nil {
				return nil, err
			}
			nodes[i] = again[0]
		}
		terms, err := x.descend(ctx, *n, k)
		if err != nil {
			return nil, err
		}
		found[i/len(x.keys)] = append(found[i/len(x.keys)], terms...)
	}
	for i, terms := range found {
		if len(x.keys) > 1 {
			slices.SortFunc(terms, compare)
		}
		found[i] = terms[:min(k, len(terms))]
	}
	return found, nil
}

// read reads some prefixes in one pipeline.
func (x *Index) read(ctx context.Context, wanted []node) ([]node, error) {
	nodes := make([]node, 0, len(wanted))
	for piece := range slices.Chunk(wanted, 100) {
		calls := make([]script.Call, len(piece))
		for i, n := range piece {
			calls[i] = script.Call{Keys: x.keys[n.part].reading(), Args: []string{n.prefix}}
		}
		for i, r := range x.scripts.complete.RunMany(ctx, x.set.Client, calls) {
			n, err := x.parseNode(piece[i], r)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// parseNode reads the reply of complete.lua.
func (x *Index) parseNode(n node, r rueidis.RedisResult) (node, error) {
	reply, err := r.ToArray()
	if err != nil {
		return n, err
	}
	head, err := reply[0].ToString()
	if err != nil {
		return n, err
	}
	list, err := reply[1].ToArray()
	if err != nil {
		return n, err
	}
	n = node{part: n.part, prefix: n.prefix, terms: make([]term, 0, len(list))}
	floor, lines, headed := strings.Cut(head, "\n")
	for _, message := range list {
		text, err := message.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return n, err
		}
		var t term
		var ok bool
		if headed {
			var line string
			line, lines, _ = strings.Cut(lines, "\n")
			t, ok = parseCount(n.prefix+line, text)
		} else {
			t, ok = parseEntry(text)
		}
		if ok {
			n.terms = append(n.terms, t)
		}
	}
	slices.SortFunc(n.terms, compare)
	if floor != "" {
		count, key, _ := strings.Cut(floor, ":")
		f, _ := parseCount(key, count)
		n.floor = &f
	}
	n.whole = !headed && len(list) > x.light
	return n, nil
}

// mend makes a head anew, and before it those that it is made of. Each step
// looks at the terms of one head a byte, at most.
func (x *Index) mend(ctx context.Context, part int, prefix string) error {
	todo := []string{prefix}
	for len(todo) > 0 {
		first, err := x.scripts.mend.Run(ctx, x.set.Client, x.keys[part].reading(), todo[len(todo)-1:]).ToString()
		switch {
		case err != nil:
			return err
		case first != "":
			todo = append(todo, first)
		default:
			todo = todo[:len(todo)-1]
		}
	}
	return nil
}

// descend returns the k best terms of a prefix. Where its head holds fewer, it
// goes on with the heads of what is a byte longer, first where the best of those
// must be that nobody has told of yet.
func (x *Index) descend(ctx context.Context, n node, k int) ([]term, error) {
	nodes := []node{n}
	for {
		var all node
		last := -1
		for i := range nodes {
			all.terms = append(all.terms, nodes[i].terms...)
			switch {
			case nodes[i].whole:
				last, all.floor = i, &term{count: maxCount + 1}
			case nodes[i].floor != nil && (all.floor == nil || compare(*nodes[i].floor, *all.floor) < 0):
				last, all.floor = i, nodes[i].floor
			}
		}
		if len(nodes) > 1 {
			slices.SortFunc(all.terms, compare)
		}
		if good := all.good(); last < 0 || good >= k {
			return all.terms[:min(good, k)], nil
		}
		from := nodes[last]
		longer, err := x.scripts.children.Run(ctx, x.set.Client, x.keys[from.part].reading()[:1], []string{from.prefix, "256", "byte"}).AsStrSlice()
		if err != nil {
			return nil, err
		}
		wanted := make([]node, len(longer))
		for i, prefix := range longer {
			wanted[i] = node{part: from.part, prefix: prefix}
		}
		more, err := x.read(ctx, wanted)
		if err != nil {
			return nil, err
		}
		nodes = append(slices.Delete(nodes, last, last+1), more...)
	}
}
