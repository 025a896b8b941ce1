package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

const (
	// maxPerHour limits the number of an hour's subjects that become candidates, and maxCandidates
	// the number of candidates that are counted exactly.
	maxPerHour    = 200
	maxCandidates = 200
	// maxKept limits the number of stored trends of a kind. It exceeds the number of shown trends,
	// because some viewers must not see all of them.
	maxKept = 30
)

// Trend is a tag, post or link that many people write about or like.
type Trend struct {
	Name   string `json:"name"` // a tag without #, the ID of a post, or a link
	People int64  `json:"people"`
}

// result is the output of a merge.
type result struct {
	Tags  []Trend `json:"tags"`
	Posts []Trend `json:"posts"`
	Links []Trend `json:"links"`
	Liked []Trend `json:"liked"` // posts, with likes of the last week instead of people
}

// Merge computes the current trends, including the pending counts of this process. Three round
// trips for each kind, three for the likes of the week, and a few more to look for posts on public
// lists.
func (t *Trends) Merge(ctx context.Context) error {
	if err := t.opt.Counter.Flush(ctx); err != nil {
		return err
	}
	now := t.opt.Now()
	at := clockAt(now, storage.TrendHour(now))
	decisions, err := t.opt.Rules.All(ctx)
	if err != nil {
		return err
	}
	mustNotPost, err := t.opt.Blocklist.Blocked(ctx)
	if err != nil {
		return err
	}
	blockedTags := decisions.blocked()
	isBlocked := func(kind kind, name string) bool {
		return kind == tagKind && blockedTags[name] || kind != postKind && mustNotPost(name)
	}
	active, err := reply.OrEmpty(t.opt.DB.Client.Do(ctx, t.opt.DB.Client.B().Zcard().Key(storage.Active).Build()).AsInt64())
	if err != nil {
		return fmt.Errorf("social: trends: count active accounts: %w", err)
	}
	rule := trendRule{at: at, people: minPeople(active), isBlocked: isBlocked}
	var all [len(kinds)][]Trend
	for i, kind := range kinds {
		if all[i], err = t.mergeKind(ctx, kind, rule); err != nil {
			return fmt.Errorf("social: trends of %s: %w", kind, err)
		}
	}
	liked, err := t.countLiked(ctx)
	if err != nil {
		return fmt.Errorf("social: posts liked this week: %w", err)
	}
	stored, err := json.Marshal(result{Tags: all[0], Posts: all[1], Links: all[2], Liked: liked})
	if err != nil {
		return fmt.Errorf("social: trends: %w", err)
	}
	b := t.opt.DB.Client.B()
	// The second command makes sure that the invalidation message of the first has arrived.
	err = reply.FirstError(t.opt.DB.Client.DoMulti(ctx,
		b.Set().Key(storage.Trends).Value(string(stored)).Ex(dayHours*time.Hour).Build().ToRetryable(),
		b.Exists().Key(storage.Trends).Build().ToRetryable()))
	t.kept.Written()
	if err != nil {
		return fmt.Errorf("social: trends: %w", err)
	}
	return nil
}

// maxRecounted is the number of posts with the most likes that a merge recounts.
const maxRecounted = 200

// countLiked returns the posts with the most likes in the last week. It also corrects their stored
// counts, which still include likes that are older by now. Apart from concurrent likes, a post
// never has more likes than its stored count, so the top posts are correct unless more than a
// hundred posts have just lost many likes.
func (t *Trends) countLiked(ctx context.Context) ([]Trend, error) {
	c := t.opt.DB.Client
	members, err := reply.OrEmpty(c.Do(ctx, c.B().Zrange().Key(storage.LikedPosts).
		Min("0").Max(storage.Itoa(maxRecounted-1)).Rev().Build()).AsStrSlice())
	if err != nil {
		return nil, err
	}
	posts := make([]int64, 0, len(members))
	for _, member := range members {
		if id, ok := storage.ParseID(member); ok {
			posts = append(posts, id)
		}
	}
	counts, err := storage.LikesOfWeek(ctx, c, t.opt.Now(), posts...)
	if err != nil {
		return nil, err
	}
	if err := storage.PutLikesOfWeek(ctx, c, posts, counts); err != nil {
		return nil, err
	}
	liked := []Trend{}
	for i, post := range posts {
		if counts[i] > 0 {
			liked = append(liked, Trend{Name: storage.Itoa(post), People: counts[i]})
		}
	}
	// With equal likes, the latest post comes first.
	slices.SortStableFunc(liked, func(a, b Trend) int {
		return cmp.Or(cmp.Compare(b.People, a.People), cmp.Compare(len(b.Name), len(a.Name)), cmp.Compare(b.Name, a.Name))
	})
	return liked[:min(2*maxKept, len(liked))], nil
}

// trendRule decides which candidates become trends.
type trendRule struct {
	at        clock
	people    float64 // the minimum
	isBlocked func(kind, string) bool
}

// candidate is a subject that may become a trend.
type candidate struct {
	name   string
	counts *counts
	people float64
	score  float64
}

