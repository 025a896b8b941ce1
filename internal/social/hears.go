package social

import "slices"

// Heard holds the properties of a post that determine on which home timelines it belongs.
type Heard struct {
	Author int64
	Reply  bool
	To     int64 // the author of the parent post; 0 if unknown
	Tags   []string
}

// Hears reports whether a post belongs on a viewer's home timeline, given what the viewer follows
// now: the viewer's own posts, posts of people they follow (except replies to people they do not
// follow), and posts with a tag they follow. A stored home timeline is only a hint: it can contain
// deleted posts, and posts of people and tags that the viewer no longer follows.
//
// Hears ignores blocks and mutes; see Visible.
func Hears(v *Viewer, h Heard) bool {
	if h.Author == v.User.ID {
		return true
	}
	if v.Following.Has(h.Author) && (!h.Reply || h.To == 0 || h.To == h.Author || h.To == v.User.ID || v.Following.Has(h.To)) {
		return true
	}
	return slices.ContainsFunc(h.Tags, func(tag string) bool {
		_, ok := slices.BinarySearch(v.Tags, tag)
		return ok
	})
}
