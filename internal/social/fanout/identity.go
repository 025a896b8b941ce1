package fanout

import (
	"fmt"
	"strings"

	"retwis/internal/social/layout"
)

// Member is the member of `fanouts` for a post: what tells it from another post that got
// the same id after a failover. time is the field of its hash.
func Member(post, author int64, time string) string {
	return fmt.Sprintf("%d:%d:%s", post, author, time)
}

// Members are the members of `fanouts` that can stand for a post: that of an earlier
// version is its bare id.
func Members(post, author int64, time string) []string {
	return []string{Member(post, author, time), layout.Itoa(post)}
}

// parseMember reads a member of `fanouts`. Without a colon it has no author and no time.
func parseMember(member string) (post, author int64, time string, ok bool) {
	id, rest, isLong := strings.Cut(member, ":")
	post, ok = layout.ParseID(id)
	if !ok || !isLong {
		return post, 0, "", ok
	}
	by, time, ok := strings.Cut(rest, ":")
	author, isAuthor := layout.ParseID(by)
	return post, author, time, ok && isAuthor
}

// jobOf is the job of a member of `fanouts`.
func jobOf(member string) (Job, bool) {
	post, author, time, ok := parseMember(member)
	job := Job{post: post, Entry: Entry{Author: author}, time: time}
	if author == 0 {
		job.bare = true
	}
	job.begin()
	return job, ok
}
