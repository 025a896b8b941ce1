package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"retwis/index/text/internal/codec"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
)

// Put adds a document. Put is one script and can be repeated. If the index has the document with
// a different text, it returns ErrConflict: use Replace. For a removed document it returns
// ErrRemoved.
func (x *Index) Put(ctx context.Context, id int64, d Document) error {
	return x.write(ctx, id, nil, &d)
}

// Replace changes a document from before to after. Replace is one script and can be repeated.
// If the index has a text different from before, or none, it returns ErrConflict and changes
// nothing, so a writer with a stale text leaves no word behind.
func (x *Index) Replace(ctx context.Context, id int64, before, after Document) error {
	return x.write(ctx, id, &before, &after)
}

// Remove removes a document, and marks its id so that a late Put does not restore it. Remove
// is one script and can be repeated. If the index has a text different from before, it returns
// ErrConflict.
func (x *Index) Remove(ctx context.Context, id int64, before Document) error {
	return x.write(ctx, id, &before, nil)
}

// write changes a document from before to after, which are nil for a missing document.
func (x *Index) write(ctx context.Context, id int64, before, after *Document) error {
	w := writer{store: x.store}
	c, err := w.change(id, before, after)
	if err == nil {
		err = cmp.Or(w.apply(ctx, []*change{c}), c.err)
	}
	return x.store.fail(ctx, err)
}

const (
	batchDocuments = 64        // documents per pipeline
	batchBytes     = 256 << 10 // bytes of terms per pipeline
)

// PutMany adds documents, 64 per pipeline, and returns the number of new ones. It skips removed
// documents. After an error such as ErrConflict, the preceding documents are in the index.
// Ascending ids are fastest.
func (x *Index) PutMany(ctx context.Context, documents iter.Seq2[int64, Document]) (n int, err error) {
	n, err = writer{store: x.store}.putMany(ctx, documents, "")
	return n, x.store.fail(ctx, err)
}

