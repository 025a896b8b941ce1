package text

import (
	"cmp"
	"slices"

	"retwis/index/text/internal/codec"
)

// postings holds the ids of one term in one partition, as far as a search has read them.
type postings struct {
	rare   codec.List
	tail   codec.Tail
	blocks []block // read segments, by descending base
	bases  []int64 // known bases of further segments, descending
	ahead  int     // segments to read at a time: more while none is skipped
	wanted []place // segments to read
}

// block is a segment that has been read. It covers all ids from base to limit.
type block struct {
	base, limit int64
	segment     codec.Segment // empty: no segment
}

// place identifies the segment for an id.
type place struct {
	id   int64
	base int64 // base of the segment, or -1 if unknown
}

// The number of segments of a term read in one round trip doubles each time. With a guide,
// which shows the segments that are needed, the number starts higher.
const (
	firstGuided = 8
	maxAhead    = 16
)

// bound returns the id up to which ids are in segments.
func (p *postings) bound() int64 {
	if p.tail.Sealed == 0 {
		return 0
	}
	return p.tail.Bound
}

// block returns the block that covers an id, or nil if it has not been read.
func (p *postings) block(id int64) *block {
	i, found := slices.BinarySearchFunc(p.blocks, id, func(b block, id int64) int { return cmp.Compare(id, b.base) })
	if !found && i == len(p.blocks) || p.blocks[i].limit < id {
		return nil
	}
	return &p.blocks[i]
}

// floor returns the smallest number from which all ids up to id have been read. The number is
// greater than id if the segment of id has not been read.
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

// upper returns the largest id <= limit. If a segment that may contain this id has not been
// read, it returns the largest id that could be in the segment. It returns 0 if there is no id.
func (p *postings) upper(limit int64) int64 {
	bound := p.bound()
	if limit > bound {
		if id := max(p.rare.Last(limit), p.tail.IDs.Last(limit)); id > bound {
			return id
		}
		limit = bound
	}
	for limit > 0 {
		b := p.block(limit)
		if b == nil {
			return limit
		}
		if id := b.segment.Last(limit); id >= b.base {
			return id
		}
		limit = b.base - 1
	}
	return 0
}

// has reports whether the ids read so far include id.
func (p *postings) has(id int64) bool { return p.floor(id) <= id && p.upper(id) == id }

// fill adds the ids from low to high that have been read to a window.
func (p *postings) fill(w codec.Window, low, high int64) {
	bound := p.bound()
	above := max(low, bound+1)
	p.rare.Fill(w, above, high)
	p.tail.IDs.Fill(w, above, high)
	for last := min(high, bound); last >= max(low, 1); {
		b := p.block(last)
		if b == nil {
			return
		}
		b.segment.Fill(w, max(low, b.base), last)
		last = b.base - 1
	}
}

// want records that the segment for an id must be read, and possibly the segments needed next:
// the following segments, or the segments in which the guide has ids. The guide is another term
// that the documents must have.
func (p *postings) want(id int64, guide *postings) {
	if p.floor(id) <= id {
		return
	}
	for len(p.bases) > 0 && p.bases[0] > id {
		if p.bases = p.bases[1:]; guide == nil {
			p.ahead = 0 // a segment was skipped, and more may follow
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

// size returns the approximate number of ids.
func (p *postings) size() int64 {
	return p.tail.Sealed + int64(p.tail.IDs.Len()+p.rare.Len())
}

// add adds a block, and drops blocks that the search has passed.
func (p *postings) add(b block, passed int64) {
	p.blocks = slices.DeleteFunc(p.blocks, func(old block) bool { return old.base > passed || old.base == b.base })
	i, _ := slices.BinarySearchFunc(p.blocks, b.base, func(b block, base int64) int { return cmp.Compare(base, b.base) })
	p.blocks = slices.Insert(p.blocks, i, b)
	for len(p.bases) > 0 && p.bases[0] >= b.base {
		p.bases = p.bases[1:]
	}
}
