package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/redis/reads"
	"retwis/internal/social/storage"
	segments "retwis/internal/social/text"
)

// IndexedPost has the properties of a post that are indexed. The hash of the post has all of them,
// so that an IndexedPost can be reconstructed when the post is edited or deleted.
type IndexedPost struct {
	ID, Author int64
	Parent     int64 // 0 if the post is not a reply
	To         int64 // the author of the parent; 0 if none or unknown
	Body       string
}

// The exact terms of posts. Some are followed by a value, such as a user ID.
const (
	FromTerm    = "from:"
	ToTerm      = "to:"
	MentionTerm = "mention:"
	TagTerm     = "tag:"
	HasLink     = "has:link"
	IsReply     = "is:reply"
)

// maxTerm limits the length of an exact term, in bytes.
const maxTerm = 63

// Term returns an exact term with a value. A long value is replaced by a digest.
func Term(name, value string) string {
	if len(name)+len(value) > maxTerm {
		sum := sha256.Sum256([]byte(value))
		value = hex.EncodeToString(sum[:16])
	}
	return name + value
}

// maxText limits the text of an older program's post, in bytes.
const maxText = 100 << 10

// asDocument returns the document of the post with a given text.
func (p IndexedPost) asDocument(body string) text.Document {
	d := text.Document{Text: strings.ToValidUTF8(body[:min(len(body), maxText)], ""), Terms: []string{Term(FromTerm, storage.Itoa(p.Author))}}
	if p.Parent != 0 {
		d.Terms = append(d.Terms, IsReply)
	}
	if p.To != 0 {
		d.Terms = append(d.Terms, Term(ToTerm, storage.Itoa(p.To)))
	}
	if !strings.ContainsAny(body, "@＠#＃") && !strings.Contains(body, "://") {
		return d
	}
	for _, s := range segments.Parse(body) {
		switch s.Kind {
		case segments.Tag:
			d.Terms = append(d.Terms, Term(TagTerm, s.Target))
		case segments.Mention:
			d.Terms = append(d.Terms, Term(MentionTerm, storage.Fold(s.Target)))
		case segments.Link:
			d.Terms = append(d.Terms, HasLink)
		}
	}
	return d
}

// documents returns the documents of the post with each of the given texts.
func (p IndexedPost) documents(bodies []string) []text.Document {
	all := make([]text.Document, len(bodies))
	for i, body := range bodies {
		all[i] = p.asDocument(body)
	}
	return all
}

// Posts is the index of the texts of posts. It is safe for concurrent use.
type Posts struct{ lazyIndex }

// NewPosts returns the index of the database of client. It sends no commands.
func NewPosts(client rueidis.Client) *Posts {
	x := &Posts{lazyIndex{client: client, key: PostsKey}}
	x.texts = x.bodies
	return x
}

// Put adds a new post. Repeating the call changes nothing. Put returns text.ErrConflict if the
// index has the post with a different text, or the post was removed; see Replace. One round trip.
func (x *Posts) Put(ctx context.Context, p IndexedPost) error {
	return x.do(ctx, func(idx *text.Index) error { return idx.Put(ctx, p.ID, p.asDocument(p.Body)) })
}

// Replace makes the index agree with a post that had the given earlier texts, latest first. It
// returns text.ErrConflict if the index has none of these texts. About two round trips.
func (x *Posts) Replace(ctx context.Context, p IndexedPost, earlier []string) error {
	return x.do(ctx, func(idx *text.Index) error {
		// Clear may have left the empty document of another post.
		return replace(ctx, idx, p.ID, p.asDocument(p.Body), append(p.documents(earlier), text.Document{}))
	})
}

// Remove removes a post that has its current text or one of the earlier texts. A late Put does not
// restore the post. Remove returns text.ErrConflict if the index has none of these texts.
func (x *Posts) Remove(ctx context.Context, p IndexedPost, earlier []string) error {
	return x.do(ctx, func(idx *text.Index) error {
		return remove(ctx, idx, p.ID, append(p.documents(append([]string{p.Body}, earlier...)), text.Document{}))
	})
}

// Clear removes the words of a post that a failover lost, so that another post with the same ID can
// be indexed.
func (x *Posts) Clear(ctx context.Context, p IndexedPost) error {
	err := x.do(ctx, func(idx *text.Index) error { return idx.Replace(ctx, p.ID, p.asDocument(p.Body), text.Document{}) })
	if errors.Is(err, text.ErrConflict) {
		return nil // the index has the other post, or never had the lost post
	}
	return err
}

// Has reports whether the index has the post with exactly the given text. One round trip.
func (x *Posts) Has(ctx context.Context, p IndexedPost) (bool, error) {
	err := x.do(ctx, func(idx *text.Index) error {
		d := p.asDocument(p.Body)
		return idx.Replace(ctx, p.ID, d, d) // a no-op
	})
	if errors.Is(err, text.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// PutMany adds new posts; see Put. One round trip per hundred or so.
func (x *Posts) PutMany(ctx context.Context, posts iter.Seq[IndexedPost]) error {
	return x.do(ctx, func(idx *text.Index) error {
		_, err := idx.PutMany(ctx, func(yield func(int64, text.Document) bool) {
			for p := range posts {
				if !yield(p.ID, p.asDocument(p.Body)) {
					return
				}
			}
		})
		return err
	})
}

// Search returns a page of post IDs.
func (x *Posts) Search(ctx context.Context, q text.Query) (r text.Result, err error) {
	err = x.do(ctx, func(idx *text.Index) error {
		r, err = idx.Search(ctx, q)
		return err
	})
	return r, err
}

// bodies returns the indexed texts of posts. The index needs them to find phrases.
func (x *Posts) bodies(ctx context.Context, ids []int64) (map[int64]string, error) {
	posts, err := x.read(ctx, ids)
	if err != nil {
		return nil, err
	}
	bodies := make(map[int64]string, len(posts))
	for _, p := range posts {
		bodies[p.ID] = p.asDocument(p.Body).Text
	}
	return bodies, nil
}

// indexFields are the fields of a post that IndexedPost needs, and two fields that only posts
// without a text have.
var indexFields = []string{"user_id", "parent", "to", "body", "repost_of", "deleted"}

// read returns the posts with the given IDs, except reposts and posts that do not exist or are
// deleted. One round trip.
func (x *Posts) read(ctx context.Context, ids []int64) ([]IndexedPost, error) {
	all, err := reads.Fields(ctx, x.client, ids, storage.PostKey, indexFields...)
	if err != nil {
		return nil, fmt.Errorf("social: read a post: %w", err)
	}
	posts := make([]IndexedPost, 0, len(ids))
	for i, values := range all {
		p := IndexedPost{ID: ids[i], Body: values[3]}
		var ok bool
		if p.Author, ok = storage.ParseID(values[0]); !ok || values[4] != "" || values[5] != "" {
			continue
		}
		p.Parent, _ = storage.ParseID(values[1])
		p.To, _ = storage.ParseID(values[2])
		posts = append(posts, p)
	}
	return posts, nil
}

// source returns the source of all posts that have words.
func (x *Posts) source() index.Source[text.Document] {
	return sourceOf(x.client, storage.NextPostID, storage.PostPrefix, func(ctx context.Context, ids []int64) ([]index.Object[text.Document], error) {
		posts, err := x.read(ctx, ids)
		all := make([]index.Object[text.Document], len(posts))
		for i, p := range posts {
			all[i] = index.Object[text.Document]{ID: storage.Itoa(p.ID), Value: p.asDocument(p.Body)}
		}
		return all, err
	})
}