// putMany is PutMany, or fills the generation that a rebuild builds. In a rebuild it ignores
// conflicts, since concurrent writes win.
func (x writer) putMany(ctx context.Context, documents iter.Seq2[int64, Document], run string) (n int, err error) {
	var batch []*change
	size := 0
	flush := func() error {
		slices.SortStableFunc(batch, func(a, b *change) int { return cmp.Compare(a.id, b.id) })
		err := x.apply(ctx, batch)
		for _, c := range batch {
			if c.done && c.err == nil {
				n++
			}
			if c.err != nil && !errors.Is(c.err, ErrRemoved) && run == "" {
				err = cmp.Or(err, fmt.Errorf("document %d: %w", c.id, c.err))
			}
		}
		batch, size = batch[:0], 0
		return err
	}
	for id, d := range documents {
		c, err := x.change(id, nil, &d)
		if err != nil {
			return n, cmp.Or(flush(), fmt.Errorf("document %d: %w", id, err))
		}
		c.run = run
		for _, term := range c.terms {
			size += len(term) + 100
		}
		if batch = append(batch, c); len(batch) == batchDocuments || size >= batchBytes {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	return n, flush()
}

// writer changes documents.
type writer struct {
	*store
	generations []generations // per partition, in a rebuild
}

// change is a write of one document.
type change struct {
	id               int64
	part             int
	expected, record string
	terms            []string // new terms, then unchanged terms, then removed terms
	added, all       int
	run              string // name of a rebuild
	repair           bool
	wide             bool // with the keys of segments
	done             bool // the script has changed something
	err              error
	seen             generations
}

// change returns the write that changes a document from before to after. Either may be nil.
func (x writer) change(id int64, before, after *Document) (c *change, err error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	c = &change{id: id, part: x.set.Index(strconv.FormatInt(id, 10)), record: removed}
	var oldTerms, newTerms []string
	if before != nil {
		if oldTerms, err = x.terms(*before); err != nil {
			return nil, err
		}
		c.expected = digestOf(oldTerms)
	}
	if after != nil {
		if newTerms, err = x.terms(*after); err != nil {
			return nil, err
		}
		c.record = digestOf(newTerms)
	}
	c.setTerms(oldTerms, newTerms)
	return c, nil
}

// setTerms sets the terms in the order that change.lua expects.
func (c *change) setTerms(oldTerms, newTerms []string) {
	c.terms = difference(newTerms, oldTerms)
	c.added = len(c.terms)
	c.terms = append(append(c.terms, difference(newTerms, c.terms)...), difference(oldTerms, newTerms)...)
	c.all = len(newTerms)
}

// call returns the script call of a change for the generations last seen in the partition, or
// for the generations of the rebuild. Unchanged terms only matter during a rebuild.
func (x writer) call(c *change) script.Call {
	k := x.keys[c.part]
	if c.seen = *x.state[c.part].Load(); c.run != "" {
		c.seen = x.generations[c.part] // a late reply may have changed the state
	}
	terms, all := c.terms, c.all
	if c.seen.next == "" && c.run == "" {
		terms, all = slices.Concat(c.terms[:c.added], c.terms[c.all:]), c.added
	}
	targets := []names{k.forGeneration(c.seen.current, false), k.forGeneration(c.seen.next, true)}
	switch {
	case c.run != "":
		targets = targets[1:]
	case c.seen.next == "":
		targets = targets[:1]
	}
	stride, repair := "2", ""
	if c.wide {
		stride = "4"
	}
	if c.repair {
		repair = "1"
	}
	keys := k.All()
	var field string
	for _, t := range targets {
		var ids string
		ids, field = t.ids(c.id)
		keys = append(keys, ids)
		for _, term := range terms {
			keys = append(keys, t.ofTerm(term, c.wide)...)
		}
	}
	args := append(x.set.Args(), c.seen.current, c.seen.next, c.run, repair,
		strconv.FormatInt(c.id, 10), codec.Bytes(c.id), field, c.expected, c.record, stride,
		strconv.Itoa(x.sizes.rare), strconv.Itoa(x.sizes.tail), strconv.Itoa(x.sizes.segment), strconv.Itoa(x.sizes.listed),
		strconv.Itoa(c.added), strconv.Itoa(all))
	return script.Call{Keys: keys, Args: append(args, terms...)}
}

// apply runs changes and seals tails that have become too long.
func (x writer) apply(ctx context.Context, changes []*change) error {
	if len(x.keys) > 1 {
		if err := x.set.Declare(ctx); err != nil {
			return err
		}
	}
	longTails := map[termKey]bool{}
	for pending := changes; len(pending) > 0; {
		calls := make([]script.Call, len(pending))
		for i, c := range pending {
			calls[i] = x.call(c)
		}
		var retries []*change
		for i, r := range x.scripts.change.RunMany(ctx, x.set.Client, calls) {
			retry, err := x.decode(pending[i], r, longTails)
			if err != nil {
				return err
			}
			if retry {
				retries = append(retries, pending[i])
			}
		}
		pending = retries
	}
	for t := range longTails {
		if err := x.seal(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes the reply of change.lua. retry reports whether the change must be sent again.
func (x writer) decode(c *change, r rueidis.RedisResult, longTails map[termKey]bool) (retry bool, err error) {
	reply, err := r.ToArray()
	if err != nil {
		return false, err
	}
	status, err := reply[0].ToString()
	if err != nil {
		return false, err
	}
	switch status {
	case "moved":
		current, _ := reply[1].ToString()
		next, _ := reply[2].ToString()
		x.state[c.part].Store(&generations{current: current, next: next})
		return true, nil
	case "old":
		retry, c.wide = !c.wide, true
		return retry, nil
	case "conflict":
		c.err = ErrConflict
	case "removed":
		c.err = ErrRemoved
	case "ok":
		c.done = true
	}
	for _, message := range reply[1:] {
		n, err := message.AsInt64()
		if err != nil {
			return false, err
		}
		t := c.term(int(n - 1))
		longTails[t] = true
	}
	return false, nil
}

// term returns the term for a number in the reply of change.lua.
func (c *change) term(n int) termKey {
	terms := c.terms
	if c.seen.next == "" && c.run == "" {
		terms = slices.Concat(c.terms[:c.added], c.terms[c.all:])
	}
	t := termKey{part: c.part, generation: c.seen.current, term: terms[n%len(terms)]}
	if c.run != "" || n >= len(terms) {
		t.generation, t.next = c.seen.next, true
	}
	return t
}

// termKey names a term in a generation of a partition.
type termKey struct {
	part       int
	generation string
	next       bool // a rebuild is building the generation
	term       string
}

// names returns the keys of the generation of a term.
func (x *store) names(t termKey) names { return x.keys[t.part].forGeneration(t.generation, t.next) }
