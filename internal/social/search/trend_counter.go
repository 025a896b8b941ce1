package search

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
	"retwis/internal/sleep"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	// Probation is the minimum age of an account that counts, so that accounts created for the
	// purpose cannot start a trend at once.
	Probation = 24 * time.Hour

	// flushEvery is the time for which counts are collected. Trends are updated once a minute, and
	// counting ten posts together takes a quarter of the server's time for ten single posts.
	flushEvery = 5 * time.Second
	// closeTimeout limits the last flush.
	closeTimeout = time.Second
	// maxPending limits the number of people waiting to be counted, over all subjects.
	maxPending = 50_000
	// maxListed is the number of subjects of a kind that are kept per hour: those with the most
	// people.
	maxListed = 2000
	// countsTTL and listsTTL are the expiries of the HyperLogLogs and the sets of an hour, after
	// their last change. A merge reads the counts of one day and the sets of two days.
	countsTTL = 25 * time.Hour
	listsTTL  = 49 * time.Hour
	// countsAtOnce is the maximum number of subjects counted in one pipeline.
	countsAtOnce = 500
	// maxLinkPosts is the number of posts of a link that are kept, at most one per person. A merge
	// checks whether any of these posts is public.
	maxLinkPosts = 40
)

// TrendCounter counts people for trends. It is safe for concurrent use.
//
// The writes of a flush can be repeated: a HyperLogLog counts a person once, and the score of a
// subject only grows.
type TrendCounter struct {
	client rueidis.Client
	log    *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	pending map[count]map[int64]int64 // for each person the latest post with a link, else 0
	size    int                       // number of people in pending
	wake    chan struct{}

	ctx    context.Context // stops the worker; never used for a caller
	stop   context.CancelFunc
	worker sync.WaitGroup
}

// count identifies a subject in an hour.
type count struct {
	subject
	hour int64
}

// NewTrendCounter returns the counter of a database. Close stops it.
func NewTrendCounter(client rueidis.Client, log *slog.Logger, now func() time.Time) *TrendCounter {
	c := &TrendCounter{
		client: client, log: log, now: now,
		pending: map[count]map[int64]int64{}, wake: make(chan struct{}, 1),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.worker.Go(c.work)
	return c
}

// Close stops the background work and writes pending counts if that takes no longer than a second.
func (c *TrendCounter) Close() {
	c.stop()
	c.worker.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.Flush(ctx) // if it fails, trends lack a few people
}

// Posted counts the author of a post for its tags and links. It does not block.
func (c *TrendCounter) Posted(author social.User, post social.Post) {
	if c.counts(author) {
		c.add(author.ID, post.ID, subjectsOf(post.Body)...)
	}
}

// Reacted counts a user who has liked, reposted or replied to a post. Authors do not count for
// their own posts. It does not block.
func (c *TrendCounter) Reacted(user social.User, post social.Post) {
	if c.counts(user) && user.ID != post.Author.ID {
		c.add(user.ID, 0, subject{postKind, storage.Itoa(post.ID)})
	}
}

// counts reports whether the actions of a user count.
func (c *TrendCounter) counts(user social.User) bool {
	return user.Standing == social.Good && c.now().Sub(user.Joined) >= Probation
}

// add adds a person to the counts of subjects in the current hour.
func (c *TrendCounter) add(uid, post int64, subjects ...subject) {
	if len(subjects) == 0 {
		return
	}
	hour := storage.TrendHour(c.now())
	c.mu.Lock()
	for _, s := range subjects {
		c.put(count{s, hour}, uid, post)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// put adds a person to a pending count, unless there are maxPending people. c.mu must be held.
func (c *TrendCounter) put(s count, uid, post int64) {
	people := c.pending[s]
	if latest, ok := people[uid]; ok {
		people[uid] = max(latest, post)
		return
	}
	if c.size == maxPending {
		return
	}
	if people == nil {
		people = map[int64]int64{}
		c.pending[s] = people
	}
	people[uid] = post
	c.size++
}

// work flushes every few seconds.
func (c *TrendCounter) work() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.wake:
		}
		if !sleep.For(c.ctx, flushEvery) {
			return
		}
		if err := c.Flush(c.ctx); err != nil && c.ctx.Err() == nil {
			c.log.WarnContext(c.ctx, "cannot count people for trends", "error", err)
		}
	}
}

