package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// TimelineCap is how many posts a timeline keeps.
const TimelineCap = 1000

const (
	// pageOfFollowers is how many followers are read at a time, and batch how
	// many timelines one script call writes: about 0.1 ms each, so that
	// everybody else's requests hardly notice.
	pageOfFollowers = 200
	batch           = 50
	// pagesAtOnce is how many pages of followers have the post when Post
	// returns. After each of those that follow, the server and the processors
	// are left to others for a moment, which the clock makes a millisecond.
	pagesAtOnce = 5
	moment      = 100 * time.Microsecond
	// maxJobs bounds the fan-outs that wait in memory. Past it they wait in
	// the database.
	maxJobs = 1024
	// staleAfter is how long a fan-out shows no progress before it counts as
	// left behind by a process that died.
	staleAfter = 30 * time.Second
)

// fanOut is a post on its way to the followers of its author.
type fanOut struct {
	post, author int64
	after        peopleCursor // the last follower who has it
}

// publish puts a new post where it belongs. `fanouts` knows of it until every
// timeline has it.
func (s *Service) publish(ctx context.Context, post, author int64) error {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		s.pushCommand(homeKey(author), post),
		b.Zadd().Key(profileKey(author)).ScoreMember().ScoreMember(float64(post), itoa(post)).Build().ToRetryable(),
		s.pushCommand(keyTimeline, post),
		s.followersCommand(author, everybody),
	)
	for _, r := range res[:3] {
		if err := r.Error(); err != nil {
			return fmt.Errorf("social: post: %w", err)
		}
	}
	next, err := s.pushPage(ctx, post, res[3])
	for page := 1; err == nil && next != everybody && page < pagesAtOnce; page++ {
		next, err = s.pushPage(ctx, post, s.client.Do(ctx, s.followersCommand(author, next)))
	}
	switch {
	case err != nil:
		// The post is kept, and known to be unfinished.
		s.log.WarnContext(ctx, "fan-out interrupted, to be finished later", "post", post, "error", err)
		return nil
	case next == everybody:
		return s.published(ctx, post)
	}
	select {
	case s.jobs <- fanOut{post: post, author: author, after: next}:
	default:
		s.log.WarnContext(ctx, "too many fan-outs at once, one to be finished later", "post", post)
	}
	return nil
}

// published records that every timeline has the post.
func (s *Service) published(ctx context.Context, post int64) error {
	err := s.client.Do(ctx, s.client.B().Zrem().Key(keyFanOuts).Member(itoa(post)).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: post: %w", err)
	}
	return nil
}

// everybody is the cursor before the first follower, and behind the last.
var everybody = peopleCursor{since: "+inf", id: "0"}

// followersCommand reads a page of followers, the latest first. Their order
// outlives a restart of the server and a failover, as the cursor of a scan
// would not: nobody is passed over.
func (s *Service) followersCommand(author int64, after peopleCursor) rueidis.Completed {
	return s.client.B().Eval().Script(peopleSource).Numkeys(1).Key(followersKey(author)).
		Arg(after.since, after.id, itoa(pageOfFollowers)).Build().ToRetryable()
}

// pushCommand is the script for one timeline, as part of a pipeline. It is
// sent whole: the server may not know it yet, and a pipeline cannot ask.
func (s *Service) pushCommand(list string, post int64) rueidis.Completed {
	return s.client.B().Eval().Script(pushSource).Numkeys(1).Key(list).
		Arg(itoa(post), itoa(TimelineCap)).Build().ToRetryable()
}

// pushPage writes the post to one page of followers, as followersCommand
// returned it, and returns the cursor of the next page, everybody at the end.
func (s *Service) pushPage(ctx context.Context, post int64, page rueidis.RedisResult) (next peopleCursor, err error) {
	// id, time, id, time ...
	followers, err := page.AsStrSlice()
	if err != nil {
		return everybody, fmt.Errorf("social: fan out post %d: %w", post, err)
	}
	homes := make([]string, len(followers)/2)
	for i := range homes {
		homes[i] = prefixPosts + followers[2*i]
	}
	for lists := range slices.Chunk(homes, batch) {
		if err := s.push(ctx, post, lists); err != nil {
			return everybody, fmt.Errorf("social: fan out post %d: %w", post, err)
		}
	}
	if n := len(homes); n == pageOfFollowers {
		return peopleCursor{since: followers[2*n-1], id: followers[2*n-2]}, nil
	}
	return everybody, nil
}

