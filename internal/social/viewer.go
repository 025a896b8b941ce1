package social

import "slices"

// Viewer is a person who looks at posts, with everything that determines how they see them. A
// Viewer is immutable: get a new one for each request. A Viewer with the zero User is a visitor who
// is not logged in.
type Viewer struct {
	User User // ID 0: a visitor who is not logged in

	Standings Standings // who is limited or suspended; nil if nobody is

	askedFor int64 // the viewer has asked for the posts of this user
	acting   bool  // the viewer acts on a post: blocks apply to moderators too

	Muted, Blocked, Blockers UserSet
	Liked, Reposted, Saved   PostMarks

	Following   UserSet  // the people the viewer followed last; see FollowsMore
	FollowsMore bool     // the viewer follows more people, whom a page has to look up
	Tags        []string // tags the viewer follows, sorted

	LeftOut UserSet // people the viewer reads on a list instead of on the home timeline

	Ends          int64  // when the first of the mutes and blocks expires, in Unix seconds
	PeopleChanged uint64 // differs after each change of mutes and blocks
}

// Standings is a process's view of who is limited, suspended or closed.
type Standings interface {
	Of(uid int64) Standing
	Count() int   // users who are not in good standing
	Version() any // differs after each change
}

// LeavesOut reports whether the viewer's home timeline omits the posts and reposts of a user.
func (v *Viewer) LeavesOut(uid int64) bool { return uid != v.User.ID && v.LeftOut.Has(uid) }

// Standing returns the standing of a user, according to Standings.
func (v *Viewer) Standing(uid int64) Standing {
	if v.Standings == nil {
		return Good
	}
	return v.Standings.Of(uid)
}

// HiddenPeople returns the maximum number of people in lists whom the viewer does not see.
func (v *Viewer) HiddenPeople() int {
	n := len(v.Blocked) + len(v.Blockers)
	if v.Standings != nil {
		n += v.Standings.Count()
	}
	return n
}

// Asking returns a copy of the viewer that has asked for the posts of a user, so that muting that
// user hides nothing.
func (v *Viewer) Asking(uid int64) *Viewer {
	other := *v
	other.askedFor = uid
	return &other
}

// Acting returns a copy of the viewer for acting on posts. A moderator whom an author has blocked
// can read the author's posts, but not reply to or like them.
func (v *Viewer) Acting() *Viewer {
	if v.User.Role < Moderator {
		return v
	}
	other := *v
	other.acting = true
	return &other
}

// WithoutBlocks returns a copy of the viewer that ignores blocks.
func (v *Viewer) WithoutBlocks() *Viewer {
	other := *v
	other.Blocked, other.Blockers = nil, nil
	return &other
}

// WithoutOwnBlocks returns a copy of the viewer that ignores the viewer's own blocks.
func (v *Viewer) WithoutOwnBlocks() *Viewer {
	other := *v
	other.Blocked = nil
	return &other
}

// UserSet is a sorted set of user IDs.
type UserSet []int64

// Has reports whether a user is in the set.
func (p UserSet) Has(uid int64) bool {
	if len(p) == 0 {
		return false
	}
	_, ok := slices.BinarySearch(p, uid)
	return ok
}

// PostMarks are the newest posts that a user has marked.
type PostMarks struct {
	Posts []int64 // sorted by ID
	Since int64   // a post written after this time (Unix seconds) is marked only if it is in Posts
}

// Marks is the set of things a viewer has done with a post.
type Marks uint8

// The marks.
const (
	MarkLiked Marks = 1 << iota
	MarkReposted
	MarkSaved
)

// Has reports whether a post is marked, and whether that answer is certain.
func (m PostMarks) Has(p *Post) (marked, certain bool) {
	if _, ok := slices.BinarySearch(m.Posts, p.ID); ok {
		return true, true
	}
	return false, m.Since == 0 || p.Time.Unix() > m.Since
}
