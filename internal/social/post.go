package social

import "time"

// Post is a short text by a user, a reply to another post, or a repost of one.
type Post struct {
	ID     int64
	Author User
	Time   time.Time // to the second
	Body   string    // empty for a repost

	Parent   int64     // the post that this one replies to; 0 for no reply
	To       int64     // the author of that post; 0 if it is not known
	Root     int64     // the first post of the conversation; 0 for no reply
	RepostOf int64     // the post that this one repeats; 0 for no repost
	Edited   time.Time // the last edit, zero for none
	Deleted  bool      // only a stub is left, which holds the conversation together

	DeletedAt time.Time // zero also where the time is damaged

	// A moderator has hidden the post from everybody but its author, at a time and
	// with a message for the author. The zero time: no one has.
	Hidden        time.Time
	HiddenMessage string

	Media     Media // its pictures
	Sensitive bool  // they are shown after a click

	Counts PostCounts
}

// PostCounts are the numbers below a post.
type PostCounts struct{ Replies, Reposts, Likes int64 }

// Conversation is the first post of the conversation to which replies to a post
// belong.
func (p *Post) Conversation() int64 {
	if p.Root != 0 {
		return p.Root
	}
	return p.ID
}