// Flush writes the counts collected so far. Counts that cannot be written wait for the next flush.
// Two round trips per 500 subjects.
func (c *TrendCounter) Flush(ctx context.Context) error {
	c.mu.Lock()
	pending := c.pending
	c.pending, c.size = map[count]map[int64]int64{}, 0
	c.mu.Unlock()
	counts := make([]count, 0, len(pending))
	for s := range pending {
		counts = append(counts, s)
	}
	var failed error
	for chunk := range slices.Chunk(counts, countsAtOnce) {
		if err := c.write(ctx, chunk, pending); err != nil {
			failed = err
			c.keep(chunk, pending)
		}
	}
	return failed
}

// keep makes counts that could not be written pending again.
func (c *TrendCounter) keep(counts []count, people map[count]map[int64]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range counts {
		for uid, post := range people[s] {
			c.put(s, uid, post)
		}
	}
}

// write adds people to the HyperLogLogs, their numbers to the sets of the hours, and their posts to
// the sets of links. It skips keys of the wrong type, which a check reports.
func (c *TrendCounter) write(ctx context.Context, counts []count, people map[count]map[int64]int64) error {
	b := c.client.B()
	cmds := make(rueidis.Commands, 0, commandsOf*len(counts))
	for _, s := range counts {
		members := make([]string, 0, len(people[s]))
		for uid := range people[s] {
			members = append(members, storage.Itoa(uid))
		}
		key := s.countKey(s.hour)
		cmds = append(cmds, b.Pfadd().Key(key).Element(members...).Build().ToRetryable(),
			expire(b, key, countsTTL), b.Pfcount().Key(key).Build())
	}
	res := c.client.DoMulti(ctx, cmds...)
	if err := reply.Written(res...); err != nil {
		return fmt.Errorf("social: count people: %w", err)
	}
	sets := map[string][]rueidis.ZScore{}
	var links rueidis.Commands
	for i, s := range counts {
		if n, err := res[commandsOf*(i+1)-1].AsInt64(); err == nil {
			key := s.kind.hourKey(s.hour)
			sets[key] = append(sets[key], rueidis.ZScore{Member: s.name, Score: float64(n)})
		}
		if s.kind == linkKind {
			links = append(links, listLink(b, s.name, people[s])...)
		}
	}
	return c.list(ctx, sets, links)
}

// commandsOf is the number of commands that count the people of one subject.
const commandsOf = 3

// listLink adds the latest post of each person to the set of a link.
func listLink(b rueidis.Builder, link string, posts map[int64]int64) rueidis.Commands {
	key := storage.TrendLinkKey(link)
	add := b.Zadd().Key(key).Gt().ScoreMember()
	for uid, post := range posts {
		add = add.ScoreMember(float64(post), storage.Itoa(uid))
	}
	return rueidis.Commands{
		add.Build().ToRetryable(),
		b.Zremrangebyrank().Key(key).Start(0).Stop(-maxLinkPosts - 1).Build().ToRetryable(), expire(b, key, countsTTL),
	}
}

// list adds the numbers of people to the sets of the hours. It also sends cmds, the commands for
// links.
func (c *TrendCounter) list(ctx context.Context, sets map[string][]rueidis.ZScore, cmds rueidis.Commands) error {
	b := c.client.B()
	for key, members := range sets {
		add := b.Zadd().Key(key).Gt().ScoreMember().ScoreMember(members[0].Score, members[0].Member)
		for _, m := range members[1:] {
			add = add.ScoreMember(m.Score, m.Member)
		}
		cmds = append(cmds, add.Build().ToRetryable(),
			b.Zremrangebyrank().Key(key).Start(0).Stop(-maxListed-1).Build().ToRetryable(), expire(b, key, listsTTL))
	}
	if len(cmds) == 0 {
		return nil
	}
	if err := reply.Written(c.client.DoMulti(ctx, cmds...)...); err != nil {
		return fmt.Errorf("social: count people: %w", err)
	}
	return nil
}

// expire returns the command that sets the expiry of a key.
func expire(b rueidis.Builder, key string, after time.Duration) rueidis.Completed {
	return b.Expire().Key(key).Seconds(int64(after / time.Second)).Build().ToRetryable()
}
