package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"retwis/index"
	"retwis/index/text"
	"retwis/internal/i18n"
	"retwis/internal/social"

	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// Options configure a Service; all are required.
type Options struct {
	timeline.Parts
	Index       Indexes
	Completions *Completions
}

// Service finds posts, people and tags.
type Service struct{ Options }

// New returns a Service.
func New(opt Options) *Service { return &Service{opt} }

// NoUserError reports an operator with a username that does not exist.
type NoUserError struct{ Name string }

// Error returns a sentence for the page.
func (e *NoUserError) Error() string { return fmt.Sprintf("There is no user @%s.", e.Name) }

// invalid returns an *InvalidError with a sentence for a query that package text rejects, and any
// other error unchanged. Some errors occur only during the search, because a word that ends in *
// stands for several words.
func invalid(err error) error {
	var syntax *text.SyntaxError
	switch {
	case errors.As(err, &syntax) && !syntaxTexts[syntax.Text].IsZero():
		return &social.InvalidError{Field: "q", Reason: syntaxTexts[syntax.Text]}
	case errors.Is(err, index.ErrValue):
		return social.Invalid("q", "This search has too many parts. Use fewer words, and fewer that end in *.")
	}
	return err
}

// syntaxTexts maps the syntax errors of package text to sentences.
var syntaxTexts = map[string]i18n.Message{
	"unmatched closing parenthesis":                     i18n.T("There's a ) without a (."),
	"missing closing parenthesis":                       i18n.T("There's a ( without a )."),
	"the query has more than 32 words":                  i18n.T("This search has more than 32 words."),
	"the query has no words":                            i18n.T("The query has no words."),
	"the query is not valid UTF-8":                      i18n.T("The query is not UTF-8."),
	"OR needs a word on both sides":                     i18n.T("OR needs a word on both sides."),
	"the query only excludes words: add a word to find": i18n.T("This search only excludes words. Add a word to find."),
	"the phrase has no closing quote":                   i18n.T("The phrase has no closing quote."),
}

// Posts returns a page of the posts that match a query, newest first. It omits posts that a public
// list may not show the viewer, and posts by authors who have opted out of search. before is the
// cursor of the page, 0 for the first page. Posts returns *InvalidError if the query is invalid, or
// *NoUserError.
//
// One round trip for the index if the posts are in memory; more for rare combinations of frequent
// words, for phrases and for days; see text.Index.Search.
func (s *Service) Posts(ctx context.Context, v *social.Viewer, q *Query, before int64, limit int) (timeline.Listing, error) {
	find, err := s.resolve(ctx, v, q)
	if err != nil {
		return timeline.Listing{}, err
	}
	ranges := []idRange{allIDs}
	if !q.before.IsZero() || !q.after.IsZero() {
		if ranges, err = s.days(ctx, q); err != nil {
			return timeline.Listing{}, err
		}
	}
	return s.Lists.Page(ctx, timeline.PageQuery{
		Viewer: v, Before: before, Limit: limit, Least: social.Shown, Far: true,
		Read: func(ctx context.Context, before int64, limit int) (timeline.Page, error) {
			next := find
			next.Limit = limit
			r, err := s.foundIn(ctx, ranges, before, next)
			if err != nil {
				return timeline.Page{}, err
			}
			return s.found(ctx, v, q, r)
		},
	})
}

// foundIn returns the results of a query whose IDs are in ranges, largest first, and the cursor
// after them.
func (s *Service) foundIn(ctx context.Context, ranges []idRange, before int64, q text.Query) (text.Result, error) {
	all := text.Result{}
	limit := q.Limit
	for _, r := range ranges {
		if before != 0 && before <= r.first {
			continue
		}
		q.After, q.Before, q.Limit = r.first-1, r.last+1, limit-len(all.IDs)
		if r == allIDs {
			q.Before = 0 // no bound
		}
		if before != 0 && (q.Before == 0 || before < q.Before) {
			q.Before = before
		}
		found, err := s.Index.Posts.Search(ctx, q)
		if err != nil {
			return text.Result{}, invalid(fmt.Errorf("social: search: %w", err))
		}
		all.IDs = append(all.IDs, found.IDs...)
		switch {
		case found.Next != 0:
			all.Next = found.Next
			return all, nil
		case len(all.IDs) == limit:
			all.Next = r.first // the next range has smaller IDs
			return all, nil
		}
	}
	return all, nil
}

// found returns a page of results, without posts by authors who have opted out of search and posts
// that do not meet the query's condition on pictures.
func (s *Service) found(ctx context.Context, v *social.Viewer, q *Query, r text.Result) (timeline.Page, error) {
	page := timeline.Page{IDs: r.IDs, Next: r.Next}
	staff := v.User.Role >= social.Moderator
	if staff && q.pictures == anyPictures || len(r.IDs) == 0 {
		return page, nil
	}
	posts, err := s.Views.Get(ctx, r.IDs...)
	if err != nil {
		return timeline.Page{}, err
	}
	authors := make([]int64, 0, len(posts))
	for _, p := range posts {
		if p != nil && !slices.Contains(authors, p.Author.ID) {
			authors = append(authors, p.Author.ID)
		}
	}
	known, err := s.Users.ByID(ctx, authors)
	if err != nil {
		return timeline.Page{}, err
	}
	page.IDs = make([]int64, 0, len(r.IDs))
	for i, p := range posts {
		if p != nil && q.pictures.allow(p.Post) && (staff || p.Author.ID == v.User.ID || !known[p.Author.ID].Unsearchable) {
			page.IDs = append(page.IDs, r.IDs[i])
		}
	}
	return page, nil
}

// resolve returns the query for the index, with the IDs of the users that q names.
func (s *Service) resolve(ctx context.Context, v *social.Viewer, q *Query) (text.Query, error) {
	var typed strings.Builder
	for _, p := range q.parts {
		if p.user == "" {
			typed.WriteString(p.text)
			continue
		}
		user, err := s.user(ctx, v, p.user)
		if err != nil {
			return text.Query{}, err
		}
		if !p.to {
			typed.WriteString(Term(FromTerm, storage.Itoa(user.ID)))
			continue
		}
		fmt.Fprintf(&typed, "(%s OR %s)", Term(ToTerm, storage.Itoa(user.ID)),
			Term(MentionTerm, storage.Fold(user.Name)))
	}
	if strings.TrimSpace(typed.String()) == "" {
		return text.Query{}, social.Invalid("q", "Add a word, a #tag or a person, such as from:ada.")
	}
	find := text.Query{}
	var err error
	if find.Expr, err = text.Parse(typed.String(), "from", "to", "mention", "tag", "has", "is"); err != nil {
		return text.Query{}, invalid(err)
	}
	return find, nil
}

// user returns the user with a name, or the viewer for "me". It returns *NoUserError if the user
// does not exist or is hidden from the viewer.
func (s *Service) user(ctx context.Context, v *social.Viewer, name string) (social.User, error) {
	if strings.EqualFold(name, "me") && v.User.ID != 0 {
		return v.User, nil
	}
	user, err := s.Users.UserByName(ctx, name)
	if errors.Is(err, social.ErrNotFound) || err == nil && v.Sees(user.ID) == social.Hidden {
		return social.User{}, &NoUserError{name}
	}
	return user, err
}
