package posts

import (
	"fmt"
	"strings"

	"retwis/internal/social/storage"
)

// postKind is the kind of tasks that fan a post out: "post:<id>:<author>:<time>".
const postKind = "post"

// Member returns the task that fans a post out. time is the field `time` of the post.
func Member(post, author int64, time string) string {
	return postKind + ":" + identity(post, author, time)
}

// Stages is the number of stages; see Stage.
const Stages = 3

// Stage returns the stage in which to finish an interrupted task. Tasks of stage 0 put a post on
// timelines and record tasks of stage 1, which put the post on more timelines. Tasks of stage 2
// wait for posts that are being fanned out.
func Stage(member string) int {
	switch kind, _, _ := strings.Cut(member, ":"); kind {
	case postKind:
		return 0
	case pushKind, pushLongKind:
		return 1
	}
	return 2
}

// identity distinguishes a post from another post that got the same ID after a failover.
func identity(post, author int64, time string) string {
	return fmt.Sprintf("%d:%d:%s", post, author, time)
}

// parseIdentity parses the result of identity.
func parseIdentity(text string) (post, author int64, time string, ok bool) {
	id, rest, _ := strings.Cut(text, ":")
	user, time, ok := strings.Cut(rest, ":")
	post, isPost := storage.ParseID(id)
	author, isAuthor := storage.ParseID(user)
	return post, author, time, ok && isPost && isAuthor
}

// jobOf returns the job of the post with an identity.
func jobOf(text string) (Job, bool) {
	post, author, time, ok := parseIdentity(text)
	job := Job{post: post, Entry: Entry{Author: author}, time: time}
	job.begin()
	return job, ok
}
