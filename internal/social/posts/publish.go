package posts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"retwis/internal/social"

	"retwis/internal/social/media"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
)

// repeatWindow is the time within which the same text counts as a form sent twice. Over a slow
// connection, the upload of the second form's pictures takes a while.
const repeatWindow = time.Minute

// Draft is a post to be published.
type Draft struct {
	Body      string
	Pictures  []media.Chosen
	Sensitive bool // the pictures are shown after a click
}

// isSensitive reports whether there are pictures to show only after a click.
func (d Draft) isSensitive() bool { return d.Sensitive && len(d.Pictures) > 0 }

// Post publishes a text: on the author's profile and home timeline, on the public timeline, and on
// the home timelines of the author's followers. It returns *InvalidError if the text is not
// allowed, and ErrForbidden if the address is blocked.
//
// When Post returns, the master, its replicas and all timelines have the post, except the home
// timelines of followers beyond the first thousand or so, which are written in the background. An
// interrupted fan-out is finished later; see Engine. Five round trips, six on a Cluster, and five
// more for each 200 followers of the first thousand.
func (p *Service) Post(ctx context.Context, author social.User, body string) (social.Post, error) {
	return p.post(ctx, author, Draft{Body: body}, false)
}

// PostOnce is Post for a form, which a double click can send twice: calls with the same author,
// text and pictures within a minute publish one post, which all calls return. Each call completes
// the publication. If the post was deleted or edited meanwhile, the text becomes a new post.
// PostOnce takes two round trips more than Post, and up to three for each picture. The pictures
// must belong to the author and to no other post; see media.Store.Claim.
func (p *Service) PostOnce(ctx context.Context, author social.User, draft Draft) (social.Post, error) {
	return p.post(ctx, author, draft, true)
}

// post implements Post and PostOnce.
func (p *Service) post(ctx context.Context, author social.User, draft Draft, once bool) (social.Post, error) {
	body, err := p.clean(ctx, draft)
	if err != nil {
		return social.Post{}, err
	}
	post := social.Post{Author: author, Time: p.time(), Body: body, Sensitive: draft.isSensitive()}
	err = p.publish(ctx, &post, Entry{Author: author.ID, Tags: text.Tags(body)}, creation{once, draft.Pictures})
	if err != nil {
		return social.Post{}, err
	}
	p.opt.Timelines.Published(post.ID)
	p.opt.Trends.Posted(author, post)
	return post, nil
}

// clean returns the text of a draft in the form in which it is stored, or an error if the draft
// must not be posted.
func (p *Service) clean(ctx context.Context, draft Draft) (string, error) {
	body, err := social.CleanBody(draft.Body)
	if err == nil {
		err = p.opt.Blocklist.CheckAddress(ctx)
	}
	if err == nil {
		err = p.opt.Blocklist.CheckText(ctx, "status", body)
	}
	if err == nil {
		err = p.checkAlts(ctx, draft.Pictures)
	}
	return body, err
}

// checkAlts returns an error if picture descriptions must not be posted.
func (p *Service) checkAlts(ctx context.Context, pictures []media.Chosen) error {
	for _, picture := range pictures {
		if err := p.opt.Blocklist.CheckText(ctx, "alt", picture.Alt); err != nil {
			return err
		}
	}
	return nil
}

// admit refuses a post to many followers with ErrOverloaded while the backlog is too long, because
// the post would reach the followers late and delay all other posts.
func (p *Service) admit(ctx context.Context, author int64) error {
	if p.opt.MaxBacklog < 0 {
		return nil
	}
	n, err := p.opt.FanOut.Tasks().Backlog(ctx)
	if err != nil || n <= p.opt.MaxBacklog { // if the backlog cannot be counted, accept the post
		return nil
	}
	followers, err := p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Zcard().Key(storage.FollowersKey(author)).Build()).AsInt64()
	if err != nil || followers <= AtOnce || p.opt.FanOut.IsMerged(ctx, author) {
		return nil
	}
	return social.ErrOverloaded
}

// creation has the parameters for creating a post.
type creation struct {
	once     bool // the post may be a repetition; see PostOnce
	pictures []media.Chosen
}

