package media

import (
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/model"
)

// Kind is the purpose for which a picture was uploaded.
type Kind string

// The kinds.
const (
	Post   Kind = "post"
	Avatar Kind = "avatar"
	Header Kind = "header"
)

// Record is a picture: a record of storage.MediaModel.
type Record struct {
	ID      string         `redis:",id"` // 128 random bits
	Owner   int64          `redis:"owner"`
	Kind    Kind           `redis:"kind"`
	Use     string         `redis:"use"` // see usedByPost; empty if unused
	Picture social.Picture `redis:"picture"`
	Bytes   int64          `redis:"bytes"`   // of all files
	Created int64          `redis:"created"` // when the picture was uploaded or replaced, in Unix seconds
	Version int64          `redis:",version"`
}

// unused is the index of unused pictures by Record.Created.
const unused = "unused_since"

// Indexes returns the indexes by owner and time, and of unused pictures.
func (Record) Indexes() []model.Index[Record] {
	return []model.Index[Record]{
		model.Composite[Record]("owner", "created"),
		model.Computed(unused, func(r Record) *int64 {
			if r.isUsed() {
				return nil
			}
			return &r.Created
		}),
	}
}

// The prefixes of Record.Use. The use of a current avatar or header is its kind.
const (
	usedByPost   = "post:"     // followed by the ID of the post that has the picture
	claimedBy    = "posting:"  // followed by the ID of a post about to be written
	replacedKind = "replaced:" // followed by the kind of an avatar or a header that its owner has replaced
)

// useOfPost returns the use of a picture in a post.
func useOfPost(post int64) string { return storage.Key(usedByPost, post) }

// useOfClaim returns the use of a picture that a post has claimed.
func useOfClaim(post int64) string { return storage.Key(claimedBy, post) }

// isUsed reports whether the picture is in use. Claimed and replaced pictures do not count.
func (r *Record) isUsed() bool {
	return r.Use != "" && !strings.HasPrefix(r.Use, claimedBy) && !r.isReplaced()
}

// isReplaced reports whether the picture is an avatar or a header that its owner has replaced.
func (r *Record) isReplaced() bool { return strings.HasPrefix(r.Use, replacedKind) }

// Post returns the post that has or has claimed the picture, or 0.
func (r *Record) Post() int64 {
	_, id, _ := strings.Cut(r.Use, ":")
	post, _ := storage.ParseID(id)
	return post
}

// fileNames returns the names under which the files of a picture are stored.
func fileNames(p *social.Picture) []string {
	names := make([]string, len(p.Files))
	for i, f := range p.Files {
		names[i] = p.Stored(f)
	}
	return names
}
