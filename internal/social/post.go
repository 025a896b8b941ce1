package social

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/fanout"
	"retwis/internal/social/layout"
	"retwis/internal/social/reply"
	"retwis/internal/social/text"
)

// Post is a short text by a user, a reply to another post, or a repost of one.
type Post struct {
	ID     int64
	Author User
	Time   time.Time // to the second
	Body   string    // empty for a repost

	Parent   int64     // the post that this one replies to; 0 for no reply
	Root     int64     // the first post of the conversation; 0 for no reply
	RepostOf int64     // the post that this one repeats; 0 for no repost
	Edited   time.Time // the last edit, zero for none
	Deleted  bool      // only a stub is left, which holds the conversation together

	// A moderator has hidden the post from everybody but its author, at a time and
	// with a message for the author. The zero time: no one has.
	Hidden        time.Time
	HiddenMessage string

	Counts PostCounts
}

// PostCounts are the numbers below a post.
type PostCounts struct{ Replies, Reposts, Likes int64 }

// posts publishes and reads posts.
type posts struct {
	*users
	fanOut     *fanout.Engine
	allViews   *views
	allViewers *viewers
	notices    *notifications
	log        *slog.Logger
	now        func() time.Time
	maxBacklog int64 // see Options.MaxBacklog

	published, removed func(post int64) // are called after a change of the public timeline
}

// Post publishes a text: on the author's profile and home timeline, on the
// public timeline, and on the home timelines of the author's followers. It
// returns *InvalidError for a text that is not allowed.
//
// When it returns, the master has the post, and every timeline but the home
// timelines of followers beyond the first thousand or so, which are written in
// the background. Whatever interrupts the fan-out, it is finished later; see
// package fanout. Five round trips, six on a Cluster, and five more for each 200
// followers of the first thousand.
func (p *posts) Post(ctx context.Context, author User, body string) (Post, error) {
	return p.post(ctx, author, body, false)
}

// post is Post, or PostOnce.
func (p *posts) post(ctx context.Context, author User, body string, once bool) (Post, error) {
	body, err := cleanBody(body)
	if err != nil {
		return Post{}, err
	}
	post := Post{Author: author, Time: p.time(), Body: body}
	repeated, err := p.publish(ctx, &post, fanout.Entry{Author: author.ID, Tags: text.Tags(body)}, once)
	if err != nil {
		return Post{}, err
	}
	p.published(post.ID)
	if !repeated {
		p.noticePost(ctx, post)
	}
	return post, nil
}

// time is the time of a post that is written now.
func (p *posts) time() time.Time { return p.now().UTC().Truncate(time.Second) }

// fieldsOf returns the hash of a new post.
func fieldsOf(post Post) []string {
	fields := []string{"user_id", layout.Itoa(post.Author.ID), "time", layout.Seconds(post.Time)}
	if post.Parent != 0 {
		fields = append(fields, "parent", layout.Itoa(post.Parent), "root", layout.Itoa(post.Root))
	}
	if post.RepostOf != 0 {
		return append(fields, "repost_of", layout.Itoa(post.RepostOf))
	}
	return append(fields, "body", post.Body)
}

// publish writes a post under a new id and begins its fan-out. repeated reports that
// another call has written it; see PostOnce.
func (p *posts) publish(ctx context.Context, post *Post, entry fanout.Entry, once bool) (repeated bool, err error) {
	if err := p.admit(ctx, entry.Author); err != nil {
		return false, err
	}
	if once {
		job, repeated, err := p.createOnce(ctx, post, entry)
		if err != nil {
			return false, err
		}
		return repeated, p.fanOut.Publish(ctx, job)
	}
	entry.Fields = fieldsOf(*post)
	job := p.fanOut.Begin(ctx, entry)
	if err := p.fanOut.Create(ctx, &job); err != nil {
		return false, fmt.Errorf("social: post: %w", err)
	}
	post.ID = job.ID()
	return false, p.fanOut.Publish(ctx, job)
}

