package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
	"retwis/maintain"
)

// isType reports whether a command failed because a key has another type.
func isType(err error) bool {
	var e *rueidis.RedisError
	return errors.As(err, &e) && strings.Contains(e.Error(), "WRONGTYPE")
}

// rareHashes is the number of hashes of rare terms that are read at a time.
const rareHashes = 50

// rareTerms yields the terms of hashes. It passes over what is not a hash.
func (c *checker) rareTerms(ctx context.Context, n names, buckets []int, yield func(bucket int, terms map[string]string) error) error {
	client := c.x.set.Client
	for some := range slices.Chunk(buckets, rareHashes) {
		commands := make(rueidis.Commands, len(some))
		for i, bucket := range some {
			commands[i] = client.B().Hgetall().Key(n.rareOf(bucket)).Build()
		}
		read := 0
		for i, r := range client.DoMulti(ctx, commands...) {
			terms, err := r.AsStrMap()
			if isType(err) {
				continue
			}
			if err == nil {
				err = yield(some[i], terms)
			}
			if err != nil {
				return err
			}
			read += len(terms)
		}
		if err := c.Uncounted(ctx, read); err != nil {
			return err
		}
	}
	return nil
}

// rare checks a hash of rare terms.
func (c *checker) rare(ctx context.Context, part, bucket int, fields map[string]string) (err error) {
	n := c.names(part)
	for term, ids := range fields {
		wrong := ""
		switch l := list(ids); {
		case n.bucket(term) != bucket:
			wrong = "in another hash than that of the term"
		case !l.valid(0) || l.len() == 0 || l.len() > c.x.sizes.rare:
			wrong = "a damaged list of a rare term"
		}
		if wrong == "" {
			continue
		}
		c.Found(maintain.Problem{Kind: maintain.Dangling, ID: term, Found: wrong})
		if !c.repair {
			continue
		}
		c.Report.Repaired++
		if n.bucket(term) != bucket {
			err = c.x.set.Client.Do(ctx, c.x.set.Client.B().Hdel().Key(n.rareOf(bucket)).Field(term).Build()).Error()
		} else {
			err = c.restore(ctx, part, term)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tries bounds how often a term is read that changes all the time.
const tries = 5

// term checks the postings of a term with a tail, a directory or segments.
func (c *checker) term(ctx context.Context, part int, term string) error {
	var p maintain.Problem
	for range tries {
		var err error
		if p, err = c.problem(ctx, c.names(part), term); err != nil {
			return err
		}
		if p.Kind == "" {
			if err := c.relist(ctx, part, term); err != nil {
				return err
			}
			return c.Uncounted(ctx, 1)
		}
	}
	p.ID = term
	c.Found(p)
	if !c.repair {
		return nil
	}
	c.Report.Repaired++
	return c.restore(ctx, part, term)
}

// problem returns what is wrong with a term.
func (c *checker) problem(ctx context.Context, n names, term string) (p maintain.Problem, err error) {
	client := c.x.set.Client
	b := client.B
	r := client.DoMulti(ctx, b().Get().Key(n.tail(term)).Build(), b().Hexists().Key(n.rare(term)).Field(term).Build(),
		b().Zcard().Key(n.dir(term)).Build(), b().Hlen().Key(n.seg(term)).Build())
	for i, what := range []string{"tail", "hash of rare terms", "directory", "segments"} {
		if err := r[i].Error(); isType(err) {
			return maintain.Problem{Kind: maintain.Dangling, Found: "the " + what + " has another type"}, nil
		} else if err != nil && !rueidis.IsRedisNil(err) {
			return p, err
		}
	}
	text, _ := r[0].ToString()
	isRare, _ := r[1].AsBool()
	bases, _ := r[2].AsInt64()
	segments, _ := r[3].AsInt64()
	if rueidis.IsRedisNil(r[0].Error()) {
		if bases+segments > 0 {
			p = maintain.Problem{Kind: maintain.Missing, Found: "segments without a tail"}
		}
		return p, nil // or the term was removed meanwhile
	}
	t, err := parseTail(text)
	switch {
	case err != nil || !t.valid():
		return maintain.Problem{Kind: maintain.Dangling, Found: "a damaged tail"}, nil
	case isRare:
		return maintain.Problem{Kind: maintain.Stale, Found: "a tail, and a list of a rare term"}, nil
	case bases != segments:
		return maintain.Problem{Kind: maintain.Missing, Found: fmt.Sprintf("%d of %d segments are in the directory", bases, segments)}, nil
	}
	return c.segments(ctx, n, term, t)
}

// segments checks the segments of a term.
func (c *checker) segments(ctx context.Context, n names, term string, t tail) (p maintain.Problem, err error) {
	count := int64(0)
	for next, more := t.bound, true; more; {
		b, wrong, err := c.segment(ctx, n, term, next)
		if err != nil || wrong != "" {
			return maintain.Problem{Kind: maintain.Dangling, Found: wrong}, err
		}
		for range b.segment.ids {
			count++
		}
		next, more = b.base-1, b.base > 0
	}
	if count == t.sealed {
		return p, nil
	}
	return maintain.Problem{Kind: maintain.Missing, Found: fmt.Sprintf("%d ids in segments", count), Want: fmt.Sprint(t.sealed)}, nil
}

// segment reads the segment of a term that has the place of an id. It returns an empty one
// where there is none, and what is wrong with a damaged one.
func (c *checker) segment(ctx context.Context, n names, term string, id int64) (b block, wrong string, err error) {
	r := c.x.scripts.segment.Run(ctx, c.x.set.Client, []string{n.dir(term), n.seg(term)}, []string{strconv.FormatInt(id, 10)})
	if isType(r.Error()) {
		return b, "the directory or the segments have another type", nil
	}
	if err := r.Error(); err != nil {
		return b, "", err
	}
	b, err = readBlock(r, term, id)
	if err != nil {
		return b, "a damaged segment or directory", nil
	}
	if b.segment.payload != "" && !b.segment.valid(b.base, id) || len(b.segment.payload)+segmentHeader > c.x.sizes.segment {
		return b, "a damaged segment", nil
	}
	return b, "", nil
}

// restore writes the postings of a damaged term anew, with the ids that can be read.
func (c *checker) restore(ctx context.Context, part int, term string) error {
	n := c.names(part)
	for range tries {
		rare, text, ids, err := c.readable(ctx, n, term)
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return !c.x.isHome(part, id) })
		args := append(append(c.x.set.Args(), c.parts[part].state.now, term, rare, text), c.x.layTerm(ids)...)
		keys := append(c.x.keys[part].All(), n.ofTerm(term, true)...)
		done, err := c.x.scripts.restore.Run(ctx, c.x.set.Client, keys, args).AsInt64()
		if err != nil {
			return err
		}
		if done == 1 {
			return c.list1(ctx, part, term)
		}
	}
	return fmt.Errorf("the postings of %q change all the time: run Repair again", term)
}

// layTerm returns the postings of a term with some ids, as arguments of restore.lua.
func (x *Index) layTerm(ids []int64) []string {
	switch {
	case len(ids) == 0:
		return []string{"", ""}
	case len(ids) <= x.sizes.rare:
		return []string{string(listOf(ids)), ""}
	case len(ids) < x.sizes.tail:
		return []string{"", tail{ids: listOf(ids)}.String()}
	}
	old := ids[:len(ids)-x.sizes.newest]
	t := tail{sealed: int64(len(old)), bound: old[len(old)-1], ids: listOf(ids[len(old):])}
	args := []string{"", t.String()}
	for _, chunk := range encode(old, 0, x.sizes.segment) {
		args = append(args, strconv.FormatInt(chunk.base, 10), chunk.data)
	}
	return args
}

// readable returns the ids of a term that can be read, sorted, and its list of a rare term
// and its tail as they are.
func (c *checker) readable(ctx context.Context, n names, term string) (rare, text string, ids []int64, err error) {
	client := c.x.set.Client
	r := client.DoMulti(ctx, client.B().Hget().Key(n.rare(term)).Field(term).Build(), client.B().Get().Key(n.tail(term)).Build())
	for i, to := range []*string{&rare, &text} {
		text, err := r[i].ToString()
		switch {
		case err == nil:
			*to = text
		case !rueidis.IsRedisNil(err) && !isType(err):
			return "", "", nil, err
		}
	}
	ids = list(rare).ids()
	if len(text) > tailHeader {
		ids = append(ids, list(text[tailHeader:]).ids()...)
	}
	for page, err := range scan.Hash(ctx, client, n.seg(term), 8) {
		if isType(err) {
			break
		}
		if err != nil {
			return "", "", nil, err
		}
		for i := 1; i < len(page); i += 2 {
			if s, err := parseSegment(page[i]); err == nil {
				ids = slices.AppendSeq(ids, s.ids)
			}
		}
	}
	return rare, text, sortedIDs(ids), nil
}

// list1 lists a word that was restored.
func (c *checker) list1(ctx context.Context, part int, term string) error {
	n := c.names(part)
	keys := append(c.x.keys[part].All(), n.rare(term), n.tail(term))
	return c.x.scripts.list.Run(ctx, c.x.set.Client, keys, append(c.x.set.Args(), c.parts[part].state.now, term, "1")).Error()
}