// mergeKind returns the trends of a kind, greatest first.
func (t *Trends) mergeKind(ctx context.Context, kind kind, rule trendRule) ([]Trend, error) {
	at := rule.at
	found, err := t.candidates(ctx, kind, rule)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return rule.isBlocked(kind, c.name) })
	found = best(found, maxCandidates)
	if err := t.readHours(ctx, kind, at, found); err != nil {
		return nil, err
	}
	if err := t.countExactly(ctx, kind, at, found); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.people < rule.people || c.score <= 0 })
	found = best(found, len(found))
	if found, err = t.public(ctx, kind, found); err != nil {
		return nil, err
	}
	trends := []Trend{}
	for _, c := range found[:min(maxKept, len(found))] {
		trends = append(trends, Trend{Name: c.name, People: int64(c.people)})
	}
	return trends, nil
}

// public returns the candidates that have posts on public lists. Trends that a viewer must not see
// are dropped when trends are shown.
func (t *Trends) public(ctx context.Context, kind kind, found []candidate) ([]candidate, error) {
	if kind == postKind {
		return found, nil
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.name
	}
	kept, err := publicPosts{t.opt.Parts}.keep(ctx, kind, names)
	return slices.DeleteFunc(found, func(c candidate) bool { return !slices.Contains(kept, c.name) }), err
}

// best returns the n candidates with the highest scores.
func best(all []candidate, n int) []candidate {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.people, a.people), cmp.Compare(a.name, b.name))
	})
	return all[:min(n, len(all))]
}

// candidates returns the subjects that may have enough people, with a rough score.
func (t *Trends) candidates(ctx context.Context, kind kind, rule trendRule) ([]candidate, error) {
	at := rule.at
	cmds := make(rueidis.Commands, 2*dayHours)
	for ago := range cmds {
		cmds[ago] = t.opt.DB.Client.B().Zrange().Key(kind.hourKey(at.hour - int64(ago))).
			Min("0").Max(storage.Itoa(maxPerHour - 1)).Rev().Withscores().Build()
	}
	all := map[string]*counts{}
	for ago, res := range t.opt.DB.Client.DoMulti(ctx, cmds...) {
		listed, err := reply.OrEmpty(res.AsZScores())
		if err != nil {
			return nil, err
		}
		for _, entry := range listed {
			if all[entry.Member] == nil {
				all[entry.Member] = new(counts)
			}
			all[entry.Member][ago] = entry.Score
		}
	}
	found := make([]candidate, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		if c.sum() >= rule.people {
			found = append(found, candidate{name: name, counts: c, score: score(c.roughWeight(at), c.weightedBefore(at))})
		}
	}
	return found, nil
}

// readHours reads the number of people of candidates in each hour of two days, including hours in
// which the candidates were not among the top subjects.
func (t *Trends) readHours(ctx context.Context, kind kind, at clock, found []candidate) error {
	if len(found) == 0 {
		return nil
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.name
	}
	cmds := make(rueidis.Commands, 2*dayHours)
	for ago := range cmds {
		cmds[ago] = t.opt.DB.Client.B().Zmscore().Key(kind.hourKey(at.hour - int64(ago))).Member(names...).Build()
	}
	for ago, res := range t.opt.DB.Client.DoMulti(ctx, cmds...) {
		scores, err := reply.OrEmpty(res.ToArray())
		if err != nil {
			return err
		}
		for i := range scores {
			if !scores[i].IsNil() {
				found[i].counts[ago], _ = scores[i].AsFloat64()
			}
		}
	}
	return nil
}

// windows are the numbers of hours before the merge whose people are counted. All keys of a subject
// have one hash tag, so the server counts each window with one command.
var windows = [...]int{1, 2, 4, 8, dayHours}

// countExactly counts each person of a candidate once, in the shortest window in which the person
// occurs, so that nobody gains weight by repetition. One round trip.
func (t *Trends) countExactly(ctx context.Context, kind kind, at clock, found []candidate) error {
	cmds := make(rueidis.Commands, 0, len(windows)*len(found))
	for _, c := range found {
		keys := make([]string, dayHours)
		for ago := range keys {
			keys[ago] = subject{kind, c.name}.countKey(at.hour - int64(ago))
		}
		for _, hours := range windows {
			cmds = append(cmds, t.opt.DB.Client.B().Pfcount().Key(keys[:hours]...).Build())
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	res := t.opt.DB.Client.DoMulti(ctx, cmds...)
	for i := range found {
		var people [len(windows)]float64
		for j := range people {
			n, err := res[i*len(windows)+j].AsInt64()
			switch {
			case err == nil:
				people[j] = float64(n)
			case !rediserr.IsWrongType(err): // a check reports keys of the wrong type
				return err
			case j > 0:
				people[j] = people[j-1]
			}
		}
		found[i].weigh(people, at)
	}
	return nil
}

// weigh sets the people and the score of a candidate from the number of people in each window. The
// people of the previous day are not known individually, so weigh assumes that they were counted as
// often as the people of today.
func (c *candidate) weigh(people [len(windows)]float64, at clock) {
	now, before, from := 0.0, 0.0, 0
	for i, to := range windows {
		now += (people[i] - before) * c.counts.meanWeight(at, from, to)
		before, from = people[i], to
	}
	c.people = before
	share := 1.0 // what remains if each person counts once
	if today := c.counts.weightedToday(at); today > now {
		share = now / today
	}
	c.score = score(now, c.counts.weightedBefore(at)*share)
}
