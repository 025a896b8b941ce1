package people

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/text"
	"retwis/internal/social/timeline"
)

var (
	//go:embed active_put.lua
	activePutSource string
	activePutScript = script.New(activePutSource).Retryable()
)

const (
	// maxActive is how many active accounts are kept.
	maxActive = 100
	// maxExamined is how many accounts are examined: the accounts with the most followers.
	maxExamined = 200
	// activeWithin is the period in which an active account has posted.
	activeWithin = 7 * 24 * time.Hour
	// latestPosts is how many of an account's latest posts are read.
	latestPosts = 10
	// step is how many commands are sent at once, so that other requests are served in between.
	step = 100
)

// account is an account that may be active.
type account struct {
	user      social.User
	followers int64
	posts     int    // in the last week, at most latestPosts
	topic     string // the most used tag; may be empty
	score     float64
}

// Refresh rebuilds the ranking of active accounts from the accounts already in it and the authors
// on the public timeline. An active account is in good standing and has posted within a week.
// Accounts are ranked by the logarithms of followers and posts; the second account with the same
// topic counts half, the third a third, so that one topic does not fill the list. Refresh reads
// about 5,000 keys, a hundred at a time.
func (s *Suggestions) Refresh(ctx context.Context) error {
	all, err := s.accounts(ctx)
	if err == nil {
		err = s.countFollowers(ctx, all)
	}
	if err != nil {
		return fmt.Errorf("social: rank active accounts: %w", err)
	}
	slices.SortFunc(all, func(a, b *account) int {
		return cmp.Or(cmp.Compare(b.followers, a.followers), cmp.Compare(a.user.ID, b.user.ID))
	})
	all = all[:min(len(all), maxExamined)]
	if err := s.readPosts(ctx, all); err != nil {
		return fmt.Errorf("social: rank active accounts: %w", err)
	}
	var args []string
	for _, a := range rank(all) {
		args = append(args, strconv.FormatFloat(a.score, 'f', 3, 64), storage.Itoa(a.user.ID))
	}
	if err := activePutScript.Run(ctx, s.opt.DB.Client, []string{storage.Active}, args).Error(); err != nil {
		return fmt.Errorf("social: rank active accounts: %w", err)
	}
	return nil
}

// rank returns the best maxActive of the accounts that have posted, best first.
func rank(all []*account) []*account {
	all = slices.DeleteFunc(all, func(a *account) bool { return a.posts == 0 })
	for _, a := range all {
		a.score = math.Log2(2+float64(a.followers)) * math.Log2(1+float64(a.posts))
		if a.user.Unlisted { // one of many accounts from an address
			a.score /= 4
		}
	}
	byScore := func(a, b *account) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.user.ID, b.user.ID))
	}
	slices.SortFunc(all, byScore)
	topics := map[string]int{}
	for _, a := range all {
		if a.topic != "" {
			topics[a.topic]++
			a.score /= float64(topics[a.topic])
		}
	}
	slices.SortFunc(all, byScore)
	return all[:min(len(all), maxActive)]
}

// accounts returns the accounts that are already active, and the authors of recent posts on the
// public timeline.
func (s *Suggestions) accounts(ctx context.Context) ([]*account, error) {
	c := s.opt.DB.Client
	active, err := memberIDs(c.Do(ctx, c.B().Zrange().Key(storage.Active).Min("0").Max("-1").Build()))
	if err != nil {
		return nil, err
	}
	ids, err := reply.OrEmpty(c.Do(ctx, c.B().Lrange().Key(storage.Timeline).Start(0).Stop(storage.TimelineCap-1).Build()).AsIntSlice())
	if err != nil {
		return nil, err
	}
	posts, err := s.posts(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := map[int64]social.User{}
	for _, post := range posts {
		if s.isRecent(post) {
			found[post.Author.ID] = post.Author
		}
	}
	for chunk := range slices.Chunk(active, step) {
		users, err := s.opt.Users.ByID(social.WithFresh(ctx), chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, users)
	}
	var all []*account
	for _, user := range found {
		if user.Standing == social.Good {
			all = append(all, &account{user: user})
		}
	}
	return all, nil
}

// posts reads posts, with their authors.
func (s *Suggestions) posts(ctx context.Context, ids []int64) ([]social.Post, error) {
	var posts []social.Post
	for chunk := range slices.Chunk(ids, step) {
		cmds := make(rueidis.Commands, len(chunk))
		for i, id := range chunk {
			cmds[i] = rueidis.Completed(timeline.PostCommand(s.opt.DB.Client, id))
		}
		read, err := timeline.ParseAll(social.WithFresh(ctx), s.opt.Users, chunk, s.opt.DB.Client.DoMulti(ctx, cmds...))
		if err != nil {
			return nil, err
		}
		posts = append(posts, read...)
	}
	return posts, nil
}

// isRecent reports whether a post shows that its author is active.
func (s *Suggestions) isRecent(p social.Post) bool {
	return p.ID != 0 && !p.Deleted && p.Hidden.IsZero() && p.RepostOf == 0 && p.Time.After(s.opt.Now().Add(-activeWithin))
}

func (s *Suggestions) countFollowers(ctx context.Context, all []*account) error {
	for chunk := range slices.Chunk(all, step) {
		counts, err := reads.Counts(ctx, s.opt.DB.Client, chunk, func(a *account) string { return storage.FollowersKey(a.user.ID) })
		if err != nil {
			return err
		}
		for i, n := range counts {
			chunk[i].followers = n
		}
	}
	return nil
}

// readPosts counts the recent posts of the accounts, and determines their topics.
func (s *Suggestions) readPosts(ctx context.Context, all []*account) error {
	byID := make(map[int64]*account, len(all))
	var ids []int64
	for chunk := range slices.Chunk(all, step) {
		latest, err := reads.Many(ctx, s.opt.DB.Client, chunk, func(a *account) rueidis.Completed {
			byID[a.user.ID] = a
			return s.opt.DB.Client.B().Zrange().Key(storage.ProfileKey(a.user.ID)).Min("0").Max(storage.Itoa(latestPosts - 1)).Rev().Build()
		}, memberIDs)
		if err != nil {
			return err
		}
		ids = append(ids, slices.Concat(latest...)...)
	}
	posts, err := s.posts(ctx, ids)
	if err != nil {
		return err
	}
	tags := map[*account]map[string]int{}
	for _, post := range posts {
		a := byID[post.Author.ID]
		if a == nil || !s.isRecent(post) {
			continue
		}
		a.posts++
		for _, tag := range text.Tags(post.Body) {
			if tags[a] == nil {
				tags[a] = map[string]int{}
			}
			tags[a][tag]++
		}
	}
	for a, counts := range tags {
		a.topic = slices.MaxFunc(slices.Collect(maps.Keys(counts)), func(first, other string) int {
			return cmp.Or(counts[first]-counts[other], cmp.Compare(other, first))
		})
	}
	return nil
}
