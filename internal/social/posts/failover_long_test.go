//go:build long

package posts_test

import (
	"testing"

	"retwis/internal/social/socialtest"
)

// On a Cluster, tasks and the timelines can be on different masters. The task of a post is kept
// until the replicas of all masters have the post.
func TestClusterFailoverAfterFanOut(t *testing.T) {
	t.Parallel()
	c := socialtest.NewReplicated(t)
	b := on(t, c.DB)
	const followers = 1500
	author := b.NewUser("author")
	b.addFans(author, followers)
	b.Publish(author, "so that this process knows of the replica")
	socialtest.Wait(t, "the first fan-out to end", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
	c.Cut()
	post := b.Publish(author, "to all of you")
	socialtest.Wait(t, "all followers to have the post", func() bool { return b.countMissing(followers, post) == 0 })
	c.FailOver()
	socialtest.Wait(t, "all followers to have the post again", func() bool { return b.countMissing(followers, post) == 0 })
	socialtest.Wait(t, "the fan-out to be finalized", func() bool { return b.Redis("EXISTS", "tasks") == "0" })
}
