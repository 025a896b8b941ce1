package social

// Visibility is how a viewer sees a post.
type Visibility int

const (
	// Hidden: the viewer must not see the post, anywhere.
	Hidden Visibility = iota
	// Muted: no list and no notification contains the post. It is shown where the
	// viewer asks for it: on its own page and on the author's profile.
	Muted
	// Unlisted: no public list contains the post: the public timeline, the page of a
	// tag. It is shown to followers, in conversations and on the author's profile.
	Unlisted
	// Shown: the post is shown everywhere.
	Shown
)

// Visible decides how a viewer sees a post. It is the only place that does:
// every page, list, notification and feed asks it. A repost is as visible as the
// least visible of itself and the post that it repeats, so callers ask for both.
func Visible(v *Viewer, p Post) Visibility {
	if p.ID == 0 || p.Deleted {
		return Hidden
	}
	if !p.Hidden.IsZero() && p.Author.ID != v.User.ID {
		if v.User.Role < Moderator {
			return Hidden
		}
		return min(v.Sees(p.Author.ID), v.staffSees(p.Author.ID))
	}
	return v.Sees(p.Author.ID)
}

// Sees decides how a viewer sees what a user writes and does.
func (v *Viewer) Sees(uid int64) Visibility {
	switch {
	case uid == v.User.ID && uid != 0:
		return Shown
	case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acts || v.User.Role < Moderator):
		return Hidden
	}
	standing := v.Standing(uid)
	switch {
	case standing == Closed, standing.Hidden() && v.User.Role < Moderator:
		return Hidden
	case standing == Suspended, v.Blockers.Has(uid):
		return v.staffSees(uid)
	case v.asked == uid && uid != 0:
		return Shown
	case v.Muted.Has(uid):
		return Muted
	case standing == Limited:
		return Unlisted
	}
	return Shown
}

// staffSees is how moderators see what is hidden from others, and what those write who
// have blocked them: where they ask for it.
func (v *Viewer) staffSees(uid int64) Visibility {
	if v.asked == uid {
		return Shown
	}
	return Muted
}

// HidesPeople reports whether lists of people can have some that the viewer does not
// see.
func (v *Viewer) HidesPeople() bool {
	return v.HiddenPeople() > 0
}

// Suspended reports whether the viewer is suspended or gone: their sessions have ended.
func (v *Viewer) Suspended() bool { return v.User.ID != 0 && v.Standing(v.User.ID).Hidden() }

// Lists decides whether a public list of people, such as the latest users, shows a user
// to a viewer. Muted users are there: a mute is about what they write and do.
func (v *Viewer) Lists(uid int64) bool {
	return uid == v.User.ID || v.Standing(uid) == Good && v.Sees(uid) != Hidden
}
