package text

import (
	"context"
	"fmt"
	"slices"

	"retwis/index/text/internal/codec"
	"retwis/index/text/internal/words"
)

// node is an expression over terms of the index.
type node struct {
	op     operation // exact (a term), phrase, and, or
	term   int       // number of the term
	args   []*node
	nots   []*node      // excluded; only for and
	phrase []words.Atom // args are the terms that the phrase requires
}

// reader searches for documents and words.
type reader struct{ *store }

// plan is a query translated into terms of an index.
type plan struct {
	root    *node // nil: nothing matches
	terms   []string
	phrases bool
}

// plan translates the words of an expression into terms, and completes prefixes.
func (x reader) plan(ctx context.Context, e *Expr) (*plan, error) {
	p := &plan{}
	var err error
	if p.root, err = x.node(ctx, p, e); err != nil {
		return nil, err
	}
	switch {
	case p.root == nil:
		return nil, invalid("the query has no words")
	case len(p.terms) > maxTerms:
		return nil, invalid("the query has %d terms: at most %d are allowed", len(p.terms), maxTerms)
	}
	return p, nil
}

// leaf returns the node of a term.
func (p *plan) leaf(term string) *node {
	i := slices.Index(p.terms, term)
	if i < 0 {
		i = len(p.terms)
		p.terms = append(p.terms, term)
	}
	return &node{op: opExact, term: i}
}

// either returns a node that matches any of the terms.
func (p *plan) either(terms []string) *node {
	if len(terms) == 1 {
		return p.leaf(terms[0])
	}
	n := &node{op: opOr}
	for _, term := range terms {
		n.args = append(n.args, p.leaf(term))
	}
	return n
}

// node translates an expression. It returns nil for words that have no letters.
func (x reader) node(ctx context.Context, p *plan, e *Expr) (*node, error) {
	switch e.op {
	case opExact:
		return p.leaf(exactMark + e.text), nil
	case opWord, opPhrase:
		return x.sequence(p, e)
	case opPrefix:
		return x.prefix(ctx, p, e.text)
	}
	n := &node{op: e.op}
	for _, arg := range e.args {
		args := &n.args
		if arg.op == opNot {
			arg, args = arg.args[0], &n.nots
		}
		m, err := x.node(ctx, p, arg)
		if err != nil {
			return nil, err
		}
		if m != nil {
			*args = append(*args, m)
		}
	}
	switch {
	case len(n.args) == 0:
		return nil, nil
	case len(n.args) == 1 && len(n.nots) == 0:
		return n.args[0], nil
	}
	return n, nil
}

// sequence returns the node of a word or a phrase.
func (x reader) sequence(p *plan, e *Expr) (*node, error) {
	atoms := x.splitter.Atoms(e.text)
	wanted := x.splitter.Wanted(atoms)
	switch {
	case len(wanted) == 0:
		return nil, nil
	case len(wanted) == 1 && (len(atoms) == 1 || len(atoms) == 2 && atoms[1].Joined):
		return p.either(wanted[0]), nil
	case e.op == opPhrase && x.opt.Text == nil:
		return nil, fmt.Errorf("the phrase %q: %w", e.text, ErrNoTexts)
	}
	n := &node{op: opAnd}
	if x.opt.Text != nil {
		n.op, n.phrase, p.phrases = opPhrase, atoms, true
	}
	for _, terms := range wanted {
		n.args = append(n.args, p.either(terms))
	}
	return n, nil
}

// completions is the number of words with which a prefix is completed.
const completions = 8

// prefix returns a node for the words with a prefix. If the text has several words, only the
// last word is completed. Characters of a script without spaces match within words anyway.
func (x reader) prefix(ctx context.Context, p *plan, text string) (*node, error) {
	atoms := x.splitter.Atoms(text)
	if len(atoms) == 0 {
		return nil, nil
	}
	last := atoms[len(atoms)-1]
	if last.Joined {
		return x.sequence(p, Word(text))
	}
	best, err := x.complete(ctx, last.Text, completions)
	if err != nil {
		return nil, err
	}
	terms := []string{last.Text}
	for _, c := range best {
		if c.word != last.Text {
			terms = append(terms, c.word)
		}
	}
	n := &node{op: opAnd, args: []*node{p.either(terms)}}
	for _, terms := range x.splitter.Wanted(atoms[:len(atoms)-1]) {
		n.args = append(n.args, p.either(terms))
	}
	return n, nil
}

