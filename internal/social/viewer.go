package social

import "slices"

// Viewer is a person who looks at posts, with what decides how they see them. It
// never changes: get another one for another request. That of the zero User is a
// stranger.
type Viewer struct {
	User User // ID 0: a stranger

	Standings Standings // who is limited or suspended; nil: nobody

	asked int64 // the viewer has asked for what this user writes
	acts  bool  // the viewer acts on a post: a block holds for moderators too

	Muted, Blocked, Blockers UserSet
	Liked, Reposted, Saved   PostMarks

	Following   UserSet  // the people that the viewer has followed last; see FollowsMore
	FollowsMore bool     // the viewer follows others too, that a page has to look for
	Tags        []string // that the viewer follows, sorted

	LeftOut UserSet // people that the viewer reads on a list and not on the home timeline

	Ends          int64  // when the first of the mutes and blocks ends, in unix seconds
	PeopleChanged uint64 // another number after each change of mutes and blocks
}

// Standings is what a process knows of who is limited, suspended or closed.
type Standings interface {
	Of(uid int64) Standing
	Count() int   // of those who are not in good standing
	Version() any // another one after each change
}

// LeavesOut reports whether the viewer's home timeline is without what a user posts and
// reposts.
func (v *Viewer) LeavesOut(uid int64) bool { return uid != v.User.ID && v.LeftOut.Has(uid) }

// Standing returns the standing of a user, as this process knows it.
func (v *Viewer) Standing(uid int64) Standing {
	if v.Standings == nil {
		return Good
	}
	return v.Standings.Of(uid)
}

// HiddenPeople returns how many people lists can have at most that the viewer does not see.
func (v *Viewer) HiddenPeople() int {
	n := len(v.Blocked) + len(v.Blockers)
	if v.Standings != nil {
		n += v.Standings.Count()
	}
	return n
}

// Asking returns the viewer as one who has asked for what a user writes, so that a
// mute of that user hides nothing.
func (v *Viewer) Asking(uid int64) *Viewer {
	other := *v
	other.asked = uid
	return &other
}

// Acting returns the viewer as one who acts on posts. A moderator who is blocked by an
// author can read their posts, but not answer or like them.
func (v *Viewer) Acting() *Viewer {
	if v.User.Role < Moderator {
		return v
	}
	other := *v
	other.acts = true
	return &other
}

// WithoutBlocks returns a copy of the viewer that ignores blocks.
func (v *Viewer) WithoutBlocks() *Viewer {
	other := *v
	other.Blocked, other.Blockers = nil, nil
	return &other
}

// WithoutOwnBlocks returns a copy of the viewer that has blocked nobody.
func (v *Viewer) WithoutOwnBlocks() *Viewer {
	other := *v
	other.Blocked = nil
	return &other
}

// UserSet is a set of the ids of users, sorted.
type UserSet []int64

// Has reports whether a user is in the set.
func (p UserSet) Has(uid int64) bool {
	if len(p) == 0 {
		return false
	}
	_, ok := slices.BinarySearch(p, uid)
	return ok
}

// PostMarks are the newest of the posts that a user has marked.
type PostMarks struct {
	Posts []int64 // sorted by id
	Since int64   // a post written after this time (unix seconds) is marked only if it is in Posts
}

// Marks is a set of what a viewer has done with a post.
type Marks uint8

// What a viewer can do with a post.
const (
	MarkLiked Marks = 1 << iota
	MarkReposted
	MarkSaved
)

// Has reports whether a post is marked, and whether that is certain.
func (m PostMarks) Has(p *Post) (marked, certain bool) {
	if _, ok := slices.BinarySearch(m.Posts, p.ID); ok {
		return true, true
	}
	return false, m.Since == 0 || p.Time.Unix() > m.Since
}
