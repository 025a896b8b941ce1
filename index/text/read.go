package text

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text/internal/codec"
)

// pipeline is a list of commands for one round trip, each with a handler for its reply.
type pipeline struct {
	commands rueidis.Commands
	replies  []func(rueidis.RedisResult) error
}

// add adds a command with the handler of its reply.
func (p *pipeline) add(command rueidis.Completed, reply func(rueidis.RedisResult) error) {
	p.commands, p.replies = append(p.commands, command), append(p.replies, reply)
}

// send runs a pipeline. It returns errMoved if a rebuild has replaced a partition.
func (s *search) send(ctx context.Context, p *pipeline) error {
	s.work.trips++
	for i := range s.parts {
		p.add(s.x.generation(i), func(r rueidis.RedisResult) error { return s.x.sameGeneration(i, s.parts[i].names.generation, r) })
	}
	var firstErr error
	for i, r := range s.x.sender.DoMulti(ctx, p.commands...) {
		if err := p.replies[i](r); err != nil && (firstErr == nil || err == errMoved) {
			firstErr = err
		}
	}
	return firstErr
}

// generation returns the command that reads the generation of a partition.
func (x *store) generation(part int) rueidis.Completed {
	return x.set.Client.B().Hget().Key(x.keys[part].Meta).Field("generation").Build()
}

// sameGeneration returns errMoved if the generation in the reply differs from the generation
// that was read.
func (x *store) sameGeneration(part int, read string, r rueidis.RedisResult) error {
	current, err := r.ToString()
	switch {
	case rueidis.IsRedisNil(err):
		current = "0"
	case err != nil:
		return err
	}
	if current == read {
		return nil
	}
	// If the generation is the same, keep the state: it may include the next generation.
	if old := x.state[part].Load(); old.current != current {
		x.state[part].CompareAndSwap(old, &generations{current: current})
	}
	return errMoved
}

// open reads the tails and rare terms.
func (s *search) open(ctx context.Context) error {
	var p pipeline
	b := s.x.set.Client.B
	for i := range s.parts {
		part := &s.parts[i]
		for t, term := range s.plan.terms {
			in := &part.in[t]
			// Rare terms first, since a growing rare term moves to a tail.
			p.add(b().Hget().Key(part.names.rare(term)).Field(term).Build(), func(r rueidis.RedisResult) error {
				return readRare(r, term, &in.rare)
			})
			p.add(b().Get().Key(part.names.tail(term)).Build(), func(r rueidis.RedisResult) error {
				return readTail(r, term, &in.tail)
			})
			s.readBases(&p, part.names.dir(term), s.query.Before-1, in)
		}
	}
	return s.send(ctx, &p)
}

// corrupt returns the error for an unreadable key.
func corrupt(part, term string) error {
	return fmt.Errorf("%w: the %s of %q: use Rebuild", index.ErrCorrupt, part, term)
}

func readRare(r rueidis.RedisResult, term string, to *codec.List) error {
	text, err := r.ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return nil
	case err == nil && len(text)%8 != 0:
		return corrupt("list", term)
	}
	*to = codec.List(text)
	return err
}

func readTail(r rueidis.RedisResult, term string, to *codec.Tail) error {
	text, err := r.ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err == nil {
		if *to, err = codec.ParseTail(text); err != nil {
			err = corrupt("tail", term)
		}
	}
	return err
}

// knownBases is the number of segment bases read at a time.
const knownBases = 100

// read reads the segments that the partitions want.
func (s *search) read(ctx context.Context) error {
	var p pipeline
	for i := range s.parts {
		part := &s.parts[i]
		for t, term := range s.plan.terms {
			if in := &part.in[t]; len(in.wanted) > 0 {
				s.readSegments(&p, part, term, in)
				in.wanted = nil
			}
		}
	}
	if len(p.commands) == 0 {
		return nil
	}
	return s.send(ctx, &p)
}

// readSegments reads the segments that a term wants.
func (s *search) readSegments(p *pipeline, part *partSearch, term string, in *postings) {
	dir, seg := part.names.dir(term), part.names.seg(term)
	for _, target := range in.wanted {
		s.work.segments++
		if target.base >= 0 {
			s.readKnown(p, part, term, target, in)
			continue
		}
		p.add(s.x.scripts.segment.Command(s.x.set.Client, []string{dir, seg}, []string{strconv.FormatInt(target.id, 10)}), func(r rueidis.RedisResult) error {
			b, err := readBlock(r, term, target.id)
			if err == nil {
				in.add(b, part.next)
			}
			return err
		})
	}
	if len(in.bases) == 0 {
		s.readBases(p, dir, in.wanted[0].id, in)
	}
}

// readKnown reads a segment by its base, which costs the server less than a script, and then
// checks that the id still belongs to the segment. If a writer has split the segment meanwhile,
// the script reads the segment in the next round trip.
func (s *search) readKnown(p *pipeline, part *partSearch, term string, target place, in *postings) {
	b := s.x.set.Client.B
	base := strconv.FormatInt(target.base, 10)
	var data string
	p.add(b().Hget().Key(part.names.seg(term)).Field(base).Build(), func(r rueidis.RedisResult) (err error) {
		if data, err = r.ToString(); rueidis.IsRedisNil(err) {
			return nil
		}
		return err
	})
	p.add(b().Zrevrangebyscore().Key(part.names.dir(term)).Max(strconv.FormatInt(target.id, 10)).Min("-inf").Limit(0, 1).Build(), func(r rueidis.RedisResult) error {
		found, err := r.AsStrSlice()
		if err != nil {
			return err
		}
		if data == "" || len(found) == 0 || found[0] != base {
			in.bases, in.ahead = nil, 0
			return nil
		}
		segment, err := codec.ParseSegment(data)
		if err != nil {
			return corrupt("segment "+base, term)
		}
		in.add(block{base: target.base, limit: target.id, segment: segment}, part.next)
		return nil
	})
}

// readBases reads the bases of the segments of a term, descending from an id.
func (s *search) readBases(p *pipeline, dir string, id int64, in *postings) {
	limit := strconv.FormatInt(id, 10)
	p.add(s.x.set.Client.B().Zrevrangebyscore().Key(dir).Max(limit).Min("-inf").Limit(0, knownBases).Build(), func(r rueidis.RedisResult) error {
		texts, err := r.AsStrSlice()
		in.bases = nil
		for _, text := range texts {
			base, _ := strconv.ParseInt(text, 10, 64)
			in.bases = append(in.bases, base)
		}
		return err
	})
}

// readBlock decodes the reply of segment.lua.
func readBlock(r rueidis.RedisResult, term string, limit int64) (block, error) {
	reply, err := r.AsStrSlice()
	if err != nil || len(reply) < 2 {
		return block{limit: limit}, err
	}
	b := block{limit: limit}
	if b.base, err = strconv.ParseInt(reply[0], 10, 64); err != nil || b.base < 0 || b.base > limit {
		return b, corrupt("directory", term)
	}
	if b.segment, err = codec.ParseSegment(reply[1]); err != nil {
		return b, corrupt("segment "+reply[0], term)
	}
	return b, nil
}