// push puts the post on these timelines: in one script call, or in a call for
// each where they may live on different servers.
func (s *Service) push(ctx context.Context, post int64, lists []string) error {
	if !s.cluster {
		return pushScript.Exec(ctx, s.client, lists, []string{itoa(post), itoa(TimelineCap)}).Error()
	}
	cmds := make(rueidis.Commands, len(lists))
	for i, list := range lists {
		cmds[i] = s.pushCommand(list, post)
	}
	for _, res := range s.client.DoMulti(ctx, cmds...) {
		if err := res.Error(); err != nil {
			return err
		}
	}
	return nil
}

// work carries on the fan-outs that Post left, one page of each in turn, so
// that a post to millions holds up none to thousands.
func (s *Service) work() {
	for {
		select {
		case <-s.background.Done():
			return
		case job := <-s.jobs:
			s.workOn(job)
		}
	}
}

func (s *Service) workOn(job fanOut) {
	for {
		next, err := s.advance(s.background, job)
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				s.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
			}
			return
		}
		if next == everybody {
			return
		}
		job.after = next
		time.Sleep(moment)
		select {
		case s.jobs <- job:
			return
		default: // no room in the queue: this one goes on
		}
	}
}

// advance does one page of a fan-out and returns the cursor of the next; with
// the last page, the post is published. Each page tells other processes that
// this one is alive.
func (s *Service) advance(ctx context.Context, job fanOut) (next peopleCursor, err error) {
	b := s.client.B()
	res := s.client.DoMulti(ctx,
		b.Zadd().Key(keyFanOuts).Xx().ScoreMember().ScoreMember(float64(s.now().Unix()), itoa(job.post)).Build().ToRetryable(),
		s.followersCommand(job.author, job.after),
	)
	if err := res[0].Error(); err != nil {
		return everybody, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	next, err = s.pushPage(ctx, job.post, res[1])
	if err != nil || next != everybody {
		return next, err
	}
	return everybody, s.published(ctx, job.post)
}

// Resume repeats the fan-out of a post from its beginning, to the end: what
// has it already is left as it is. It returns ErrNotFound where there is no
// such post.
func (s *Service) Resume(ctx context.Context, post int64) error {
	found, err := s.Posts(ctx, post)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := s.published(ctx, post); err != nil {
			return err
		}
		return ErrNotFound
	}
	author := found[0].Author.ID
	b := s.client.B()
	for _, res := range s.client.DoMulti(ctx,
		s.pushCommand(homeKey(author), post),
		b.Zadd().Key(profileKey(author)).ScoreMember().ScoreMember(float64(post), itoa(post)).Build().ToRetryable(),
		s.pushCommand(keyTimeline, post),
	) {
		if err := res.Error(); err != nil {
			return fmt.Errorf("social: fan out post %d: %w", post, err)
		}
	}
	job := fanOut{post: post, author: author, after: everybody}
	for {
		next, err := s.advance(ctx, job)
		if err != nil || next == everybody {
			return err
		}
		job.after = next
	}
}

// ResumeFanOuts finishes the posts that a process left half fanned out when it
// died. Call it when a process starts and every minute or so; two processes
// that do the same one do no harm.
func (s *Service) ResumeFanOuts(ctx context.Context) error {
	stale := fmt.Sprintf("%d", s.now().Add(-staleAfter).Unix())
	for {
		posts, err := s.client.Do(ctx, s.client.B().Zrangebyscore().Key(keyFanOuts).
			Min("-inf").Max(stale).Limit(0, batch).Build()).AsIntSlice()
		if err != nil {
			return fmt.Errorf("social: unfinished fan-outs: %w", err)
		}
		if len(posts) == 0 {
			return nil
		}
		for _, post := range posts {
			if err := s.Resume(ctx, post); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			s.log.InfoContext(ctx, "finished an interrupted fan-out", "post", post)
		}
	}
}
