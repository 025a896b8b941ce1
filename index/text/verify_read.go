package text

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/index/text/internal/codec"
)

// namesOf returns the keys of the partition that has a document.
func (c *checker) namesOf(id int64) names {
	part := c.x.set.Index(strconv.FormatInt(id, 10))
	return c.x.keys[part].forGeneration(c.x.state[part].Load().current, false)
}

// postings yields the ids of each term of a partition, in pieces. Unreadable data is reported
// elsewhere.
func (c *checker) postings(ctx context.Context, part int, keys termKeys, yield func(term string, ids []int64) error) error {
	n := c.x.keys[part].forGeneration(c.x.state[part].Load().current, false)
	err := c.rareTerms(ctx, n, keys.rares, func(_ int, terms map[string]string) error {
		for term, ids := range terms {
			if err := yield(term, codec.List(ids).IDs()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, term := range keys.tails {
		if err := c.tailPostings(ctx, n, term, yield); err != nil {
			return err
		}
		if err := c.Pace(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// tailPostings yields the ids of a term with a tail.
func (c *checker) tailPostings(ctx context.Context, n names, term string, yield func(string, []int64) error) error {
	text, err := c.x.set.Client.Do(ctx, c.x.set.Client.B().Get().Key(n.tail(term)).Build()).ToString()
	if rueidis.IsRedisNil(err) || isType(err) {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := codec.ParseTail(text)
	if err != nil {
		return nil
	}
	if err := yield(term, t.IDs.IDs()); err != nil || t.Sealed == 0 {
		return err
	}
	for next := t.Bound; next >= 0; {
		b, damage, err := c.segment(ctx, n, term, next)
		if err != nil || damage != "" {
			return err
		}
		if err := yield(term, slices.Collect(b.segment.IDs)); err != nil {
			return err
		}
		next = b.base - 1
	}
	return nil
}

// rareHashes is the number of hashes of rare terms read at a time.
const rareHashes = 50

// rareTerms yields the terms of hashes. It skips keys of other types.
func (c *checker) rareTerms(ctx context.Context, n names, buckets []int, yield func(bucket int, terms map[string]string) error) error {
	client := c.x.set.Client
	for chunk := range slices.Chunk(buckets, rareHashes) {
		commands := make(rueidis.Commands, len(chunk))
		for i, bucket := range chunk {
			commands[i] = client.B().Hgetall().Key(n.rareOf(bucket)).Build()
		}
		read := 0
		for i, r := range client.DoMulti(ctx, commands...) {
			terms, err := r.AsStrMap()
			if isType(err) {
				continue
			}
			if err == nil {
				err = yield(chunk[i], terms)
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

// segment reads the segment of a term that covers an id. It returns an empty block if there is
// no segment. damage describes the damage of a damaged segment.
func (c *checker) segment(ctx context.Context, n names, term string, id int64) (b block, damage string, err error) {
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
	if !b.segment.Empty() && !b.segment.Valid(b.base, id) || b.segment.Len() > c.x.sizes.segment {
		return b, "a damaged segment", nil
	}
	return b, "", nil
}
