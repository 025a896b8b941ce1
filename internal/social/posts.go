package social

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Post is something that somebody said. It never changes.
type Post struct {
	ID     int64
	Author User
	Time   time.Time // to the second
	Body   string
}

// Post publishes a text: on the author's profile and home timeline, on
// everybody's timeline, and on the home timelines of the author's followers.
// It returns *InvalidError for a text that cannot be accepted.
//
// When it returns, the master has the post, and it stands everywhere but on the
// home timelines of followers beyond the first thousand or so, which go on in the
// background. Whatever interrupts it, `fanouts` remembers that the post is not
// everywhere yet, and repeating the fan-out does no harm: see Resume and the
// comment in confirm.go. Five round trips, six on a Cluster, and five more for
// each 200 followers of the first thousand.
func (s *Service) Post(ctx context.Context, author User, body string) (Post, error) {
	body, err := cleanBody(body)
	if err != nil {
		return Post{}, err
	}
	post := Post{Author: author, Time: s.now().UTC().Truncate(time.Second), Body: body}
	job := fanOut{author: author.ID, after: everybody}
	job.fields = []string{"user_id", itoa(author.ID), "time", seconds(post.Time), "body", body}
	job.masters, _ = s.identity(ctx) // not known: the fan-out is repeated
	if post.ID, err = s.createPost(ctx, job.fields); err != nil {
		return Post{}, fmt.Errorf("social: post: %w", err)
	}
	job.post = post.ID
	if err := s.publish(ctx, job); err != nil {
		return Post{}, err
	}
	return post, nil
}

// createPost writes a post under the next id. Should the id be in use, as after
// a server has lost its last second, it takes the one after it.
func (s *Service) createPost(ctx context.Context, fields []string) (int64, error) {
	for {
		id, err := s.nextPostID(ctx)
		if err != nil {
			return 0, err
		}
		if created, err := s.writePost(ctx, id, fields); err != nil || created {
			s.sawPost(id)
			return id, err
		}
	}
}

// writePost writes a post unless the id is in use. `fanouts` knows of it, so
// that whatever is written, and by whatever it is interrupted, is finished: in
// the same script, or on a Cluster before it; an entry for the post of another
// does no harm.
func (s *Service) writePost(ctx context.Context, id int64, fields []string) (bool, error) {
	now := s.now().Unix()
	if !s.cluster {
		return createPostScript.Run(ctx, s.client, []string{postKey(id), keyFanOuts}, append([]string{itoa(id), itoa(now)}, fields...)).AsBool()
	}
	err := s.client.Do(ctx, s.client.B().Zadd().Key(keyFanOuts).ScoreMember().ScoreMember(float64(now), itoa(id)).Build().ToRetryable()).Error()
	if err != nil {
		return false, err
	}
	return createScript.Run(ctx, s.client, []string{postKey(id)}, fields).AsBool()
}

// maxLostPosts is how far the counter can have fallen back with a server that
// lost writes. An id that is further ahead was never given out: somebody wrote
// it by hand, and moving the counter there could not be undone.
const maxLostPosts = 1_000_000

// nextPostID returns an id that no post has had. A counter that is behind what
// has been seen of posts fell back with a server that lost writes: it is moved
// on, or a new post would be taken for a lost one that somebody remembers.
func (s *Service) nextPostID(ctx context.Context) (int64, error) {
	seen := s.lastPost.Load() // before the counter moves: what others create meanwhile is no sign
	id, err := s.nextID(ctx, keyNextPostID)
	if err != nil {
		return 0, err
	}
	s.postCounter.Store(id)
	if id > seen {
		return id, nil
	}
	if seen-id > maxLostPosts {
		s.log.WarnContext(ctx, "ignored a post whose id is far ahead of the counter", "post", seen, "counter", id)
		s.lastPost.CompareAndSwap(seen, id)
		return id, nil
	}
	return s.client.Do(ctx, s.client.B().Incrby().Key(keyNextPostID).Increment(seen-id+1).Build()).AsInt64()
}

// sawPost notes the largest id of a post that this process knows of.
func (s *Service) sawPost(id int64) {
	if counter := s.postCounter.Load(); counter > 0 && id > counter+maxLostPosts {
		return
	}
	for {
		last := s.lastPost.Load()
		if id <= last || s.lastPost.CompareAndSwap(last, id) {
			return
		}
	}
}

// Posts returns the posts with these ids, in their order; one that does not
// exist is left out. Two round trips at most.
func (s *Service) Posts(ctx context.Context, ids ...int64) ([]Post, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		cmds[i] = s.client.B().Hmget().Key(postKey(id)).Field("user_id", "time", "body").Build()
	}
	posts := make([]Post, 0, len(ids))
	var authors []int64
	seen := make(map[int64]bool)
	for i, res := range s.client.DoMulti(ctx, cmds...) {
		post, ok, err := parsePost(ids[i], res)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		posts = append(posts, post)
		if !seen[post.Author.ID] {
			seen[post.Author.ID] = true
			authors = append(authors, post.Author.ID)
		}
	}
	users, err := s.users(ctx, authors)
	if err != nil {
		return nil, err
	}
	known := posts[:0]
	for _, post := range posts {
		if author, ok := users[post.Author.ID]; ok {
			post.Author = author
			known = append(known, post)
		}
	}
	return known, nil
}

// parsePost reads the hash of a post, with only the id of its author. ok is
// false where there is no such post, or the key is of another type.
func parsePost(id int64, res rueidis.RedisResult) (post Post, ok bool, err error) {
	fields, err := res.ToArray()
	if isWrongType(err) {
		return Post{}, false, nil
	}
	if err != nil {
		return Post{}, false, fmt.Errorf("social: read a post: %w", err)
	}
	if len(fields) != 3 || fields[0].IsNil() {
		return Post{}, false, nil
	}
	var texts [3]string
	for i, field := range fields {
		if !field.IsNil() {
			texts[i], _ = field.ToString()
		}
	}
	author, err := strconv.ParseInt(texts[0], 10, 64)
	if err != nil {
		return Post{}, false, nil // not a post that anybody wrote
	}
	return Post{ID: id, Author: User{ID: author}, Time: parseTime(texts[1]), Body: texts[2]}, true, nil
}
