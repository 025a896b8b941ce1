package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"retwis/index/text"
	"retwis/internal/redis/reads"
	"retwis/internal/social"
	"retwis/internal/social/storage"
)

const (
	// maxPeople bounds how many people are found.
	maxPeople = 20
	// candidates is how many with the words are ranked: the latest to join.
	candidates = 200
	// maxTags bounds how many tags are found.
	maxTags = 20
)

// People returns up to twenty people whose name, display name or bio has the words of a
// query, or whose names begin with it: those with most followers first. Of those who have
// the words in their bio only the 200 who joined last are ranked. About four round trips.
func (s *Service) People(ctx context.Context, v *social.Viewer, typed string) ([]social.User, error) {
	typed, err := cleaned(typed)
	if err != nil {
		return nil, err
	}
	named, err := s.Completions.CompleteNames(ctx, v, typed, maxPeople)
	if err != nil {
		return nil, err
	}
	q := text.Query{Limit: candidates}
	if q.Expr, err = text.Parse(strings.TrimLeft(typed, "@＠")); err != nil {
		if len(named) > 0 {
			return named, nil
		}
		return nil, invalid(err)
	}
	found, err := s.Index.People.Search(ctx, q)
	if err != nil {
		return nil, invalid(fmt.Errorf("social: search: %w", err))
	}
	listed := slices.DeleteFunc(found.IDs, func(id int64) bool { return !v.Lists(id) })
	for _, user := range named {
		if !slices.Contains(listed, user.ID) {
			listed = append(listed, user.ID)
		}
	}
	return s.ranked(ctx, listed)
}

// ranked returns the users of some ids with most followers.
func (s *Service) ranked(ctx context.Context, ids []int64) ([]social.User, error) {
	counts, err := reads.Counts(ctx, s.DB.Client, ids, storage.FollowersKey)
	if err != nil {
		return nil, fmt.Errorf("social: search: %w", err)
	}
	followers := make(map[int64]int64, len(ids))
	for i, id := range ids {
		followers[id] = counts[i]
	}
	slices.SortFunc(ids, func(a, b int64) int {
		return cmp.Or(cmp.Compare(followers[b], followers[a]), cmp.Compare(a, b))
	})
	return s.Users.InOrder(ctx, ids[:min(len(ids), maxPeople)])
}

// Tags returns up to twenty tags that begin with what was typed, those of most posts first.
// One round trip.
func (s *Service) Tags(ctx context.Context, typed string) ([]string, error) {
	typed, err := cleaned(typed)
	if err != nil {
		return nil, err
	}
	return s.Completions.CompleteTags(ctx, typed, maxTags)
}