// admit refuses a post to many followers, with ErrOverloaded, while too much waits in
// the background: it would reach them late, and delay all others.
func (p *posts) admit(ctx context.Context, author int64) error {
	if p.maxBacklog < 0 {
		return nil
	}
	n, err := p.fanOut.Backlog(ctx)
	if err != nil || n <= p.maxBacklog { // what cannot be counted is no reason to refuse a post
		return nil
	}
	followers, err := p.client.Do(ctx, p.client.B().Zcard().Key(layout.FollowersKey(author)).Build()).AsInt64()
	if err != nil || followers <= fanout.AtOnce || p.fanOut.IsMerged(ctx, author) {
		return nil
	}
	return ErrOverloaded
}

// Posts returns the posts with these ids, in their order, without those that do
// not exist or are deleted. Two round trips at most.
func (p *posts) Posts(ctx context.Context, ids ...int64) ([]Post, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = rueidis.Completed(postCommand(p.client, id))
	}
	all, err := p.parseAll(ctx, ids, p.client.DoMulti(ctx, cmds...))
	if err != nil {
		return nil, err
	}
	found := all[:0]
	for _, post := range all {
		if post.ID != 0 && !post.Deleted {
			found = append(found, post)
		}
	}
	return found, nil
}

// postFields are the fields of a post that are read.
var postFields = []string{
	"user_id", "time", "body", "parent", "root", "repost_of", "edited", "deleted", "replies", "reposts", "likes", "hidden",
}

// postCommand reads a post; parsePost reads its reply.
func postCommand(client rueidis.Client, id int64) rueidis.Cacheable {
	return client.B().Hmget().Key(layout.PostKey(id)).Field(postFields...).Cache()
}

// parseAll reads the replies to postCommand, and the authors: a post at the place
// of each id, with the id 0 where there is no such post or its author is lost.
func (u *users) parseAll(ctx context.Context, ids []int64, results []rueidis.RedisResult) ([]Post, error) {
	posts := make([]Post, len(ids))
	var authors []int64
	asked := make(map[int64]bool)
	for i, res := range results {
		post, ok, err := parsePost(ids[i], res)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		posts[i] = post
		if !asked[post.Author.ID] {
			asked[post.Author.ID] = true
			authors = append(authors, post.Author.ID)
		}
	}
	users, err := u.byID(ctx, authors)
	if err != nil {
		return nil, err
	}
	for i := range posts {
		author, ok := users[posts[i].Author.ID]
		if !ok {
			posts[i] = Post{}
		} else {
			posts[i].Author = author
		}
	}
	return posts, nil
}

// parsePost reads the hash of a post, with only the id of its author. ok is
// false where there is no such post, or the key is of another type.
func parsePost(id int64, res rueidis.RedisResult) (post Post, ok bool, err error) {
	values, err := res.ToArray()
	if reply.IsWrongType(err) {
		return Post{}, false, nil
	}
	if err != nil {
		return Post{}, false, fmt.Errorf("social: read a post: %w", err)
	}
	if len(values) != len(postFields) || values[0].IsNil() {
		return Post{}, false, nil
	}
	texts := make([]string, len(values))
	for i, value := range values {
		if !value.IsNil() {
			texts[i], _ = value.ToString()
		}
	}
	author, err := strconv.ParseInt(texts[0], 10, 64)
	if err != nil {
		return Post{}, false, nil // not a post of Retwis
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(texts[field], 10, 64) // a damaged number counts as none
		return max(n, 0)
	}
	hidden, message, _ := strings.Cut(texts[11], " ")
	return Post{
		ID: id, Author: User{ID: author}, Hidden: layout.ParseTime(hidden), HiddenMessage: message, Time: layout.ParseTime(texts[1]), Body: texts[2],
		Parent: number(3), Root: number(4), RepostOf: number(5),
		Edited: layout.ParseTime(texts[6]), Deleted: texts[7] != "",
		Counts: PostCounts{Replies: number(8), Reposts: number(9), Likes: number(10)},
	}, true, nil
}
