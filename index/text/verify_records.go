package text

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text/internal/codec"
	"retwis/maintain"
)

const (
	// comparedRecords is the number of records compared with all postings of a partition at a
	// time.
	comparedRecords = 500_000
	// maxSuspects is the number of documents checked again at a time.
	maxSuspects = 10_000
	pageObjects = 200
)

// documentCheck compares records with postings and objects.
type documentCheck struct {
	run      *checker
	suspects map[int64]*maintain.Problem // documents to check again; nil value: not reported yet
}

// records compares the records of a partition with its postings.
func (c *documentCheck) records(ctx context.Context, part int) error {
	first := true
	for ranges := range slices.Chunk(c.run.parts[part].ranges, comparedRecords/idRange) {
		if err := c.compareRecords(ctx, part, ranges, first); err != nil {
			return err
		}
		first = false
	}
	if first {
		return c.compareRecords(ctx, part, nil, true)
	}
	return nil
}

// compareRecords compares the records of ranges of ids: the hashes of the terms of an id must
// add up to its record. With strays, it also finds ids in ranges without records, and ids of
// other partitions.
func (c *documentCheck) compareRecords(ctx context.Context, part int, ranges []int64, strays bool) error {
	sums := map[int64]*digest{}
	for _, r := range ranges {
		if err := c.readRange(ctx, part, r, sums); err != nil {
			return err
		}
	}
	size := int64(idRange * len(c.run.x.keys))
	err := c.run.postings(ctx, part, c.run.parts[part].termKeys, func(term string, ids []int64) error {
		var hash digest
		hash.add(term)
		for _, id := range ids {
			sum := sums[id]
			switch {
			case !c.run.x.isHome(part, id):
				if strays {
					c.run.damage(maintain.Dangling, term, "a document of another partition")
				}
				continue
			case sum != nil:
			case contains(ranges, id/size):
				sum = &digest{}
				sums[id] = sum
			default:
				if strays && !contains(c.run.parts[part].ranges, id/size) {
					if err := c.suspect(ctx, id, maintain.Problem{}); err != nil {
						return err
					}
				}
				continue
			}
			sum[0], sum[1] = sum[0]-hash[0], sum[1]-hash[1]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, sum := range sums {
		if *sum != (digest{}) {
			if err := c.suspect(ctx, id, maintain.Problem{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// contains reports whether a sorted list contains a number.
func contains(list []int64, n int64) bool {
	_, found := slices.BinarySearch(list, n)
	return found
}

// readRange reads the records of a range of ids, and finds documents without an object.
func (c *documentCheck) readRange(ctx context.Context, part int, r int64, sums map[int64]*digest) error {
	n := c.run.names(part)
	key, client := n.prefix+"ids:"+strconv.FormatInt(r, 10), c.run.x.set.Client
	records, err := client.Do(ctx, client.B().Hgetall().Key(key).Build()).AsStrMap()
	if isType(err) {
		return nil // reported elsewhere
	}
	if err != nil {
		return err
	}
	var ids []string
	for field, record := range records {
		id, valid := c.run.x.idAt(part, key, field)
		text := strconv.FormatInt(id, 10)
		if !valid {
			c.run.damage(maintain.Dangling, key, fmt.Sprintf("the field %q, which belongs to no document", field))
			continue
		}
		sums[id] = &digest{}
		switch {
		case len(record) == digestSize:
			*sums[id] = digest{codec.Number(record), codec.Number(record[8:])}
			ids = append(ids, text)
		case record != removed:
			if err := c.suspect(ctx, id, maintain.Problem{Kind: maintain.Dangling, ID: text, Found: "a damaged record"}); err != nil {
				return err
			}
		}
	}
	if err := c.withoutObject(ctx, ids); err != nil {
		return err
	}
	return c.run.Step(ctx, len(records))
}

// idAt returns the id of the document whose record belongs in a field of a hash.
func (x *store) idAt(part int, key, field string) (id int64, valid bool) {
	k, ok := x.parseKey(key)
	r, err := strconv.ParseInt(k.name, 10, 64)
	i, err2 := strconv.ParseInt(field, 10, 64)
	if !ok || err != nil || err2 != nil {
		return 0, false
	}
	id = r*int64(idRange*len(x.keys)) + i
	home, homeField := x.keys[part].forGeneration(k.generation, false).ids(id)
	return id, checkID(id) == nil && x.isHome(part, id) && home == key && homeField == field
}

// withoutObject finds documents without an object.
func (c *documentCheck) withoutObject(ctx context.Context, ids []string) error {
	if c.run.src.Lookup == nil {
		return nil
	}
	for chunk := range slices.Chunk(ids, pageObjects) {
		objects, err := c.run.src.Lookup(ctx, chunk)
		if err != nil {
			return err
		}
		known := make(map[string]bool, len(objects))
		for _, o := range objects {
			known[o.ID] = true
		}
		for _, text := range chunk {
			id, _ := strconv.ParseInt(text, 10, 64)
			if !known[text] {
				if err := c.suspect(ctx, id, maintain.Problem{Kind: maintain.Dangling, ID: text, Found: "a document without an object"}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isHome reports whether a document belongs in a partition.
func (x *store) isHome(part int, id int64) bool {
	return len(x.keys) == 1 || x.set.Index(strconv.FormatInt(id, 10)) == part
}

// objects compares the objects of the source with the records.
func (c *documentCheck) objects(ctx context.Context) error {
	if c.run.src.All == nil {
		return nil
	}
	var batch []index.Object[Document]
	flush := func() error {
		err := c.compareObjects(ctx, batch)
		n := len(batch)
		if batch = batch[:0]; err != nil {
			return err
		}
		return c.run.Step(ctx, n)
	}
	for o, err := range c.run.src.All(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, o); len(batch) == pageObjects {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// wanted returns the id and the terms of an object, or an error if the index cannot hold the
// object.
func (x *store) wanted(o index.Object[Document]) (id int64, terms []string, err error) {
	if o.Err != nil {
		return 0, nil, o.Err
	}
	if id, err = parseID(o.ID); err == nil {
		terms, err = x.terms(o.Value)
	}
	return id, terms, err
}

// compareObjects compares objects with the records.
func (c *documentCheck) compareObjects(ctx context.Context, objects []index.Object[Document]) error {
	var ids []int64
	var wants []string
	for _, o := range objects {
		id, terms, err := c.run.x.wanted(o)
		if err != nil {
			c.run.Found(maintain.Problem{Kind: maintain.Invalid, ID: o.ID, Found: err.Error()})
			continue
		}
		ids, wants = append(ids, id), append(wants, digestOf(terms))
	}
	found, err := c.recordsOf(ctx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		p := maintain.Problem{Kind: maintain.Stale, ID: strconv.FormatInt(id, 10), Found: "another text than that of the object"}
		switch found[i] {
		case wants[i]:
			continue
		case "":
			p.Kind, p.Found, p.Want = maintain.Missing, "", "the document of the object"
		case removed:
			p.Kind, p.Found, p.Want = maintain.Missing, "removed", "the document of the object"
		}
		if err := c.suspect(ctx, id, p); err != nil {
			return err
		}
	}
	return nil
}

// recordsOf returns the record of each document, or "" if there is none.
func (c *documentCheck) recordsOf(ctx context.Context, ids []int64) ([]string, error) {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		key, field := c.run.namesOf(id).ids(id)
		commands[i] = c.run.x.set.Client.B().Hget().Key(key).Field(field).Build()
	}
	records := make([]string, len(ids))
	for i, r := range c.run.x.set.Client.DoMulti(ctx, commands...) {
		var err error
		if records[i], err = r.ToString(); err != nil && !rueidis.IsRedisNil(err) && !isType(err) {
			return nil, err
		}
	}
	return records, nil
}

// suspect records a document to check again, and reports a problem if p has a kind.
func (c *documentCheck) suspect(ctx context.Context, id int64, p maintain.Problem) error {
	if c.suspects == nil {
		c.suspects = map[int64]*maintain.Problem{}
	}
	if p.Kind != "" && c.suspects[id] == nil {
		c.run.Found(p)
		c.suspects[id] = &p
	} else if _, found := c.suspects[id]; !found {
		c.suspects[id] = nil
	}
	if len(c.suspects) < maxSuspects {
		return nil
	}
	return c.flush(ctx)
}

// flush checks the suspects again by reading the terms that contain them.
func (c *documentCheck) flush(ctx context.Context) error {
	suspects := c.suspects
	c.suspects = nil
	if len(suspects) == 0 {
		return nil
	}
	found, err := c.termsOf(ctx, suspects)
	if err != nil {
		return err
	}
	ids := make([]int64, 0, len(suspects))
	for id := range suspects {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, pageObjects) {
		if err := c.resolve(ctx, chunk, suspects, found); err != nil {
			return err
		}
	}
	return nil
}

// termsOf reads all postings and returns the terms of the suspects.
func (c *documentCheck) termsOf(ctx context.Context, suspects map[int64]*maintain.Problem) (map[int64][]string, error) {
	parts := make([]termKeys, len(c.run.x.keys))
	err := c.run.x.storedKeys(ctx, func(page []storedKey) error {
		for _, k := range page {
			if k.generation != c.run.x.state[k.part].Load().current {
				continue
			}
			p := &parts[k.part]
			switch k.kind {
			case "tail":
				p.tails = append(p.tails, k.name)
			case "rare":
				if n, err := strconv.Atoi(k.name); err == nil {
					p.rares = append(p.rares, n)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := map[int64][]string{}
	for part := range c.run.x.keys {
		parts[part].compact()
		err := c.run.postings(ctx, part, parts[part], func(term string, ids []int64) error {
			for _, id := range ids {
				if _, ok := suspects[id]; ok && c.run.x.isHome(part, id) {
					found[id] = append(found[id], term)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for id, terms := range found {
		slices.Sort(terms)
		found[id] = slices.Compact(terms)
	}
	return found, nil
}

// resolve reports the suspects that are wrong and, in a Repair, corrects them.
func (c *documentCheck) resolve(ctx context.Context, ids []int64, suspects map[int64]*maintain.Problem, found map[int64][]string) error {
	records, err := c.recordsOf(ctx, ids)
	if err != nil {
		return err
	}
	var mismatched []*change
	for i, id := range ids {
		terms := found[id]
		matches := len(terms) == 0
		if len(records[i]) == digestSize {
			matches = digestOf(terms) == records[i]
		}
		if suspects[id] == nil {
			if matches {
				continue // written concurrently
			}
			p := maintain.Problem{Kind: maintain.Stale, ID: strconv.FormatInt(id, 10), Found: fmt.Sprintf("in the lists of %d terms", len(terms)), Want: "the terms of its record"}
			if len(records[i]) != digestSize {
				p.Kind, p.Want = maintain.Dangling, ""
			}
			c.run.Found(p)
		}
		mismatched = append(mismatched, &change{id: id, part: c.run.x.set.Index(strconv.FormatInt(id, 10)), expected: records[i], terms: terms, repair: true})
	}
	if !c.run.repair || len(mismatched) == 0 {
		return nil
	}
	return c.correct(ctx, mismatched)
}

// correct sets documents to the terms of their objects, unless they are written concurrently.
func (c *documentCheck) correct(ctx context.Context, mismatched []*change) error {
	objects := map[int64][]string{}
	invalid := map[int64]bool{}
	if c.run.src.Lookup != nil {
		texts := make([]string, len(mismatched))
		for i, w := range mismatched {
			texts[i] = strconv.FormatInt(w.id, 10)
		}
		found, err := c.run.src.Lookup(ctx, texts)
		if err != nil {
			return err
		}
		for _, o := range found {
			id, terms, err := c.run.x.wanted(o)
			if err != nil {
				id, _ = parseID(o.ID)
				invalid[id] = true
				continue
			}
			objects[id] = append([]string{}, terms...)
		}
	}
	changes := mismatched[:0]
	for _, w := range mismatched {
		want, exists := objects[w.id]
		switch {
		case invalid[w.id], c.run.src.Lookup == nil && w.expected != removed:
			continue // not changed
		case exists:
			w.record = digestOf(want)
		default:
			w.record = removed
		}
		old := w.terms
		w.terms = append(slices.Clone(want), difference(old, want)...)
		w.added, w.all = len(want), len(want)
		changes = append(changes, w)
	}
	w := writer{store: c.run.x}
	if err := w.apply(ctx, changes); err != nil {
		return err
	}
	for _, w := range changes {
		if w.err == nil {
			c.run.Report.Repaired++
		}
	}
	return nil
}
