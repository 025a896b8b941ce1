package social

// Visibility says how a viewer sees a post.
type Visibility int

const (
	// Hidden means that the viewer must not see the post anywhere.
	Hidden Visibility = iota
	// Muted means that the post appears in no list and no notification. It is shown where the
	// viewer asks for it: on its own page and on the author's profile.
	Muted
	// Unlisted means that the post appears in no public list (the public timeline, the page of a
	// tag). It is shown to followers, in conversations and on the author's profile.
	Unlisted
	// Shown means that the post appears everywhere.
	Shown
)

// Visible decides how a viewer sees a post. It is the only function that does so: every page, list,
// notification and feed calls it. A repost is as visible as the less visible of itself and its
// original, so callers check both; see timeline.Lists.Select.
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

// Sees decides how a viewer sees the posts and actions of a user.
func (v *Viewer) Sees(uid int64) Visibility {
	switch {
	case uid == v.User.ID && uid != 0:
		return Shown
	case v.Blocked.Has(uid), v.Blockers.Has(uid) && (v.acting || v.User.Role < Moderator):
		return Hidden
	}
	standing := v.Standing(uid)
	switch {
	case standing == Closed, standing.Hidden() && v.User.Role < Moderator:
		return Hidden
	case standing == Suspended, v.Blockers.Has(uid):
		return v.staffSees(uid)
	case v.askedFor == uid && uid != 0:
		return Shown
	case v.Muted.Has(uid):
		return Muted
	case standing == Limited:
		return Unlisted
	}
	return Shown
}

// staffSees decides how moderators see posts that are hidden from others, and those of users who
// have blocked them: only where they ask for them.
func (v *Viewer) staffSees(uid int64) Visibility {
	if v.askedFor == uid {
		return Shown
	}
	return Muted
}

// HidesPeople reports whether lists of people can contain users the viewer does not see.
func (v *Viewer) HidesPeople() bool {
	return v.HiddenPeople() > 0
}

// Suspended reports whether the viewer is suspended or closed; their sessions have ended.
func (v *Viewer) Suspended() bool { return v.User.ID != 0 && v.Standing(v.User.ID).Hidden() }

// Lists reports whether a public list of people, such as the latest users, shows a user to a
// viewer. Muted users are included: a mute concerns what they write and do.
func (v *Viewer) Lists(uid int64) bool {
	return uid == v.User.ID || v.Standing(uid) == Good && v.Sees(uid) != Hidden
}
