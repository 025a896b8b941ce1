package social

import "slices"

// HomePost holds the properties of a post that determine on which home timelines it belongs.
type HomePost struct {
	Author int64
	Reply  bool
	To     int64 // the author of the parent post; 0 if unknown
	Tags   []string
}

// BelongsOnHome reports whether a post belongs on a viewer's home timeline, given what the viewer
// follows now: the viewer's own posts, posts of people they follow (except replies to people they
// do not follow), and posts with a tag they follow. A stored home timeline is only a hint: it can
// contain deleted posts, and posts of people and tags that the viewer no longer follows.
//
// BelongsOnHome ignores blocks and mutes; see Visible.
func BelongsOnHome(v *Viewer, p HomePost) bool {
	if p.Author == v.User.ID {
		return true
	}
	if v.Following.Has(p.Author) && (!p.Reply || p.To == 0 || p.To == p.Author || p.To == v.User.ID || v.Following.Has(p.To)) {
		return true
	}
	return slices.ContainsFunc(p.Tags, func(tag string) bool {
		_, ok := slices.BinarySearch(v.Tags, tag)
		return ok
	})
}