// publish writes a post under a new ID and publishes it.
func (p *Service) publish(ctx context.Context, post *social.Post, entry Entry, c creation) error {
	if err := p.admit(ctx, entry.Author); err != nil {
		return err
	}
	if c.once || len(c.pictures) > 0 {
		job, err := p.createAs(ctx, post, entry, c)
		if err != nil {
			return err
		}
		return p.opt.FanOut.Publish(ctx, job)
	}
	entry.Fields = fieldsOf(*post, entry.To)
	job := p.opt.FanOut.NewJob(ctx, entry)
	if err := p.opt.FanOut.Create(ctx, &job); err != nil {
		return fmt.Errorf("social: post: %w", err)
	}
	post.ID = job.ID()
	return p.opt.FanOut.Publish(ctx, job)
}

// createAs writes a post under an ID that is assigned beforehand, which is the ID of the existing
// post if the text is a repetition. It claims the pictures for the ID, so no other post gets them.
func (p *Service) createAs(ctx context.Context, post *social.Post, entry Entry, c creation) (job Job, err error) {
	var claim Claim
	var key string
	if c.once {
		// A form that is sent twice without scripts stores its pictures twice, under different IDs.
		var looks string
		if looks, err = p.opt.Pictures.Looks(ctx, c.pictures); err == nil {
			key = storage.RepeatedKey(post.Author.ID, post.Parent, post.Body+looks)
			claim, err = p.claim(ctx, key, post)
		}
	} else {
		claim.ID, err = p.opt.FanOut.NextID(ctx)
	}
	if err != nil {
		return Job{}, fmt.Errorf("social: post: %w", err)
	}
	if post.Media, err = p.opt.Pictures.Claim(ctx, entry.Author, claim.ID, c.pictures); err != nil {
		if c.once && claim.New { // the next form has other pictures and is not a repetition
			p.forget(ctx, key)
		}
		return Job{}, err
	}
	create := func() (bool, error) {
		entry.Fields = fieldsOf(*post, entry.To)
		job = p.opt.FanOut.NewJob(ctx, entry)
		return p.opt.FanOut.CreateAs(ctx, &job, claim.ID)
	}
	created, err := create()
	if err == nil && !created && c.once && p.sameAs(ctx, post, claim.ID) {
		created, err = create()
	}
	if err == nil && !created { // the ID is in use, as after a failover
		err = p.opt.FanOut.Create(ctx, &job)
	}
	post.ID = job.ID()
	return job, err
}

// fieldsOf returns the hash of a new post; to is the author of the parent.
func fieldsOf(post social.Post, to int64) []string {
	fields := []string{"user_id", storage.Itoa(post.Author.ID), "time", storage.Seconds(post.Time)}
	if post.Parent != 0 {
		fields = append(fields, "parent", storage.Itoa(post.Parent), "root", storage.Itoa(post.Root), "to", storage.Itoa(to))
	}
	if post.RepostOf != 0 {
		return append(fields, "repost_of", storage.Itoa(post.RepostOf))
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

// sameAs reports whether the stored post with an ID is the post being written. If it is, sameAs
// adopts the stored pictures, because a form that was sent twice has stored its pictures twice. The
// second copies are deleted with other unused pictures.
func (p *Service) sameAs(ctx context.Context, post *social.Post, id int64) bool {
	stored, err := p.stored(ctx, id)
	if err != nil || stored.Author.ID != post.Author.ID || stored.Body != post.Body || !stored.Time.Equal(post.Time) || stored.Parent != post.Parent {
		return false
	}
	post.Media, post.Sensitive = stored.Media, stored.Sensitive
	return true
}

// claim returns a new ID for a post about to be written. If another call writes or has written the
// same post, it returns the ID of that post and adopts its time.
func (p *Service) claim(ctx context.Context, key string, post *social.Post) (Claim, error) {
	ignored := ""
	for {
		c, err := p.opt.FanOut.Claim(ctx, key, ignored, post.Time, repeatWindow)
		if err != nil || c.New {
			return c, err
		}
		stored, err := p.stored(ctx, c.ID)
		switch {
		case errors.Is(err, social.ErrNotFound), err == nil && !stored.Deleted && stored.Body == post.Body:
			post.Time = c.Time
			return c, nil
		case err != nil:
			return Claim{}, err
		}
		ignored = c.Text
	}
}

// forget undoes claim. If it fails, the text counts as a repetition for a minute.
func (p *Service) forget(ctx context.Context, key string) {
	if err := p.opt.DB.Client.Do(ctx, p.opt.DB.Client.B().Unlink().Key(key).Build()).Error(); err != nil {
		p.opt.Log.WarnContext(ctx, "cannot remove the claim of a text that was not posted", "error", err)
	}
}
