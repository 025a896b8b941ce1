package storage

// Places has the properties of a post that determine its lists.
type Places struct {
	Author       int64
	Parent, Root int64 // of a reply
	RepostOf     int64 // of a repost
	Imported     bool  // the post was written on another site
	Tags         []string
}

// Entries returns the sorted sets that contain a post: first the set of the author, then the
// conversation and the sets of the tags. The member and the score are the post ID. In addition, the
// public timeline can contain the post (see OnTimeline), `replies:{post:<parent>}` contains a
// reply, and `reposters:{post:<pid>}` a repost. Home timelines may contain the post.
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

// OnTimeline reports whether a new post is put on the public timeline.
func (p Places) OnTimeline() bool { return p.Parent == 0 && p.RepostOf == 0 && !p.Imported }
