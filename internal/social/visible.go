package social

// Visibility is how a viewer sees a post.
type Visibility int

const (
	// Hidden: the viewer must not see the post, anywhere.
	Hidden Visibility = iota
	// Muted: no list and no notification contains the post. It is shown where the
	// viewer asks for it: on its own page and on the author's profile.
	Muted
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
	return v.Sees(p.Author.ID)
}

// Sees decides how a viewer sees what a user writes and does.
func (v *Viewer) Sees(uid int64) Visibility {
	switch {
	case uid == v.User.ID:
		return Shown
	case v.blocked.has(uid) || v.blockers.has(uid):
		return Hidden
	case v.muted.has(uid):
		return Muted
	}
	return Shown
}
