package social

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
)

// Page is one page of a timeline: the ids of its posts, newest first, and the
// cursor of the page that follows: the id of the last post seen, 0 at the end.
// A post that arrives while somebody turns the pages neither repeats one on
// the next page nor hides one.
type Page struct {
	IDs  []int64
	Next int64
}

// MaxPage bounds how many posts or people a page has.
const MaxPage = 200

// Home returns a page of a user's home timeline: their own posts and those of
// the people they follow. before is the cursor of the page, 0 for the first,
// which comes from memory where it can. One round trip at most.
func (s *Service) Home(ctx context.Context, uid, before int64, limit int) (Page, error) {
	return s.timeline(ctx, homeKey(uid), before, limit)
}

// Everybody returns a page of everybody's posts; see Home.
func (s *Service) Everybody(ctx context.Context, before int64, limit int) (Page, error) {
	return s.timeline(ctx, keyTimeline, before, limit)
}

// Profile returns a page of what a user wrote, however long ago; see Home.
func (s *Service) Profile(ctx context.Context, uid, before int64, limit int) (Page, error) {
	limit = clamp(limit)
	from := "+inf"
	if before > 0 {
		from = "(" + itoa(before)
	}
	cmd := s.client.B().Zrevrangebyscore().Key(profileKey(uid)).Max(from).Min("-inf").Limit(0, int64(limit+1))
	var res rueidis.RedisResult
	if before > 0 {
		res = s.client.Do(ctx, cmd.Build())
	} else {
		res = s.read(ctx, cmd.Cache())
	}
	return s.page(res, limit)
}

func (s *Service) timeline(ctx context.Context, list string, before int64, limit int) (Page, error) {
	limit = clamp(limit)
	var res rueidis.RedisResult
	if before > 0 {
		res = pageScript.Run(ctx, s.client, []string{list}, []string{itoa(before), itoa(int64(limit + 1))})
	} else {
		res = s.read(ctx, s.client.B().Lrange().Key(list).Start(0).Stop(int64(limit)).Cache())
	}
	return s.page(res, limit)
}

// page reads a reply that has one id more than the page, when another follows.
func (s *Service) page(res rueidis.RedisResult, limit int) (Page, error) {
	ids, err := res.AsIntSlice()
	if err != nil {
		return Page{}, fmt.Errorf("social: read a timeline: %w", err)
	}
	if len(ids) > 0 {
		s.sawPost(ids[0])
	}
	if len(ids) <= limit {
		return Page{IDs: ids}, nil
	}
	return Page{IDs: ids[:limit], Next: ids[limit-1]}, nil
}

func clamp(limit int) int { return max(1, min(limit, MaxPage)) }
