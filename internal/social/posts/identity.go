package posts

import (
	"fmt"
	"strings"

	"retwis/internal/social/storage"
)

// postKind is the kind of tasks that fan a post out: "post:<id>:<author>:<time>".
const postKind = "post"

// Member is the task that fans a post out. time is the field of its hash.
func Member(post, author int64, time string) string {
	return postKind + ":" + identity(post, author, time)
}

// Stages is how many stages there are; see Stage.
const Stages = 3

// Stage returns when to finish a task that was interrupted: 0 puts a post on timelines and
// notes tasks of 1, which put it on more, and those of 2 wait for posts that are on their
// way.
func Stage(member string) int {
	switch kind, _, _ := strings.Cut(member, ":"); kind {
	case postKind:
		return 0
	case pushKind, pushLongKind:
		return 1
	}
	return 2
}

// identity tells a post from another one that got the same id after a failover.
func identity(post, author int64, time string) string {
	return fmt.Sprintf("%d:%d:%s", post, author, time)
}

// parseIdentity reads an identity.
func parseIdentity(text string) (post, author int64, time string, ok bool) {
	id, rest, _ := strings.Cut(text, ":")
	by, time, ok := strings.Cut(rest, ":")
	post, isPost := storage.ParseID(id)
	author, isAuthor := storage.ParseID(by)
	return post, author, time, ok && isPost && isAuthor
}

// jobOf is the job of a post that is identified by a text.
func jobOf(text string) (Job, bool) {
	post, author, time, ok := parseIdentity(text)
	job := Job{post: post, Entry: Entry{Author: author}, time: time}
	job.begin()
	return job, ok
}
