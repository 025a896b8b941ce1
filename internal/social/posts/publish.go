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
	"retwis/internal/social/media"
	"retwis/internal/social/text"
)

var (
	//go:embed repeated_claim.lua
	repeatedClaimSource string
	repeatedClaimScript = script.New(repeatedClaimSource).Retryable()
)

// repeatWindow is for how long the same text is taken for a form that was sent twice: over a slow
// connection, the pictures of the second one take a while.
const repeatWindow = time.Minute

// Draft is what somebody wants to publish.
type Draft struct {
	Body      string
	Pictures  []media.Chosen
	Sensitive bool // the pictures are shown after a click
}

// isSensitive reports whether there is something to show after a click.
func (d Draft) isSensitive() bool { return d.Sensitive && len(d.Pictures) > 0 }

// Post publishes a text: on the author's profile and home timeline, on the
// public timeline, and on the home timelines of the author's followers. It
// returns *InvalidError for a text that is not allowed, and ErrForbidden for an address that is
// blocked.
//
// When it returns, the master has the post, and every timeline but the home
// timelines of followers beyond the first thousand or so, which are written in
// the background. Whatever interrupts the fan-out, it is finished later; see
// package fanout. Five round trips, six on a Cluster, and five more for each 200
// followers of the first thousand.
func (p *Service) Post(ctx context.Context, author social.User, body string) (social.Post, error) {
	return p.post(ctx, author, Draft{Body: body}, false)
}

// PostOnce is Post for a form, which a double click sends twice: the same text and pictures
// by the same author within a minute are one post, which all calls return. Each of them
// finishes what the first one has begun. A text whose post was deleted or edited
// meanwhile is a new post. Two round trips more than Post, and up to three for each picture, which
// must be the author's, and of no other post: see media.Store.Claim.
func (p *Service) PostOnce(ctx context.Context, author social.User, draft Draft) (social.Post, error) {
	return p.post(ctx, author, draft, true)
}

// post is Post, or PostOnce.
func (p *Service) post(ctx context.Context, author social.User, draft Draft, once bool) (social.Post, error) {
	body, err := p.clean(ctx, draft)
	if err != nil {
		return social.Post{}, err
	}
	post := social.Post{Author: author, Time: p.time(), Body: body, Sensitive: draft.isSensitive()}
	repeated, err := p.publish(ctx, &post, fanout.Entry{Author: author.ID, Tags: text.Tags(body)}, creation{once, draft.Pictures})
	if err != nil {
		return social.Post{}, err
	}
	p.opt.Timelines.Published(post.ID)
	if !repeated {
		p.opt.Trends.Posted(author, body)
		p.noticePost(ctx, post)
	}
	return post, nil
}

// clean returns a typed text as it is stored, or why it must not be posted.
func (p *Service) clean(ctx context.Context, draft Draft) (string, error) {
	body, err := social.CleanBody(draft.Body)
	if err == nil {
		err = p.opt.Blocklist.CheckAddress(ctx)
	}
	if err == nil {
		err = p.opt.Blocklist.CheckText(ctx, "status", body)
	}
	for _, picture := range draft.Pictures {
		if err == nil {
			err = p.opt.Blocklist.CheckText(ctx, "alt", picture.Alt)
		}
	}
	return body, err
}

// admit refuses a post to many followers, with ErrOverloaded, while too much waits in
// the background: it would reach them late, and delay all others.
func (p *Service) admit(ctx context.Context, author int64) error {
	if p.opt.MaxBacklog < 0 {
		return nil
	}
	n, err := p.opt.FanOut.Jobs.Backlog(ctx)
	if err != nil || n <= p.opt.MaxBacklog { // what cannot be counted is no reason to refuse a post
		return nil
	}
	followers, err := p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Zcard().Key(layout.FollowersKey(author)).Build()).AsInt64()
	if err != nil || followers <= fanout.AtOnce || p.opt.FanOut.IsMerged(ctx, author) {
		return nil
	}
	return social.ErrOverloaded
}

// creation is how a post is written: a text that may be a repetition, and its pictures.
type creation struct {
	once     bool
	pictures []media.Chosen
}

