package text

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retwis/index/text/internal/codec"
	"retwis/index/text/internal/words"

	"github.com/redis/rueidis"

	"retwis/maintain"
)

// isType reports whether a command failed because a key has another type.
func isType(err error) bool {
	var e *rueidis.RedisError
	return errors.As(err, &e) && strings.Contains(e.Error(), "WRONGTYPE")
}

// structure checks the keys of a partition, each on its own.
func (c *checker) structure(ctx context.Context, part int) error {
	p, n := &c.parts[part], c.names(part)
	types := map[string][]string{"zset": {n.list}}
	for _, r := range p.ranges {
		types["hash"] = append(types["hash"], n.prefix+"ids:"+strconv.FormatInt(r, 10))
	}
	for _, bucket := range p.rares {
		types["hash"] = append(types["hash"], n.rareOf(bucket))
	}
	for want, keys := range types {
		if err := c.checkType(ctx, want, keys); err != nil {
			return err
		}
	}
	err := c.rareTerms(ctx, n, p.rares, func(bucket int, terms map[string]string) error {
		c.rare(n, bucket, terms)
		return nil
	})
	if err != nil {
		return err
	}
	for _, term := range p.tails {
		if err := c.term(ctx, n, term); err != nil {
			return err
		}
	}
	for _, term := range p.segmented {
		if err := c.term(ctx, n, term); err != nil {
			return err
		}
	}
	return nil
}

// checkType reports keys of another type.
func (c *checker) checkType(ctx context.Context, want string, keys []string) error {
	client := c.x.set.Client
	for chunk := range slices.Chunk(keys, pageKeys) {
		commands := make(rueidis.Commands, len(chunk))
		for i, key := range chunk {
			commands[i] = client.B().Type().Key(key).Build()
		}
		for i, r := range client.DoMulti(ctx, commands...) {
			found, err := r.ToString()
			if err != nil {
				return err
			}
			if found != want && found != "none" {
				c.damage(maintain.Dangling, chunk[i], "a "+found+" instead of a "+want)
			}
		}
		if err := c.Uncounted(ctx, len(chunk)); err != nil {
			return err
		}
	}
	return nil
}

// rare checks a hash of rare terms.
func (c *checker) rare(n names, bucket int, fields map[string]string) {
	for term, ids := range fields {
		switch l := codec.List(ids); {
		case n.bucket(term) != bucket:
			c.damage(maintain.Dangling, term, "in another hash than that of the term")
		case !l.Valid(0) || l.Len() == 0 || l.Len() > c.x.sizes.rare:
			c.damage(maintain.Dangling, term, "a damaged list of a rare term")
		}
	}
}

// tries limits how often a constantly changing term is read.
const tries = 5

// term checks the postings of a term with a tail, a directory or segments.
func (c *checker) term(ctx context.Context, n names, term string) error {
	problem := ""
	for range tries {
		var err error
		if problem, err = c.problem(ctx, n, term); err != nil {
			return err
		}
		if problem == "" {
			return c.Uncounted(ctx, 1)
		}
	}
	c.damage(maintain.Dangling, term, problem)
	return nil
}

// problem describes the problem of a term, or returns "".
func (c *checker) problem(ctx context.Context, n names, term string) (string, error) {
	b := c.x.set.Client.B
	listed := make([]string, levels)
	for level := range listed {
		listed[level] = strconv.Itoa(level) + term
	}
	r := c.x.set.Client.DoMulti(ctx, b().Get().Key(n.tail(term)).Build(), b().Hexists().Key(n.rare(term)).Field(term).Build(),
		b().Zcard().Key(n.dir(term)).Build(), b().Hlen().Key(n.seg(term)).Build(), b().Zmscore().Key(n.list).Member(listed...).Build())
	for i, name := range []string{"tail", "hash of rare terms", "directory", "segments", "list of words"} {
		if err := r[i].Error(); isType(err) {
			return "the " + name + " has another type", nil
		} else if err != nil && !rueidis.IsRedisNil(err) {
			return "", err
		}
	}
	text, _ := r[0].ToString()
	isRare, _ := r[1].AsBool()
	bases, _ := r[2].AsInt64()
	segments, _ := r[3].AsInt64()
	if rueidis.IsRedisNil(r[0].Error()) {
		if bases+segments > 0 {
			return "segments without a tail", nil
		}
		return "", nil // the term was removed concurrently
	}
	t, err := codec.ParseTail(text)
	switch {
	case err != nil || !t.Valid():
		return "a damaged tail", nil
	case isRare:
		return "a tail, and a list of a rare term", nil
	case bases != segments:
		return fmt.Sprintf("%d of %d segments are in the directory", bases, segments), nil
	}
	scores, err := r[4].ToArray()
	if err != nil {
		return "", err
	}
	if !isListed(term, t, scores) {
		return "in the list of words with another number of documents", nil
	}
	return c.segments(ctx, n, term, t)
}

// isListed reports whether a word is in the list of words with its magnitude: see relist in
// postings.lua. Words of few documents need not be listed.
func isListed(term string, t codec.Tail, scores []rueidis.RedisMessage) bool {
	if strings.HasPrefix(term, exactMark) || strings.HasPrefix(term, words.StemMark) {
		return true
	}
	count := t.Sealed
	if count == 0 {
		count = int64(t.IDs.Len())
	}
	level := 0
	for n := int64(32); count >= n && level < levels-1; n *= 8 {
		level++
	}
	for i, score := range scores {
		if !score.IsNil() != (i == level) && (i != level || level > 0) {
			return false
		}
	}
	return true
}

// segments checks the segments of a term.
func (c *checker) segments(ctx context.Context, n names, term string, t codec.Tail) (string, error) {
	count := int64(0)
	for next, more := t.Bound, true; more; {
		b, problem, err := c.segment(ctx, n, term, next)
		if err != nil || problem != "" {
			return problem, err
		}
		for range b.segment.IDs {
			count++
		}
		next, more = b.base-1, b.base > 0
	}
	if count == t.Sealed {
		return "", nil
	}
	return fmt.Sprintf("%d ids in segments instead of %d", count, t.Sealed), nil
}
