package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"retwis/index"
	engine "retwis/internal/maintain"
	"retwis/internal/redis/partition"
	"retwis/maintain"
)

// Verify reads the whole index and reports keys, lists and segments that are damaged,
// documents whose terms are not those of their record, and, if a source is given, documents
// that differ from their objects, and with its Lookup those without an object. It works in
// steps of a few hundred entries; what is changed meanwhile is compared again.
//
// It needs about 40 bytes of memory for each term of more than 8 documents, and 64 MB for
// the records of 500,000 documents, which it compares at a time: each time it reads all
// postings of their partition. Without an index it returns index.ErrNotFound.
func (x *Index) Verify(ctx context.Context, src *index.Source[Document], opt maintain.Options) (maintain.Report, error) {
	return x.store.compare(ctx, src, opt, false)
}

// Repair finds what Verify finds, and gives each document that is wrong the terms of its
// object, unless it was written meanwhile. A source needs its Lookup; without a source,
// documents stay as they are. It removes what a killed rebuild has left. It repairs no
// keys, lists and segments: if any of them is damaged, it reports them and returns
// index.ErrCorrupt, and Rebuild makes the index anew.
func (x *Index) Repair(ctx context.Context, src *index.Source[Document], opt maintain.Options) (maintain.Report, error) {
	return x.store.compare(ctx, src, opt, true)
}

// checker is a Verify or Repair under way.
type checker struct {
	*engine.Run
	x       *store
	src     index.Source[Document] // may be empty
	repair  bool
	damages int // that Rebuild corrects
	parts   []partCheck
}

// partCheck is what a checker knows of a partition.
type partCheck struct {
	state  generations
	ranges []int64 // of records
	termKeys
	segmented []string // terms with a directory or segments, without a tail
}

// termKeys are where the terms of a partition are.
type termKeys struct {
	rares []int    // hashes of rare terms
	tails []string // terms with a tail
}

// compact sorts them and removes the duplicates of a scan.
func (k *termKeys) compact() {
	slices.Sort(k.rares)
	k.rares = slices.Compact(k.rares)
	slices.Sort(k.tails)
	k.tails = slices.Compact(k.tails)
}

var errLookup = errors.New("Repair needs a source with Lookup, to compare again before it changes a document")

func (x *store) compare(ctx context.Context, src *index.Source[Document], opt maintain.Options, repair bool) (maintain.Report, error) {
	c := &checker{Run: engine.Start(opt), x: x, repair: repair}
	if src != nil {
		c.src = *src
	}
	if repair && src != nil && src.Lookup == nil {
		return c.Report, x.fail(ctx, errLookup)
	}
	_, err := partition.Read(ctx, x.set.Client, x.set.Key)
	if err == nil {
		err = x.set.Check(ctx)
	}
	if err == nil {
		err = c.run(ctx)
	}
	return c.Report, x.fail(ctx, err)
}

func (c *checker) run(ctx context.Context) error {
	if err := c.x.tracker().Leftovers(ctx, c.Run, c.repair); err != nil {
		return err
	}
	if err := c.layout(ctx); err != nil {
		return err
	}
	for i := range c.parts {
		if err := c.structure(ctx, i); err != nil {
			return err
		}
	}
	if err := c.damaged(ctx); err != nil {
		return err
	}
	documents := &documentCheck{run: c}
	for i := range c.parts {
		if err := documents.records(ctx, i); err != nil {
			return err
		}
	}
	if err := documents.objects(ctx); err != nil {
		return err
	}
	if err := documents.flush(ctx); err != nil {
		return err
	}
	return c.damaged(ctx)
}

// damage reports what Rebuild corrects.
func (c *checker) damage(kind maintain.Kind, id, found string) {
	c.damages++
	c.Found(maintain.Problem{Kind: kind, ID: id, Found: found})
}

// damaged returns an error if a rebuild has replaced the index meanwhile, so that the report is
// not about the present one, or if there is something that Repair does not correct.
func (c *checker) damaged(ctx context.Context) error {
	if err := c.unmoved(ctx); err != nil || !c.repair || c.damages == 0 {
		return err
	}
	return fmt.Errorf("%w (problems of keys or terms: %d): make it anew with Rebuild", index.ErrCorrupt, c.damages)
}

