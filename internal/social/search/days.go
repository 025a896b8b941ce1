package search

import (
	"context"
	"fmt"
	"slices"
	"time"

	"retwis/index/text"
	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/social/storage"
)

// Post IDs grow with time, except those of imported posts: the posts of an import have consecutive
// IDs and their original times. So the posts of a span of days have several ranges of IDs: those of
// the posts written here between the imports, and one range for each import.

const (
	// probes is the number of posts that are read at a time to find the first post of a day.
	probes = 32
	// maxMissing limits the number of reads in a row that find none of the posts.
	maxMissing = 8
	// maxImports limits the number of imports that are searched: the latest ones.
	maxImports = 1000
)

// idRange is the range of IDs from first to last. It is empty if last is smaller than first.
type idRange struct{ first, last int64 }

// allIDs is the range of all IDs.
var allIDs = idRange{1, text.MaxID}

func (r idRange) len() int64 { return max(0, r.last-r.first+1) }

// days returns the ID ranges of the posts within the days of a query, largest first.
func (s *Service) days(ctx context.Context, q *Query) ([]idRange, error) {
	last, err := reply.TextOrEmpty(s.DB.Client.Do(ctx, s.DB.Client.B().Get().Key(storage.NextPostID).Build()))
	if err != nil {
		return nil, fmt.Errorf("social: search: %w", err)
	}
	n, _ := storage.ParseID(last)
	imports, err := s.imports(ctx)
	if err != nil {
		return nil, err
	}
	parts := make([][]idRange, len(imports)+1)
	err = storage.AtOnce(len(parts), func(i int) (err error) {
		ranges := gaps(imports, n)
		if i < len(imports) {
			ranges = imports[i : i+1]
		}
		parts[i], err = s.within(ctx, ranges, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b idRange) int { return int(b.first - a.first) })
	return all, nil
}

// imports returns the ID range of each import, in ascending order.
func (s *Service) imports(ctx context.Context) ([]idRange, error) {
	members, err := reply.OrEmpty(s.DB.Client.Do(ctx, s.DB.Client.B().Zrange().Key(storage.ImportedPosts).Min("0").Max(storage.Itoa(maxImports-1)).Rev().Build()).AsStrSlice())
	if err != nil {
		return nil, fmt.Errorf("social: search: %w", err)
	}
	var all []idRange
	for _, member := range slices.Backward(members) {
		first, last, ok := storage.ParseRange(member)
		if ok && (len(all) == 0 || first > all[len(all)-1].last) {
			all = append(all, idRange{first, last})
		}
	}
	return all, nil
}

// gaps returns the gaps between ranges, up to ID n.
func gaps(ranges []idRange, n int64) []idRange {
	var all []idRange
	next := int64(1)
	for _, r := range append(slices.Clip(ranges), idRange{n + 1, n + 1}) {
		if between := (idRange{next, min(r.first-1, n)}); between.len() > 0 {
			all = append(all, between)
		}
		next = r.last + 1
	}
	return all
}

// within returns the parts of ranges that fall within the days of a query. The times of the posts
// must grow over the ranges.
func (s *Service) within(ctx context.Context, ranges []idRange, q *Query) ([]idRange, error) {
	from, to := int64(0), int64(0)
	for _, r := range ranges {
		to += r.len()
	}
	var err error
	if !q.after.IsZero() {
		if from, err = s.firstAt(ctx, ranges, q.after); err != nil {
			return nil, err
		}
	}
	if !q.before.IsZero() {
		if to, err = s.firstAt(ctx, ranges, q.before); err != nil {
			return nil, err
		}
	}
	var parts []idRange
	for _, r := range ranges { // from and to are offsets into the IDs
		part := idRange{r.first + max(0, from), min(r.last, r.first+to-1)}
		if part.len() > 0 {
			parts = append(parts, part)
		}
		from, to = from-r.len(), to-r.len()
	}
	return parts, nil
}

// idAt returns the ID at offset n in ranges.
func idAt(ranges []idRange, n int64) int64 {
	for _, r := range ranges {
		if n < r.len() {
			return r.first + n
		}
		n -= r.len()
	}
	return 0
}

// firstAt returns the offset, in the IDs of ranges, of the first post at or after a time. It reads
// the times of some posts, and then of some posts within the interval that must contain the result:
// one round trip per factor of 33 in the number of IDs.
func (s *Service) firstAt(ctx context.Context, ranges []idRange, at time.Time) (int64, error) {
	low, high := int64(0), int64(0) // the result is in low…high
	for _, r := range ranges {
		high += r.len()
	}
	missing := int64(0)
	for low < high {
		step := max(1, (high-low)/(probes+1))
		offsets := make([]int64, 0, probes)
		for n := low + step - 1 - missing*step/maxMissing; n < high && len(offsets) < probes; n += step {
			offsets = append(offsets, n)
		}
		ids := make([]int64, len(offsets))
		for i, n := range offsets {
			ids[i] = idAt(ranges, n)
		}
		times, err := s.times(ctx, ids)
		if err != nil {
			return 0, err
		}
		seen := false
		for i, n := range offsets {
			switch {
			case times[i].IsZero() || n < low || n >= high:
			case times[i].Before(at):
				low, seen = n+1, true
			default:
				high, seen = n, true
			}
		}
		switch {
		case seen:
			missing = 0
		case step == 1: // none of these posts exists
			low = offsets[len(offsets)-1] + 1
		case missing < maxMissing-1: // neighbors of these posts may exist
			missing++
		default:
			return low, nil
		}
	}
	return low, nil
}

// times returns the times of posts, with the zero time for a missing post.
func (s *Service) times(ctx context.Context, ids []int64) ([]time.Time, error) {
	texts, err := reads.Field(ctx, s.DB.Client, ids, storage.PostKey, "time")
	if err != nil {
		return nil, fmt.Errorf("social: read a post: %w", err)
	}
	times := make([]time.Time, len(ids))
	for i, text := range texts {
		times[i] = storage.ParseTime(text)
	}
	return times, nil
}
