package social

import "slices"

// Heard is what decides on whose home timelines a post is.
type Heard struct {
	Author int64
	Reply  bool
	To     int64 // the author of the post that it replies to; 0 if that is not known
	Tags   []string
}

// Hears decides whether a post belongs on a viewer's home timeline, by what the viewer
// follows now: the viewer's own posts, those of people they follow, without their replies
// to strangers, and those with a tag they follow. A stored home timeline is only a hint:
// it can have posts that the viewer does not hear any more, and deleted ones.
//
// Hears says nothing about blocks and mutes; see Visible.
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
