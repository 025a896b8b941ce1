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
	// MaxPeople is the maximum number of people found.
	MaxPeople = 20
	// candidates limits the number of people with the words that are ranked: those who joined last.
	candidates = 200
	// maxTags is the maximum number of tags found.
	maxTags = 20
)

// People returns up to twenty people whose name, display name or bio has the words of a query, or
// who are completed from the query, most followers first. It ranks only the 200 people with the
// words who joined last. About three round trips.
func (s *Service) People(ctx context.Context, v *social.Viewer, typed string) ([]social.User, error) {
	typed, err := clean(typed)
	if err != nil {
		return nil, err
	}
	q := text.Query{Limit: candidates}
	var parseErr error
	q.Expr, parseErr = text.Parse(strings.TrimLeft(typed, "@＠"))
	var named []social.User
	var found text.Result
	err = storage.AtOnce(2, func(i int) (err error) {
		switch {
		case i == 0:
			named, err = s.Completions.CompleteNames(ctx, v, typed, MaxPeople)
		case parseErr == nil:
			if found, err = s.Index.People.Search(ctx, q); err != nil {
				err = invalid(fmt.Errorf("social: search: %w", err))
			}
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case parseErr != nil && len(named) == 0:
		return nil, invalid(parseErr)
	}
	listed := slices.DeleteFunc(found.IDs, func(id int64) bool { return !v.Lists(id) })
	for _, user := range named {
		if !slices.Contains(listed, user.ID) {
			listed = append(listed, user.ID)
		}
	}
	return s.ranked(ctx, listed)
}

// ranked returns the users with the given IDs who have the most followers.
func (s *Service) ranked(ctx context.Context, ids []int64) ([]social.User, error) {
	if len(ids) < 2 {
		return s.Users.InOrder(ctx, ids)
	}
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
	return s.Users.InOrder(ctx, ids[:min(len(ids), MaxPeople)])
}

// Tags returns up to twenty tags that begin with the typed text, most posts first. One round trip.
func (s *Service) Tags(ctx context.Context, typed string) ([]string, error) {
	typed, err := clean(typed)
	if err != nil {
		return nil, err
	}
	return s.Completions.CompleteTags(ctx, typed, maxTags)
}
