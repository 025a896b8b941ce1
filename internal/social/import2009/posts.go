package import2009

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/load"
	"retwis/internal/social/storage"
)

const (
	// postBatch limits the number of posts that are written together.
	postBatch = 5000
	// postBytes limits the total length of posts that are written together.
	postBytes = 8 << 20
)

// pendingPosts are posts that are not written yet.
type pendingPosts struct {
	all   []load.NewPost
	bytes int
}

// posts imports the posts among the keys.
func (r *run) posts(ctx context.Context, keys []string) error {
	for chunk := range slices.Chunk(keys, batch) {
		if err := r.readPosts(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) readPosts(ctx context.Context, keys []string) error {
	var ids, authors []int64
	var reads rueidis.Commands
	for _, key := range keys {
		if id, ok := storage.ParseID(strings.TrimPrefix(key, storage.PostPrefix)); ok {
			r.lastPost = max(r.lastPost, id) // no new post can have the ID of a skipped post
			ids = append(ids, id)
			reads = append(reads, r.Source.B().Getrange().Key(key).Start(0).End(layout2009.MaxPost).Build())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var posts []load.NewPost
	for i, res := range r.Source.DoMulti(ctx, reads...) {
		value, err := res.ToString()
		if rediserr.IsWrongType(err) {
			r.skip(ctx, storage.PostKey(ids[i]), "not a string")
			continue
		}
		if err != nil {
			return err
		}
		post, err := layout2009.ParsePost(value)
		if err != nil {
			r.skip(ctx, storage.PostKey(ids[i]), "%v", err)
			continue
		}
		posts = append(posts, load.NewPost{ID: ids[i], Author: post.Author, Time: post.Time, Body: post.Body})
		authors = append(authors, post.Author)
	}
	exist, err := r.existing(ctx, authors)
	if err != nil {
		return err
	}
	for _, post := range posts {
		if !exist[post.Author] {
			r.skip(ctx, storage.PostKey(post.ID), "there is no user %d", post.Author)
			continue
		}
		r.unwritten.all = append(r.unwritten.all, post)
		r.unwritten.bytes += len(post.Body)
	}
	if len(r.unwritten.all) < postBatch && r.unwritten.bytes < postBytes {
		return nil
	}
	return r.flushPosts(ctx)
}

// flushPosts writes the pending posts.
func (r *run) flushPosts(ctx context.Context) error {
	posts := r.unwritten.all
	if len(posts) == 0 {
		return nil
	}
	slices.SortFunc(posts, func(a, b load.NewPost) int { return cmp.Compare(a.ID, b.ID) })
	posts = slices.CompactFunc(posts, func(a, b load.NewPost) bool { return a.ID == b.ID }) // a scan can repeat a key
	if err := r.loader.KeepPosts(ctx, posts); err != nil {
		return err
	}
	r.posted.Add(int64(len(posts)))
	r.unwritten = pendingPosts{all: posts[:0]}
	return nil
}
