package check

import (
	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/social/posts"
)

// batch returns an empty batch of reads. A key of the wrong type reads as missing; wellTyped
// reports such keys.
func (c *checker) batch() *reads.Batch { return reads.New(c.client) }

// isPending adds a read to b that sets the result to whether a post is being fanned out.
func isPending(b *reads.Batch, client rueidis.Client, post, author int64, time string) *bool {
	pending := new(bool)
	b.Add(posts.ClaimCommand(client, post, author, time), func(res rueidis.RedisResult) (err error) {
		*pending, err = posts.Claimed(res)
		return err
	})
	return pending
}