// publish writes a post under a new id and begins its fan-out. repeated reports that
// another call has written it; see PostOnce.
func (p *Service) publish(ctx context.Context, post *social.Post, entry fanout.Entry, c creation) (repeated bool, err error) {
	if err := p.admit(ctx, entry.Author); err != nil {
		return false, err
	}
	if c.once || len(c.pictures) > 0 {
		job, repeated, err := p.createAs(ctx, post, entry, c)
		if err != nil {
			return false, err
		}
		return repeated, p.opt.FanOut.Publish(ctx, job)
	}
	entry.Fields = fieldsOf(*post, entry.To)
	job := p.opt.FanOut.NewJob(ctx, entry)
	if err := p.opt.FanOut.Create(ctx, &job); err != nil {
		return false, fmt.Errorf("social: post: %w", err)
	}
	post.ID = job.ID()
	return false, p.opt.FanOut.Publish(ctx, job)
}

// createAs writes a post under an id that it gets before: that of the same post where the text is
// a repetition. The pictures are claimed for the id, so that no other post gets them.
func (p *Service) createAs(ctx context.Context, post *social.Post, entry fanout.Entry, c creation) (job fanout.Job, repeated bool, err error) {
	var id int64
	var key string
	if c.once {
		// A form without scripts that is sent twice stores its pictures twice, under other ids.
		var looks string
		if looks, err = p.opt.Pictures.Looks(ctx, c.pictures); err == nil {
			key = layout.RepeatedKey(post.Author.ID, post.Parent, post.Body+looks)
			id, repeated, err = p.claim(ctx, key, post)
		}
	} else {
		id, err = p.opt.FanOut.NextID(ctx)
	}
	if err != nil {
		return fanout.Job{}, false, fmt.Errorf("social: post: %w", err)
	}
	if post.Media, err = p.opt.Pictures.Claim(ctx, entry.Author, id, c.pictures); err != nil {
		if c.once && !repeated { // the form comes again with other pictures, and is no repetition
			p.forgetClaim(ctx, key)
		}
		return fanout.Job{}, false, err
	}
	create := func() (bool, error) {
		entry.Fields = fieldsOf(*post, entry.To)
		job = p.opt.FanOut.NewJob(ctx, entry)
		return p.opt.FanOut.CreateAs(ctx, &job, id)
	}
	created, err := create()
	if err == nil && !created && c.once && p.sameAs(ctx, post, id) {
		repeated = true
		created, err = create()
	}
	if err == nil && !created { // the id is in use, as after a failover
		repeated = false
		err = p.opt.FanOut.Create(ctx, &job)
	}
	post.ID = job.ID()
	return job, repeated, err
}

// fieldsOf returns the hash of a new post; to is the author of the post that it replies to.
func fieldsOf(post social.Post, to int64) []string {
	fields := []string{"user_id", layout.Itoa(post.Author.ID), "time", layout.Seconds(post.Time)}
	if post.Parent != 0 {
		fields = append(fields, "parent", layout.Itoa(post.Parent), "root", layout.Itoa(post.Root), "to", layout.Itoa(to))
	}
	if post.RepostOf != 0 {
		return append(fields, "repost_of", layout.Itoa(post.RepostOf))
	}
	fields = append(fields, "body", post.Body)
	if post.Media != "" {
		fields = append(fields, "media", string(post.Media))
	}
	if post.Sensitive {
		fields = append(fields, "sensitive", "1")
	}
	return fields
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

// claim returns the id of a post that is about to be written, or that of the same post
// that another call writes or has written, whose time it takes over. Atomic: of calls at
// the same time one gets a new id.
func (p *Service) claim(ctx context.Context, key string, post *social.Post) (id int64, repeated bool, err error) {
	if id, err = p.opt.FanOut.NextID(ctx); err != nil {
		return 0, false, err
	}
	own, other := claimOf(id, post.Time), ""
	for {
		has, err := repeatedClaimScript.Run(ctx, p.opt.DB.Client, []string{key},
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

// forgetClaim undoes claim. Where it fails, the text counts as a repetition for a minute.
func (p *Service) forgetClaim(ctx context.Context, key string) {
	if err := p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Unlink().Key(key).Build()).Error(); err != nil {
		p.opt.Log.WarnContext(ctx, "the claim of a text that was not posted is left", "error", err)
	}
}

func claimOf(id int64, at time.Time) string { return layout.Itoa(id) + " " + layout.Seconds(at) }

func parseClaim(text string) (id int64, at time.Time, ok bool) {
	first, seconds, ok := strings.Cut(text, " ")
	id, isID := layout.ParseID(first)
	return id, layout.ParseTime(seconds), ok && isID
}