// maxLeaps limits how often upper compares the terms of an and one by one: a window compares 64
// ids at a time.
const maxLeaps = 4

// upper returns an upper bound of the matches <= limit.
func (n *node) upper(in []postings, limit int64) int64 {
	switch n.op {
	case opExact:
		return in[n.term].upper(limit)
	case opOr:
		upper := int64(0)
		for _, arg := range n.args {
			upper = max(upper, arg.upper(in, limit))
		}
		return upper
	}
	for range maxLeaps {
		before := limit
		for _, arg := range n.args {
			limit = arg.upper(in, limit)
		}
		if limit == before {
			break
		}
	}
	return limit
}

// floor returns the smallest number from which all matches up to id are known. The number is
// greater than id if something must be read first.
func (n *node) floor(in []postings, id int64) int64 {
	if n.op == opExact {
		return in[n.term].floor(id)
	}
	floor, empty := int64(0), id+1
	for _, arg := range n.args {
		floor = max(floor, arg.floor(in, id))
		empty = min(empty, arg.upper(in, id)+1)
	}
	if n.op == opOr {
		return floor
	}
	for _, not := range n.nots {
		floor = max(floor, not.floor(in, id))
	}
	return min(floor, empty) // where one argument has no ids, the others do not matter
}

// want records what must be read to know whether an id matches. guide is a term that all
// matches have, or nil.
func (n *node) want(in []postings, id int64, guide *postings) {
	if n.op == opExact {
		in[n.term].want(id, guide)
		return
	}
	if n.op != opOr {
		guide = n.guide(in, id, guide)
	}
	for _, arg := range slices.Concat(n.args, n.nots) {
		arg.want(in, id, guide)
	}
}

// guide returns the smallest term of an and whose ids before id have been read, or the given
// guide if it is smaller.
func (n *node) guide(in []postings, id int64, guide *postings) *postings {
	for _, arg := range n.args {
		if arg.op != opExact {
			continue
		}
		if p := &in[arg.term]; p.floor(id) <= id && (guide == nil || p.size() < guide.size()) {
			guide = p
		}
	}
	return guide
}

// matches returns a window of the ids from low to high that match. For phrases, the window is
// a superset or, if certain is set, a subset.
func (n *node) matches(in []postings, low, high int64, certain bool) codec.Window {
	w := codec.NewWindow(low, high)
	switch {
	case n.op == opExact:
		in[n.term].fill(w, low, high)
	case n.op == opPhrase && certain:
	case n.op == opOr:
		for _, arg := range n.args {
			w.Unite(arg.matches(in, low, high, certain))
		}
	default:
		w = n.args[0].matches(in, low, high, certain)
		for _, arg := range n.args[1:] {
			if w.Empty() {
				return w
			}
			w.Intersect(arg.matches(in, low, high, certain))
		}
		for _, not := range n.nots {
			w.Subtract(not.matches(in, low, high, !certain))
		}
	}
	return w
}

// termSet is a set of term numbers.
type termSet [maxTerms / 64]uint64

func (s *termSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *termSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// decide reports whether a document matches, given its terms and text.
func (n *node) decide(terms *termSet, text []words.Atom) bool {
	switch n.op {
	case opExact:
		return terms.has(n.term)
	case opPhrase:
		return words.Contain(text, n.phrase)
	case opOr:
		return slices.ContainsFunc(n.args, func(arg *node) bool { return arg.decide(terms, text) })
	}
	return !slices.ContainsFunc(n.args, func(arg *node) bool { return !arg.decide(terms, text) }) &&
		!slices.ContainsFunc(n.nots, func(not *node) bool { return not.decide(terms, text) })
}
