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

// Verify reads the whole index and reports damaged keys, lists and segments, and documents
// whose terms do not match their record. If a source is given, it also reports documents that
// differ from their objects and, with a Lookup, documents without an object. It works in steps
// of a few hundred entries, and checks documents again that may have changed meanwhile.
//
// Verify needs about 40 bytes of memory for each term of more than 8 documents, and 64 MB for
// records. It compares the records of 500,000 documents at a time, each time reading all
// postings of their partition. If there is no index, it returns index.ErrNotFound.
func (x *Index) Verify(ctx context.Context, src *index.Source[Document], opt maintain.Options) (maintain.Report, error) {
	return x.store.compare(ctx, src, opt, false)
}

// Repair reports what Verify reports, and sets the terms of each wrong document to the terms of
// its object, unless the document was written meanwhile. src needs a Lookup; without a source,
// documents do not change. Repair removes leftovers of a killed rebuild. It does not repair
// keys, lists and segments: it reports damaged ones and returns index.ErrCorrupt; use Rebuild.
func (x *Index) Repair(ctx context.Context, src *index.Source[Document], opt maintain.Options) (maintain.Report, error) {
	return x.store.compare(ctx, src, opt, true)
}

// checker is a Verify or Repair in progress.
type checker struct {
	*engine.Run
	x       *store
	src     index.Source[Document] // may be empty
	repair  bool
	damages int // problems that only Rebuild corrects
	parts   []partCheck
}

// partCheck is the state of a check in one partition.
type partCheck struct {
	state  generations
	ranges []int64 // ranges of ids with records
	termKeys
	segmented []string // terms with a directory or segments, without a tail
}

// termKeys lists where the terms of a partition are stored.
type termKeys struct {
	rares []int    // hashes of rare terms
	tails []string // terms with a tail
}

// compact sorts the lists and removes duplicates of the scan.
func (k *termKeys) compact() {
	slices.Sort(k.rares)
	k.rares = slices.Compact(k.rares)
	slices.Sort(k.tails)
	k.tails = slices.Compact(k.tails)
}

// errLookup is returned by a Repair whose source has no Lookup.
var errLookup = errors.New("Repair needs a source with Lookup, to compare each document again before changing it")

// compare runs Verify or, if repair is set, Repair.
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

// damage reports a problem that only Rebuild corrects.
func (c *checker) damage(kind maintain.Kind, id, found string) {
	c.damages++
	c.Found(maintain.Problem{Kind: kind, ID: id, Found: found})
}

// damaged returns an error if a rebuild has replaced the index meanwhile, so that the report is
// not about the current index, or if there are problems that Repair does not correct.
func (c *checker) damaged(ctx context.Context) error {
	if err := c.unmoved(ctx); err != nil || !c.repair || c.damages == 0 {
		return err
	}
	return fmt.Errorf("%w (problems of keys or terms: %d): use Rebuild", index.ErrCorrupt, c.damages)
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
	s.current, s.declared = cmp.Or(text(0), "0"), text(3) != ""
	if text(2) != "" {
		s.next = text(1)
	}
	if old := x.state[part].Load(); old.current != s.current {
		x.state[part].CompareAndSwap(old, &s)
	}
	return s, nil
}

// unmoved returns an error if a rebuild has replaced the index meanwhile.
func (c *checker) unmoved(ctx context.Context) error {
	for i := range c.parts {
		s, err := c.x.readState(ctx, i)
		if err != nil {
			return err
		}
		if s.current != c.parts[i].state.current {
			return maintain.ErrReplaced
		}
	}
	return nil
}

// names returns the keys of the checked generation of a partition.
func (c *checker) names(part int) names {
	return c.x.keys[part].forGeneration(c.parts[part].state.current, false)
}

// layout reads which keys exist, and finds the keys of unused generations.
func (c *checker) layout(ctx context.Context) (err error) {
	c.parts = make([]partCheck, len(c.x.keys))
	seen := make([]map[int64]int, len(c.parts)) // number of keys of each other generation
	for i := range c.parts {
		seen[i] = map[int64]int{}
		if c.parts[i].state, err = c.x.readState(ctx, i); err != nil {
			return err
		}
	}
	err = c.x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			p := &c.parts[k.part]
			if k.generation == p.state.current {
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

// leftovers finds keys of abandoned generations.
func (c *checker) leftovers(ctx context.Context, seen []map[int64]int) error {
	// Read after the keys: a generation that is neither current nor being built now is unused.
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
			if text := strconv.FormatInt(number, 10); text == s.next || text == s.current {
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

// note records a key of the current generation.
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
		c.damage(maintain.Dangling, k.key, "not a key of the index")
	}
}
