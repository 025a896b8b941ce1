package fanout

import (
	"errors"

	"retwis/internal/social/follow"
)

// ErrNoPost: the post does not exist.
var ErrNoPost = errors.New("social: no such post")

// Job is a post on its way to the followers of its author.
type Job struct {
	post, author int64
	// fields is the content of the post's hash, kept until a replica has it: the
	// post is written again should a failover lose it. Nil for a post of
	// another process.
	fields []string
	// followedBy, where it is not zero, excludes followers who came later (unix
	// seconds): they follow since after the post was written.
	followedBy float64
	after      follow.Cursor // the last follower who has it
	// masters is the identity of the servers before the first write. A fan-out
	// that ends under another identity may have lost a part.
	masters string
	failed  int // how many times in a row the next page failed
}
