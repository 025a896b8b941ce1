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
	// ErrNoPost: the post does not exist.
	ErrNoPost = errors.New("social: no such post")
	// ErrRefused: the post that a reply or a repost belongs to does not exist any
	// more, or the user has another repost of it, or another post has the pictures.
	ErrRefused = errors.New("social: not accepted by the other post")
	// errDeleted: the post was deleted.
	errDeleted = errors.New("social: the post is deleted")
)

// Entry is a new post.
type Entry struct {
	Author int64
	Fields []string // of its hash: field, value, field, value ...
	Tags   []string

	Parent, Root int64 // of a reply
	RepostOf     int64 // of a repost
	To           int64 // the author of the other post
	Replaces     int64 // the id of an earlier repost that was deleted meanwhile
}

// places are the lists of the post, unless it was imported.
func (e *Entry) places() storage.Places {
	return storage.Places{Author: e.Author, Parent: e.Parent, Root: e.Root, RepostOf: e.RepostOf, Tags: e.Tags}
}

// Job is a post on its way to its audience: the followers of its author, then those
// of each of its tags.
type Job struct {
	post  int64
	Entry // Entry.Fields is nil for a post that was read

	time       string       // of a post that was read
	text       string       // likewise
	to         int64        // likewise: the author of the parent, as the post has it
	pictures   social.Media // likewise
	otherWords bool         // the search index has another text of it
	// followedBy, where it is not zero, excludes followers who came later (unix
	// seconds): they follow since after the post was written.
	followedBy float64
	source     int            // which part of the audience is next
	after      storage.Cursor // the last follower of that part who has it
	older      []int64        // posts of the author that may have to leave the public timeline
	again      []string       // `deleted` and `body`, read when the post was on all lists; see reconcile
	toAuthor   bool           // the home timeline of the author is next, too
	ofOther    bool           // the first part are the followers of To; see chooseAudience
	mark       string         // the histories of writes before the first; see work.Engine.Mark
	held       *work.Held     // the task of a new post
	written    time.Time      // when this call wrote it, by the server's clock; zero: another one did
	published  bool           // its author was told that it is there
}

// ID is the id of the post, 0 before Create.
func (j *Job) ID() int64 { return j.post }

// postTime is the time of the post, as it is stored.
func (j *Job) postTime() string {
	for i := 0; i+1 < len(j.Fields); i += 2 {
		if j.Fields[i] == "time" {
			return j.Fields[i+1]
		}
	}
	return j.time
}

// media are the pictures of the post.
func (j *Job) media() social.Media {
	for i := 0; i+1 < len(j.Fields); i += 2 {
		if j.Fields[i] == "media" {
			return social.Media(j.Fields[i+1])
		}
	}
	return j.pictures
}

// searched is what the search index has of the post.
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

// identity tells the post from another one that got its id after a failover.
func (j *Job) identity() string { return identity(j.post, j.Author, j.postTime()) }

// member is the task of the post.
func (j *Job) member() string { return postKind + ":" + j.identity() }

// audience returns the sets of followers that get a post.
func audience(author int64, tags []string) []string {
	sets := make([]string, 1, 1+len(tags))
	sets[0] = storage.FollowersKey(author)
	for _, tag := range tags {
		sets = append(sets, storage.TagFollowersKey(tag))
	}
	return sets
}

func (j *Job) audience() []string {
	sets := audience(j.Author, j.Tags)
	if j.ofOther {
		sets[0] = storage.FollowersKey(j.To)
	}
	return sets
}

// done reports whether the whole audience has the post.
func (j *Job) done() bool { return j.source > len(j.Tags) }

// isNarrow reports whether the followers of the author get the post only if they
// follow another one too.
func (j *Job) isNarrow() bool { return j.Parent != 0 && j.To != j.Author }

// next moves on to the page after a page of n followers that ended at last.
func (j *Job) next(n int, last storage.Cursor) {
	if n == pageOfFollowers {
		j.after = last
		return
	}
	j.after = storage.FirstPage
	j.source++
}

func (j *Job) begin() { j.source, j.after = 0, storage.FirstPage }

// joinTags writes tags as a field of a stub; splitTags reads it.
func joinTags(tags []string) string {
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), " ")
}

func splitTags(text string) []string { return strings.Fields(text) }
