package media

import (
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/model"
)

// Kind says what a picture was uploaded for.
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
	Use     string         `redis:"use"` // see the functions below; empty: nothing uses it
	Picture social.Picture `redis:"picture"`
	Bytes   int64          `redis:"bytes"`   // of all files
	Created int64          `redis:"created"` // when it was uploaded, or replaced, in unix seconds
	Version int64          `redis:",version"`
}

// The index of pictures that nothing uses yet, or any more, by that time.
const unused = "unused_since"

// Indexes are those by owner and time, and of what nothing uses.
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

// What uses a picture.
const (
	ofPost   = "post:"     // followed by the id of a post that has the picture
	claimed  = "posting:"  // by that of one that is about to be written
	replaced = "replaced:" // by the kind of an avatar or a header that its owner has replaced
)

func useOfPost(post int64) string { return storage.Key(ofPost, post) }

func useOfClaim(post int64) string { return storage.Key(claimed, post) }

// isUsed reports whether it is certain that something uses the picture.
func (r *Record) isUsed() bool {
	return r.Use != "" && !strings.HasPrefix(r.Use, claimed) && !r.isReplaced()
}

func (r *Record) isReplaced() bool { return strings.HasPrefix(r.Use, replaced) }

// Post returns the post that has the picture, or that it is claimed for; 0 for none.
func (r *Record) Post() int64 {
	_, id, _ := strings.Cut(r.Use, ":")
	post, _ := storage.ParseID(id)
	return post
}

// fileNames are the names under which the files of a picture are stored.
func fileNames(p *social.Picture) []string {
	names := make([]string, len(p.Files))
	for i, f := range p.Files {
		names[i] = p.Stored(f)
	}
	return names
}
