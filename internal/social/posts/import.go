package posts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/social/storage"
)

// Imported is a post that was written on another site, with the field `source`, and the ID reserved
// for the post.
type Imported struct {
	ID int64
	Entry
}

// Imports writes posts that were written on other sites. It adds the posts to their conversations,
// to the search index, and finally to the author's list of imported posts. The posts appear on no
// timeline and no tag page, and nobody is notified. Imports records no tasks, because the caller is
// a task.
type Imports struct{ engine *Engine }

// Write writes new posts. It returns the reserved IDs that other posts have taken in the meantime.
// Write can be repeated.
func (x *Imports) Write(ctx context.Context, posts []Imported) (inUse []int64, err error) {
	client, jobs, states := x.engine.client, make([]Job, len(posts)), make([]int64, len(posts))
	err = storage.AtOnce(len(posts), func(i int) (err error) {
		jobs[i] = Job{post: posts[i].ID, Entry: posts[i].Entry}
		var reply []string
		reply, err = createPostScript.Run(ctx, client, []string{storage.PostKey(jobs[i].post)},
			append([]string{"", ""}, jobs[i].Fields...)).AsStrSlice()
		if err == nil {
			states[i], err = strconv.ParseInt(reply[0], 10, 64)
		}
		return err
	})
	if err == nil { // all parents exist now
		err = storage.AtOnce(len(posts), func(i int) error {
			if states[i] != 1 {
				return nil
			}
			return x.finish(ctx, &jobs[i])
		})
	}
	if err != nil {
		return nil, fmt.Errorf("social: import posts: %w", err)
	}
	for i, state := range states {
		if state == 0 {
			inUse = append(inUse, posts[i].ID)
		}
	}
	return inUse, nil
}

// Finish completes posts that have been written.
func (x *Imports) Finish(ctx context.Context, ids []int64) error {
	return storage.AtOnce(len(ids), func(i int) error {
		job, err := x.engine.writer.stored(ctx, ids[i])
		switch {
		case errors.Is(err, errDeleted), errors.Is(err, ErrNoPost):
			return nil
		case err != nil:
			return err
		}
		return x.finish(ctx, &job)
	})
}

// finish adds a written post to its parent, the search index and its lists.
func (x *Imports) finish(ctx context.Context, job *Job) error {
	w := x.engine.writer
	if err := w.attach(ctx, job, false); err != nil {
		return err
	}
	if err := w.words.index(ctx, job)(); err != nil {
		return err
	}
	places := job.places()
	places.Imported = true
	for _, key := range slices.Backward(places.Entries()) { // the author's list comes last
		if err := writeAll(ctx, w.client, rueidis.Commands{w.put(key, job.post)}); err != nil {
			return err
		}
	}
	var err error
	if job.reread, err = w.reread(ctx, job.post); err != nil {
		return err
	}
	return x.engine.reconcile(ctx, *job)
}
