package social

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	// retryAfter is the pause after a page that failed, and maxFailures how
	// often in a row one may fail: then the fan-out is left to the database.
	retryAfter  = time.Second
	maxFailures = 60
	// skew is by how much the clocks of two processes may differ.
	skew = time.Minute
)

// fanOut is a post on its way to the followers of its author.
type fanOut struct {
	post, author int64
	// fields is what the hash of the post holds, kept until a replica has it:
	// the post is written again should a failover lose it. Nil for a post of
	// another process.
	fields []string
	// followedBy, where it is not zero, passes over those who followed later
	// (unix seconds): the post was written before they came.
	followedBy float64
	after      peopleCursor // the last follower who has it
	// masters is the identity of the servers as it was before the first write.
	// A fan-out that ends under another identity may have lost a part.
	masters string
	failed  int // how many times in a row the next page failed
}

// publish puts a new post where it belongs. `fanouts` knows of it until every
// timeline has it and the replicas have confirmed that.
func (s *Service) publish(ctx context.Context, job fanOut) error {
	first, err := s.publishOwn(ctx, job)
	if err != nil {
		return err
	}
	job.after, err = s.pushPage(ctx, job, first)
	for page := 1; err == nil && job.after != everybody && page < pagesAtOnce; page++ {
		job.after, err = s.pushPage(ctx, job, s.client.Do(ctx, s.followersCommand(job.author, job.after)))
	}
	switch {
	case err != nil:
		// The post is kept, and known to be unfinished.
		s.log.WarnContext(ctx, "fan-out interrupted, to be finished later", "post", job.post, "error", err)
		return nil
	case job.after == everybody:
		if err := s.finalize(ctx, job); err != nil {
			s.log.WarnContext(ctx, "fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
		}
		return nil
	}
	s.queue(job)
	return nil
}

// queue leaves the rest of a fan-out to the worker.
func (s *Service) queue(job fanOut) {
	s.claims.add(job.post)
	select {
	case s.jobs <- job:
	default:
		s.claims.remove(job.post)
		s.log.Warn("too many fan-outs at once, one to be finished later", "post", job.post)
	}
}

// publishOwn puts a post on the author's home timeline and profile and on
// everybody's timeline, and reads the first page of followers.
func (s *Service) publishOwn(ctx context.Context, job fanOut) (followers rueidis.RedisResult, err error) {
	id := itoa(job.post)
	res := s.client.DoMulti(ctx,
		s.pushCommand(homeKey(job.author), job.post),
		s.client.B().Zadd().Key(profileKey(job.author)).ScoreMember().ScoreMember(float64(job.post), id).Build().ToRetryable(),
		s.pushCommand(keyTimeline, job.post),
		s.followersCommand(job.author, everybody),
	)
	for _, r := range res[:3] {
		if err := r.Error(); isWrongType(err) {
			// A damaged key is no reason to stop posting; Check reports it.
			s.log.WarnContext(ctx, "a post could not be put on a list of its author", "post", job.post, "author", job.author, "error", err)
		} else if err != nil {
			return res[3], fmt.Errorf("social: post: %w", err)
		}
	}
	return res[3], nil
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
func (s *Service) pushPage(ctx context.Context, job fanOut, page rueidis.RedisResult) (next peopleCursor, err error) {
	// id, time, id, time ...
	followers, err := page.AsStrSlice()
	if err != nil {
		return everybody, fmt.Errorf("social: fan out post %d: %w", job.post, err)
	}
	homes := make([]string, 0, len(followers)/2)
	for i := 0; i+1 < len(followers); i += 2 {
		since, _ := strconv.ParseFloat(followers[i+1], 64)
		if !isDigits(followers[i]) || job.followedBy != 0 && since > job.followedBy {
			continue
		}
		homes = append(homes, prefixPosts+followers[i])
	}
	for lists := range slices.Chunk(homes, batch) {
		if err := s.push(ctx, job.post, lists); err != nil {
			return everybody, fmt.Errorf("social: fan out post %d: %w", job.post, err)
		}
	}
	if n := len(followers); n == 2*pageOfFollowers {
		return peopleCursor{since: followers[n-1], id: followers[n-2]}, nil
	}
	return everybody, nil
}

// push puts the post on these timelines: in one script call, or in a call for
// each where they may live on different servers.
func (s *Service) push(ctx context.Context, post int64, lists []string) error {
	if !s.cluster {
		return pushScript.Run(ctx, s.client, lists, []string{itoa(post), itoa(TimelineCap)}).Error()
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
		err := s.advance(s.background, &job)
		switch {
		case s.background.Err() != nil:
			return
		case errors.Is(err, ErrNotFound):
			s.claims.remove(job.post)
			return
		case err != nil && (isWrongType(err) || job.failed >= maxFailures):
			s.claims.remove(job.post)
			s.log.Warn("fan-out interrupted, to be finished later", "post", job.post, "error", err)
			return
		case err != nil:
			job.failed++
			s.log.Warn("fan-out interrupted, trying again", "post", job.post, "error", err, "in", retryAfter.String())
			pause(s.background, retryAfter)
		case job.after == everybody:
			s.claims.remove(job.post)
			if err := s.finalize(s.background, job); err != nil {
				s.log.Warn("fan-out not confirmed, to be repeated later", "post", job.post, "error", err)
			}
			return
		default:
			time.Sleep(moment)
		}
		select {
		case s.jobs <- job:
			return
		default: // no room in the queue: this one goes on
		}
	}
}

// advance does one page of a fan-out, which is done when after is everybody
// again. One that has no identity of the servers begins from its beginning.
func (s *Service) advance(ctx context.Context, job *fanOut) error {
	if job.masters != "" {
		next, err := s.pushPage(ctx, *job, s.client.Do(ctx, s.followersCommand(job.author, job.after)))
		if err == nil {
			job.after, job.failed = next, 0
		}
		return err
	}
	masters, err := s.identity(ctx)
	if err != nil {
		return err
	}
	if err := s.rewrite(ctx, *job); err != nil {
		return err
	}
	first, err := s.publishOwn(ctx, *job)
	if err != nil {
		return err
	}
	next, err := s.pushPage(ctx, *job, first)
	if err == nil {
		job.after, job.masters = next, masters
	}
	return err
}

// rewrite makes sure of the post itself and of its place in `fanouts` before a
// fan-out is repeated. It returns ErrNotFound where the post is lost for good.
func (s *Service) rewrite(ctx context.Context, job fanOut) error {
	if job.fields == nil {
		b := s.client.B()
		exists, err := s.client.Do(ctx, b.Exists().Key(postKey(job.post)).Build()).AsBool()
		switch {
		case err != nil:
			return err
		case !exists:
			return errors.Join(s.forgetFanOuts(ctx, s.client, job.post), ErrNotFound)
		}
		return s.client.Do(ctx, b.Zadd().Key(keyFanOuts).ScoreMember().
			ScoreMember(float64(s.now().Unix()), itoa(job.post)).Build().ToRetryable()).Error()
	}
	kept, err := s.writePost(ctx, job.post, job.fields)
	if err == nil && !kept {
		s.log.ErrorContext(ctx, "a post was lost in a failover: another has its id by now", "post", job.post, "author", job.author)
		return ErrNotFound
	}
	return err
}

// Resume repeats the fan-out of a post from its beginning, to the end: what
// has it already is left as it is, and those who followed after it was written
// do not get it. It returns ErrNotFound where there is no such post.
func (s *Service) Resume(ctx context.Context, post int64) error {
	found, err := s.Posts(ctx, post)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := s.forgetFanOuts(ctx, s.client, post); err != nil {
			return err
		}
		return ErrNotFound
	}
	s.claims.add(post)
	defer s.claims.remove(post)
	job := fanOut{post: post, author: found[0].Author.ID, after: everybody}
	if at := found[0].Time; !at.IsZero() {
		job.followedBy = float64(at.Add(skew).Unix())
	}
	for {
		if err := s.advance(ctx, &job); err != nil {
			return err
		}
		if job.after == everybody {
			return s.finalize(ctx, job)
		}
		if !pause(ctx, moment) {
			return fmt.Errorf("social: fan out post %d: %w", post, ctx.Err())
		}
	}
}

// ResumeFanOuts finishes the posts that a process left half fanned out when it
// died. Call it when a process starts and every minute or so; each post is
// taken by one process. One that cannot be finished holds up none of the
// others: it is logged, tried again with a later call, and counted in the error
// that comes back at the end.
func (s *Service) ResumeFanOuts(ctx context.Context) error {
	var failed int
	var first error
	for {
		now := s.now()
		stale := itoa(now.Add(-staleAfter).Unix())
		posts, err := s.client.Do(ctx, s.client.B().Zrangebyscore().Key(keyFanOuts).
			Min("-inf").Max(stale).Limit(0, batch).Build()).AsStrSlice()
		if err != nil {
			return fmt.Errorf("social: unfinished fan-outs: %w", err)
		}
		if len(posts) == 0 {
			break
		}
		for _, member := range posts {
			mine, err := claimScript.Run(ctx, s.client, []string{keyFanOuts}, []string{member, stale, itoa(now.Unix())}).AsBool()
			if err == nil && mine {
				err = s.resumeMember(ctx, member)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("social: unfinished fan-outs: %w", ctx.Err())
			}
			if err != nil {
				s.log.WarnContext(ctx, "cannot finish an interrupted fan-out, trying again later", "post", member, "error", err)
				failed++
				if first == nil {
					first = err
				}
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("social: %d interrupted fan-outs could not be finished, the first: %w", failed, first)
	}
	return nil
}

// resumeMember finishes one post of `fanouts`.
func (s *Service) resumeMember(ctx context.Context, member string) error {
	post, err := strconv.ParseInt(member, 10, 64)
	if err != nil || itoa(post) != member {
		// Nobody's post: it can never be finished.
		s.log.WarnContext(ctx, "removed what is no post from the unfinished fan-outs", "member", member)
		return s.client.Do(ctx, s.client.B().Zrem().Key(keyFanOuts).Member(member).Build()).Error()
	}
	switch err := s.Resume(ctx, post); {
	case errors.Is(err, ErrNotFound):
		s.log.InfoContext(ctx, "an interrupted fan-out has no post any more", "post", post)
		return nil
	case err != nil:
		return err
	}
	s.log.InfoContext(ctx, "finished an interrupted fan-out", "post", post)
	return nil
}

// isWrongType tells the server's answer to a command on a key of another type.
// Redis 6.2 puts its own words around one that a script met.
func isWrongType(err error) bool {
	var answer *rueidis.RedisError
	return errors.As(err, &answer) && strings.Contains(answer.Error(), "WRONGTYPE")
}

// pause waits, and tells whether ctx still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
