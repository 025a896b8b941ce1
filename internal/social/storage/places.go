package storage

// Places determines which lists a post is on.
type Places struct {
	Author       int64
	Parent, Root int64 // of a reply
	RepostOf     int64 // of a repost
	Imported     bool  // it was written elsewhere
	Tags         []string
}

// Entries returns the sorted sets that contain a post: first the author's, then its conversation
// and the pages of its tags. The member and the score are the post ID. In addition, the public
// timeline can contain it (OnTimeline), `replies:{post:<parent>}` contains a reply, and
// `reposters:{post:<pid>}` a repost; home timelines are hints.
func (p Places) Entries() []string {
	keys := make([]string, 0, 2+len(p.Tags))
	switch {
	case p.Imported:
		keys = append(keys, ArchiveKey(p.Author))
	case p.Parent != 0:
		keys = append(keys, ProfileRepliesKey(p.Author))
	default:
		keys = append(keys, ProfileKey(p.Author))
	}
	if p.Parent != 0 && p.Root != 0 {
		keys = append(keys, ThreadKey(p.Root))
	}
	if p.Imported {
		return keys
	}
	for _, tag := range p.Tags {
		keys = append(keys, TagKey(tag))
	}
	return keys
}

// OnTimeline reports whether a new post goes on the public timeline.
func (p Places) OnTimeline() bool { return p.Parent == 0 && p.RepostOf == 0 && !p.Imported }
