package posts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
)

var (
	//go:embed repeated_claim.lua
	repeatedClaimSource string
	repeatedClaimScript = script.New(repeatedClaimSource).Retryable()
)

// repeatWindow is for how long the same text is taken for a form that was sent twice.
const repeatWindow = 10 * time.Second

// PostOnce is Post for a form, which a double click sends twice: the same text by the
// same author within ten seconds is one post, which all calls return. Each of them
// finishes what the first one has begun. A text whose post was deleted or edited
// meanwhile is a new post. Two round trips more than Post, and two for each picture, which must be
// the author's, and of no other post: see media.Store.Claim.
func (p *Service) PostOnce(ctx context.Context, author social.User, draft Draft) (social.Post, error) {
	return p.post(ctx, author, draft, true)
}

// ReplyOnce is to Reply what PostOnce is to Post: for replies to the same post.
func (p *Service) ReplyOnce(ctx context.Context, author social.User, parent int64, draft Draft) (social.Post, error) {
	return p.reply(ctx, author, parent, draft, true)
}

// claim returns the id of a post that is about to be written, or that of the same post
// that another call writes or has written, whose time it takes over. Atomic: of calls at
// the same time one gets a new id.
func (p *Service) claim(ctx context.Context, post *social.Post) (id int64, repeated bool, err error) {
	if id, err = p.fanOut.NextID(ctx); err != nil {
		return 0, false, err
	}
	key, own, other := layout.RepeatedKey(post.Author.ID, post.Parent, post.Body), claimOf(id, post.Time), ""
	for {
		has, err := repeatedClaimScript.Run(ctx, p.db.Client, []string{key},
			[]string{own, other, strconv.FormatInt(repeatWindow.Milliseconds(), 10)}).ToString()
		if err != nil || has == own {
			return id, false, err
		}
		first, at, ok := parseClaim(has)
		if !ok {
			return 0, false, fmt.Errorf("social: %s has %q", key, has)
		}
		stored, err := p.stored(ctx, first)
		switch {
		case errors.Is(err, social.ErrNotFound), err == nil && !stored.Deleted && stored.Body == post.Body:
			post.Time = at
			return first, true, nil
		case err != nil:
			return 0, false, err
		}
		other = has
	}
}

// forgetClaim undoes claim. Where it fails, the text counts as a repetition for ten seconds.
func (p *Service) forgetClaim(ctx context.Context, post *social.Post) {
	key := layout.RepeatedKey(post.Author.ID, post.Parent, post.Body)
	if err := p.db.Client.Do(ctx, p.db.Client.B().Unlink().Key(key).Build()).Error(); err != nil {
		p.log.WarnContext(ctx, "the claim of a text that was not posted is left", "error", err)
	}
}

func claimOf(id int64, at time.Time) string { return layout.Itoa(id) + " " + layout.Seconds(at) }

func parseClaim(text string) (id int64, at time.Time, ok bool) {
	first, seconds, ok := strings.Cut(text, " ")
	id, isID := layout.ParseID(first)
	return id, layout.ParseTime(seconds), ok && isID
}

// createAs writes a post under an id that it gets before: that of the same post where the text is
// a repetition. The pictures are claimed for the id, so that no other post gets them.
func (p *Service) createAs(ctx context.Context, post *social.Post, entry fanout.Entry, c creation) (job fanout.Job, repeated bool, err error) {
	var id int64
	if c.once {
		id, repeated, err = p.claim(ctx, post)
	} else {
		id, err = p.fanOut.NextID(ctx)
	}
	if err != nil {
		return fanout.Job{}, false, fmt.Errorf("social: post: %w", err)
	}
	if post.Media, err = p.pictures.Claim(ctx, entry.Author, id, c.pictures); err != nil {
		if c.once && !repeated { // the form comes again with other pictures, and is no repetition
			p.forgetClaim(ctx, post)
		}
		return fanout.Job{}, false, err
	}
	create := func() (bool, error) {
		entry.Fields = fieldsOf(*post, entry.To)
		job = p.fanOut.NewJob(ctx, entry)
		return p.fanOut.CreateAs(ctx, &job, id)
	}
	created, err := create()
	if err == nil && !created && c.once && p.sameAs(ctx, post, id) {
		repeated = true
		created, err = create()
	}
	if err == nil && !created { // the id is in use, as after a failover
		repeated = false
		err = p.fanOut.Create(ctx, &job)
	}
	post.ID = job.ID()
	return job, repeated, err
}

// sameAs reports whether the post that has an id is the one that is being written, and takes over
// its pictures: a form that was sent twice has stored them twice. What the second one has
// stored is deleted with all that nothing uses.
func (p *Service) sameAs(ctx context.Context, post *social.Post, id int64) bool {
	stored, err := p.stored(ctx, id)
	if err != nil || stored.Author.ID != post.Author.ID || stored.Body != post.Body || !stored.Time.Equal(post.Time) || stored.Parent != post.Parent {
		return false
	}
	post.Media, post.Sensitive = stored.Media, stored.Sensitive
	return true
}