// readState reads the state of a partition.
func (x *store) readState(ctx context.Context, part int) (s generations, err error) {
	b := x.set.Client.B()
	fields, err := x.set.Client.Do(ctx, b.Hmget().Key(x.keys[part].Meta).Field("generation", "next", "rebuild", "kind").Build()).ToArray()
	if err != nil {
		return s, err
	}
	text := func(i int) string {
		s, _ := fields[i].ToString() // nil: empty
		return s
	}
	s.now, s.declared = cmp.Or(text(0), "0"), text(3) != ""
	if text(2) != "" {
		s.next = text(1)
	}
	if old := x.state[part].Load(); old.now != s.now {
		x.state[part].CompareAndSwap(old, &s)
	}
	return s, nil
}

// unmoved fails if a rebuild has replaced the index meanwhile.
func (c *checker) unmoved(ctx context.Context) error {
	for i := range c.parts {
		s, err := c.x.readState(ctx, i)
		if err != nil {
			return err
		}
		if s.now != c.parts[i].state.now {
			return maintain.ErrReplaced
		}
	}
	return nil
}

func (c *checker) names(part int) names {
	return c.x.keys[part].of(c.parts[part].state.now, false)
}

// layout reads which keys there are, and looks for those of generations that are not used.
func (c *checker) layout(ctx context.Context) (err error) {
	c.parts = make([]partCheck, len(c.x.keys))
	seen := make([]map[int64]int, len(c.parts)) // how many keys each other generation has
	for i := range c.parts {
		seen[i] = map[int64]int{}
		if c.parts[i].state, err = c.x.readState(ctx, i); err != nil {
			return err
		}
	}
	err = c.x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			p := &c.parts[k.part]
			if k.generation == p.state.now {
				c.note(p, k)
				continue
			}
			seen[k.part][k.number]++
		}
		return c.Uncounted(ctx, len(page))
	})
	if err != nil {
		return err
	}
	for i := range c.parts {
		p := &c.parts[i]
		if !p.state.declared && len(p.ranges)+len(p.rares)+len(p.tails)+len(seen[i]) > 0 {
			c.damage(maintain.Missing, c.x.keys[i].Meta, "a partition without its declaration")
		}
		slices.Sort(p.ranges)
		p.ranges = slices.Compact(p.ranges)
		p.compact()
		slices.Sort(p.segmented)
		p.segmented = difference(slices.Compact(p.segmented), p.tails)
	}
	return c.leftovers(ctx, seen)
}

// leftovers looks for keys of generations that no rebuild makes any more.
func (c *checker) leftovers(ctx context.Context, seen []map[int64]int) error {
	// Read after the keys: a generation that is neither present nor made now is not used.
	if err := c.unmoved(ctx); err != nil {
		return err
	}
	n := 0
	highest := map[int]int64{}
	for i, generations := range seen {
		s, err := c.x.readState(ctx, i)
		if err != nil {
			return err
		}
		for number, keys := range generations {
			highest[i] = max(highest[i], number)
			if text := strconv.FormatInt(number, 10); text == s.next || text == s.now {
				delete(generations, number)
			} else {
				n += keys
			}
		}
	}
	if n == 0 {
		return nil
	}
	c.Found(maintain.Problem{Kind: maintain.Dangling, Found: fmt.Sprintf("left by a rebuild: %d keys", n)})
	if !c.repair {
		return nil
	}
	if err := c.x.raise(ctx, highest); err != nil {
		return err
	}
	c.Report.Repaired++
	_, err := c.x.drop(ctx, func(k storedKey) bool { return seen[k.part][k.number] > 0 }, nil)
	return err
}

// note notes a key of the present generation.
func (c *checker) note(p *partCheck, k storedKey) {
	n, err := strconv.ParseInt(k.name, 10, 64)
	number := err == nil && strconv.FormatInt(n, 10) == k.name && n >= 0
	switch {
	case k.kind == "tail":
		p.tails = append(p.tails, k.name)
	case k.kind == "dir" || k.kind == "seg":
		p.segmented = append(p.segmented, k.name)
	case k.kind == "ids" && number:
		p.ranges = append(p.ranges, n)
	case k.kind == "rare" && number && n < int64(c.names(k.part).rares):
		p.rares = append(p.rares, int(n))
	default:
		c.damage(maintain.Dangling, k.key, "the index has no such key")
	}
}
