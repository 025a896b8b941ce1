package moderation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/collection"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/storage"
)

// Count returns the number of open cases, from memory while the number is unchanged.
func (s *reportStore) Count(ctx context.Context) (int64, error) {
	n, err := s.client.DoCache(ctx, s.client.B().Zcard().Key(storage.OpenReports).Cache().ToStaticTTL(), time.Minute).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("report: %w", err)
	}
	return n, nil
}

// Oldest returns when the oldest open case was first reported, or the zero time if there is none.
func (s *reportStore) Oldest(ctx context.Context) (time.Time, error) {
	first, err := s.client.Do(ctx, s.client.B().Zrange().Key(storage.OpenReports).Min("0").Max("0").Withscores().Build()).AsZScores()
	if err != nil {
		return time.Time{}, fmt.Errorf("report: %w", err)
	}
	if len(first) == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(int64(first[0].Score)).UTC(), nil
}

// maxAboutScan limits how many open cases Others examines, earliest first.
const maxAboutScan = 500

// Others returns the open cases about a person or their posts, except the one about a target. If
// there are more than maxAboutScan open cases, Others misses the latest. Two round trips.
func (s *reportStore) Others(ctx context.Context, about int64, except string) ([]openCase, error) {
	b := s.client.B()
	open, err := s.client.Do(ctx, b.Zrange().Key(storage.OpenReports).Min("0").Max(strconv.Itoa(maxAboutScan-1)).Withscores().Build()).AsZScores()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	cmds := make(rueidis.Commands, len(open))
	for i, member := range open {
		cmds[i] = b.Hget().Key(storage.ReportKey(member.Member)).Field("about").Build()
	}
	var others []openCase
	for i, res := range s.client.DoMulti(ctx, cmds...) {
		person, err := reply.TextOrEmpty(res)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if person == storage.Itoa(about) && open[i].Member != except {
			others = append(others, openCase{open[i].Member, time.UnixMilli(int64(open[i].Score)).UTC()})
		}
	}
	return others, nil
}

// openCase is a target with an open case, and the time since which the case is open.
type openCase struct {
	Target string
	Since  time.Time
}

// List returns open cases, earliest first, starting at position from, and whether there are more.
// Three round trips.
func (s *reportStore) List(ctx context.Context, from, limit int) (page []waitingCase, more bool, err error) {
	b := s.client.B()
	entries, err := s.client.Do(ctx, b.Zrange().Key(storage.OpenReports).Min(strconv.Itoa(from)).Max(strconv.Itoa(from+limit)).Withscores().Build()).AsZScores()
	if err != nil {
		return nil, false, fmt.Errorf("report: %w", err)
	}
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	held := map[string]collection.RingItem{}
	for _, ring := range s.rings {
		items, err := ring.Leased(ctx, "")
		if err != nil {
			return nil, false, fmt.Errorf("report: %w", err)
		}
		for _, item := range items {
			held[item.Item] = item
		}
	}
	calls := make([]script.Call, len(entries))
	for i, e := range entries {
		calls[i].Keys = []string{storage.ReportKey(e.Member)}
	}
	for i, res := range reportKindsScript.RunMany(ctx, s.client, calls) {
		entry := waitingCase{Target: entries[i].Member, Since: time.UnixMilli(int64(entries[i].Score))}
		texts, err := res.AsStrSlice()
		if err == nil {
			entry.Texts = parseTexts(texts[0])
			entry.Kinds, err = parseKindCounts(texts[1:])
		}
		if err != nil {
			return nil, false, fmt.Errorf("report: %w", err)
		}
		for _, kind := range entry.Kinds {
			entry.Reporters += kind.N
		}
		item := held[entry.Target]
		entry.Holder, entry.Until = item.Holder(), item.LeasedUntil
		page = append(page, entry)
	}
	return page, more, nil
}

// parseKindCounts parses the reply of report_kinds.lua after the texts.
func parseKindCounts(texts []string) ([]kindCount, error) {
	kinds := make([]kindCount, 0, len(texts)/2)
	for pair := range slices.Chunk(texts, 2) {
		n, err := strconv.ParseInt(pair[1], 10, 64)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kindCount{Name: pair[0], N: n})
	}
	slices.SortFunc(kinds, func(a, b kindCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	return kinds, nil
}
