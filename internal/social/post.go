package social

import "time"

// Post is a short text by a user, a reply to another post, or a repost of one.
type Post struct {
	ID     int64
	Author User
	Time   time.Time // to the second
	Body   string    // empty for a repost

	Parent   int64     // the post that this one replies to; 0 if it is not a reply
	To       int64     // the author of the parent; 0 if unknown
	Root     int64     // the first post of the conversation; 0 if it is not a reply
	RepostOf int64     // the original of this repost; 0 if it is not a repost
	Edited   time.Time // the last edit, or zero
	Deleted  bool      // only a stub remains, to hold the conversation together

	DeletedAt time.Time // also zero if the time is damaged

	// Hidden is when a moderator hid the post from everybody but its author, or zero. HiddenMessage
	// is addressed to the author.
	Hidden        time.Time
	HiddenMessage string

	Media     Media // the pictures
	Sensitive bool  // pictures are shown after a click

	Counts PostCounts
}

// PostCounts are the numbers shown below a post.
type PostCounts struct{ Replies, Reposts, Likes int64 }

// Conversation returns the first post of the conversation that a reply to this post joins.
func (p *Post) Conversation() int64 {
	if p.Root != 0 {
		return p.Root
	}
	return p.ID
}
