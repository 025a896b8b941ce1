package posts

import (
	"errors"
	"slices"
	"strings"
	"time"

	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"

	"retwis/internal/social/work"
)

var (
	// ErrNoPost means that the post does not exist.
	ErrNoPost = errors.New("social: no such post")
	// ErrRefused means that the parent or original no longer exists, that the user has another
	// repost of the original, or that another post has the pictures.
	ErrRefused = errors.New("social: refused by the parent or original")
	// errDeleted means that the post was deleted.
	errDeleted = errors.New("social: the post is deleted")
)

// Entry is a new post.
type Entry struct {
	Author int64
	Fields []string // the hash: field, value, field, value ...
	Tags   []string

	Parent, Root int64 // of a reply
	RepostOf     int64 // of a repost
	To           int64 // the author of the parent
	Replaces     int64 // the ID of an earlier repost that was deleted meanwhile
}

// places returns the lists to which the post belongs, unless it was imported.
func (e *Entry) places() storage.Places {
	return storage.Places{Author: e.Author, Parent: e.Parent, Root: e.Root, RepostOf: e.RepostOf, Tags: e.Tags}
}

// Job is a post on its way to its audience: the followers of its author, then the followers of each
// of its tags.
type Job struct {
	post  int64
	Entry // Entry.Fields is nil for a post that was read from the database

	time        string       // of a post that was read from the database
	text        string       // likewise
	to          int64        // likewise: the author of the parent, as stored in the post
	pictures    social.Media // likewise
	wordsDiffer bool         // the search index has a different text of the post
	// followedBy, if not zero, excludes users who followed after this time (in Unix seconds), which
	// is after the post was written.
	followedBy       float64
	source           int            // the index of the part of the audience that comes next
	after            storage.Cursor // the last follower of that part who has the post
	older            []int64        // posts of the author that may have to leave the public timeline
	reread           []string       // `deleted` and `body`, read once the post was on all lists; see reconcile
	toAuthor         bool           // the next page includes the author's home timeline
	fromParentAuthor bool           // the first part is the followers of To; see chooseAudience
	mark             string         // the replication histories before the first write; see work.Engine.Mark
	held             *work.Held     // the task of a new post
	written          time.Time      // when this call wrote the post, by the server's clock; zero if another call did
	published        bool           // the author was told that the post is published
}

// ID returns the ID of the post, 0 before Create.
func (j *Job) ID() int64 { return j.post }

// postTime returns the time of the post in its stored form.
func (j *Job) postTime() string {
	for i := 0; i+1 < len(j.Fields); i += 2 {
		if j.Fields[i] == "time" {
			return j.Fields[i+1]
		}
	}
	return j.time
}

// media returns the pictures of the post.
func (j *Job) media() social.Media {
	for i := 0; i+1 < len(j.Fields); i += 2 {
		if j.Fields[i] == "media" {
			return social.Media(j.Fields[i+1])
		}
	}
	return j.pictures
}

// searched returns the post in the form in which it is indexed.
func (j *Job) searched() search.IndexedPost {
	p := search.IndexedPost{ID: j.post, Author: j.Author, Parent: j.Parent, To: j.to, Body: j.text}
	for i := 0; i+1 < len(j.Fields); i += 2 {
		switch j.Fields[i] {
		case "body":
			p.Body = j.Fields[i+1]
		case "to":
			p.To, _ = storage.ParseID(j.Fields[i+1])
		}
	}
	return p
}

// identity distinguishes the post from another post that got the same ID after a failover.
func (j *Job) identity() string { return identity(j.post, j.Author, j.postTime()) }

// member returns the task of the post.
func (j *Job) member() string { return postKind + ":" + j.identity() }

// audience returns the sets of followers who get a post.
func audience(author int64, tags []string) []string {
	sets := make([]string, 1, 1+len(tags))
	sets[0] = storage.FollowersKey(author)
	for _, tag := range tags {
		sets = append(sets, storage.TagFollowersKey(tag))
	}
	return sets
}

// audience returns the sets of followers who get the post.
func (j *Job) audience() []string {
	sets := audience(j.Author, j.Tags)
	if j.fromParentAuthor {
		sets[0] = storage.FollowersKey(j.To)
	}
	return sets
}

// done reports whether the whole audience has the post.
func (j *Job) done() bool { return j.source > len(j.Tags) }

// isNarrow reports whether the author's followers get the post only if they also follow the author
// of the parent.
func (j *Job) isNarrow() bool { return j.Parent != 0 && j.To != j.Author }

// next advances past a page of n followers that ended at last.
func (j *Job) next(n int, last storage.Cursor) {
	if n == pageOfFollowers {
		j.after = last
		return
	}
	j.after = storage.FirstPage
	j.source++
}

// begin moves to the start of the audience.
func (j *Job) begin() { j.source, j.after = 0, storage.FirstPage }

// joinTags encodes tags as a field of a stub; splitTags decodes it.
func joinTags(tags []string) string {
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), " ")
}

func splitTags(text string) []string { return strings.Fields(text) }
