package text

import (
	"cmp"
	"slices"

	"retwis/index/text/internal/codec"
)

// postings are the ids of one term in one partition, as far as a search has read them.
type postings struct {
	rare   codec.List
	tail   codec.Tail
	blocks []block // that are read, by descending base
	bases  []int64 // where further segments begin, descending, as far as they are known
	ahead  int     // segments to read at a time: more while none is passed
	wanted []place // segments to read
}

// block is a segment that is read. It has all ids from base to limit.
type block struct {
	base, limit int64
	segment     codec.Segment // empty: there is none
}

// place is that of an id in a segment.
type place struct {
	id   int64
	base int64 // where the segment begins, or -1 if that is not known
}

// How many segments of a term are read in one round trip: twice as many each time, and more
// from the beginning with a guide, which names those that are needed.
const (
	firstGuided = 8
	maxAhead    = 16
)

// bound returns up to which id the ids are in segments.
func (p *postings) bound() int64 {
	if p.tail.Sealed == 0 {
		return 0
	}
	return p.tail.Bound
}

// block returns the block that has the place of an id, or nil if it is not read.
func (p *postings) block(id int64) *block {
	i, found := slices.BinarySearchFunc(p.blocks, id, func(b block, id int64) int { return cmp.Compare(id, b.base) })
	if !found && i == len(p.blocks) || p.blocks[i].limit < id {
		return nil
	}
	return &p.blocks[i]
}

// floor returns the smallest number from which on all ids up to an id are read. It is
// larger than that id if its segment is not read.
func (p *postings) floor(id int64) int64 {
	floor := id + 1
	if bound := p.bound(); floor > bound {
		floor = bound + 1
	}
	for floor > 1 {
		b := p.block(floor - 1)
		if b == nil {
			return floor
		}
		floor = b.base
	}
	return 0
}

// upper returns the largest id up to a number, or, where a segment is not read before that,
// the largest that it could have. It returns 0 if there is none.
func (p *postings) upper(most int64) int64 {
	bound := p.bound()
	if most > bound {
		if id := max(p.rare.Last(most), p.tail.IDs.Last(most)); id > bound {
			return id
		}
		most = bound
	}
	for most > 0 {
		b := p.block(most)
		if b == nil {
			return most
		}
		if id := b.segment.Last(most); id >= b.base {
			return id
		}
		most = b.base - 1
	}
	return 0
}

// has reports whether an id that is read is among them.
func (p *postings) has(id int64) bool { return p.floor(id) <= id && p.upper(id) == id }

// fill adds the ids from low to high that are read to a window.
func (p *postings) fill(w codec.Window, low, high int64) {
	bound := p.bound()
	above := max(low, bound+1)
	p.rare.Fill(w, above, high)
	p.tail.IDs.Fill(w, above, high)
	for at := min(high, bound); at >= max(low, 1); {
		b := p.block(at)
		if b == nil {
			return
		}
		b.segment.Fill(w, max(low, b.base), at)
		at = b.base - 1
	}
}

// want notes that the segment with the place of an id must be read, and perhaps those that
// are needed next: the following ones, or those in which a guide, another term that the
// documents must have, has ids.
func (p *postings) want(id int64, guide *postings) {
	if p.floor(id) <= id {
		return
	}
	for len(p.bases) > 0 && p.bases[0] > id {
		if p.bases = p.bases[1:]; guide == nil {
			p.ahead = 0 // it has passed a segment: it may pass more
		}
	}
	p.ahead = min(max(2*p.ahead, 1), maxAhead)
	if guide != nil {
		p.ahead = max(p.ahead, firstGuided)
	}
	p.wanted = p.wanted[:0]
	for _, base := range p.bases {
		if base > id {
			continue // the guide has no id in that segment
		}
		p.wanted = append(p.wanted, place{id, base})
		if id = base - 1; guide != nil && guide.floor(id) <= id {
			id = guide.upper(id)
		}
		if len(p.wanted) == p.ahead || id <= 0 {
			return
		}
	}
	if len(p.wanted) == 0 {
		p.wanted = append(p.wanted, place{id, -1})
	}
}

// size returns about how many ids there are.
func (p *postings) size() int64 {
	return p.tail.Sealed + int64(p.tail.IDs.Len()+p.rare.Len())
}

// add adds a block that is read, and drops those that the search has passed.
func (p *postings) add(b block, passed int64) {
	p.blocks = slices.DeleteFunc(p.blocks, func(old block) bool { return old.base > passed || old.base == b.base })
	i, _ := slices.BinarySearchFunc(p.blocks, b.base, func(b block, base int64) int { return cmp.Compare(base, b.base) })
	p.blocks = slices.Insert(p.blocks, i, b)
	for len(p.bases) > 0 && p.bases[0] >= b.base {
		p.bases = p.bases[1:]
	}
}
