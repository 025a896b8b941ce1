package search

import (
	"context"
	"errors"
	"slices"
	"strings"

	"retwis/internal/social"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// Completions completes names and tags that a user types.
type Completions struct {
	users  *storage.Users
	index  *CompletionIndex
	rules  TagRules
	public publicPosts
}

// TagRules are the moderators' decisions about tags.
type TagRules interface {
	// Blocked returns the folded tags that are never suggested.
	Blocked(ctx context.Context) (map[string]bool, error)
}

// NewCompletions returns completions from an index of names and tags.
func NewCompletions(parts timeline.Parts, index *CompletionIndex, rules TagRules) *Completions {
	return &Completions{users: parts.Users, index: index, rules: rules, public: publicPosts{parts}}
}

const (
	// maxCompletions limits the number of results.
	maxCompletions = 20
	// maxPrefix limits the length of a prefix, in bytes.
	maxPrefix = 200
	// spareNames is the number of extra names to read, because some users are hidden or gone, or
	// match with both of their names.
	spareNames = 16
	// spareTags is the number of extra tags to read, because some tags have no post on public
	// lists.
	spareTags = 16
)

// CompleteNames returns up to n users whose username or display name begins with a prefix, ignoring
// case and accents, most followers first. It omits users hidden from the viewer. Two round trips,
// three if some users were not requested recently.
func (c *Completions) CompleteNames(ctx context.Context, v *social.Viewer, prefix string, n int) ([]social.User, error) {
	prefix = strings.TrimLeft(prefix, "@＠")
	if prefix == "" || len(prefix) > maxPrefix {
		return nil, nil
	}
	n = max(1, min(n, maxCompletions))
	return c.named(ctx, prefix, n, v.HiddenPeople(), v.Lists)
}

// FindPeople is like CompleteNames, but for moderators: it omits nobody.
func (c *Completions) FindPeople(ctx context.Context, prefix string, n int) ([]social.User, error) {
	prefix = strings.TrimLeft(prefix, "@＠")
	if prefix == "" || len(prefix) > maxPrefix {
		return nil, nil
	}
	return c.named(ctx, prefix, max(1, min(n, maxCompletions)), 0, func(int64) bool { return true })
}

// named returns up to n users whose name has a prefix and for whom listed returns true. hidden is
// an estimate of the number of users who are not listed.
func (c *Completions) named(ctx context.Context, prefix string, n, hidden int, listed func(uid int64) bool) ([]social.User, error) {
	names, err := c.index.Names(ctx, prefix, 2*n+spareNames+min(hidden, 10*n))
	if err != nil {
		return nil, err
	}
	usernames := make([]string, len(names))
	for i, name := range names {
		usernames[i] = name.Username
	}
	found, err := c.users.ByNames(ctx, usernames)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]social.User, len(found))
	for _, user := range found {
		byName[user.Name] = user
	}
	users := make([]social.User, 0, n)
	seen := make(map[int64]bool)
	for _, name := range names {
		user, ok := byName[name.Username]
		if !ok || seen[user.ID] || name.Display != "" && name.Display != user.DisplayName || !listed(user.ID) {
			continue
		}
		seen[user.ID] = true
		if users = append(users, user); len(users) == n {
			break
		}
	}
	return users, nil
}

// CompleteTags returns up to n tags that begin with a prefix, ignoring case and accents, most posts
// first. It omits tags that moderators have blocked, and tags none of whose latest posts is on
// public lists. Two round trips if the posts are in memory.
func (c *Completions) CompleteTags(ctx context.Context, prefix string, n int) ([]string, error) {
	prefix = strings.TrimLeft(prefix, "#＃")
	if prefix == "" || len(prefix) > maxPrefix {
		return nil, nil
	}
	n = max(1, min(n, maxCompletions))
	blocked, err := c.rules.Blocked(ctx)
	if err != nil {
		return nil, err
	}
	tags, err := c.index.Tags(ctx, prefix, n+spareTags+min(len(blocked), 10*n))
	if err != nil {
		return nil, err
	}
	tags = slices.DeleteFunc(tags, func(tag string) bool { return blocked[tag] })
	tags, err = c.public.keep(ctx, tagKind, tags[:min(n+spareTags, len(tags))])
	return tags[:min(n, len(tags))], err
}

// Renamed calls change to give a user another display name. It indexes the new name before the
// change, and removes the old name after the change, unless the user has the old name again.
func (c *Completions) Renamed(ctx context.Context, user social.User, change func() error, display string) error {
	if display != "" {
		if err := c.index.PutName(ctx, Name{Username: user.Name, Display: display}, 0); err != nil {
			return err
		}
	}
	before, err := c.users.Record(social.WithFresh(ctx), user.ID)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	c.index.Rank(user.ID)
	old := Name{Username: user.Name, Display: before.DisplayName}
	if old.Display == "" || old.Display == display {
		return nil
	}
	if err := c.index.RemoveName(ctx, old); err != nil {
		return err
	}
	switch current, err := c.users.Record(social.WithFresh(ctx), user.ID); {
	case err == nil && current.DisplayName == old.Display:
		return c.index.PutName(ctx, old, 0)
	case !errors.Is(err, social.ErrNotFound):
		return err
	}
	return nil
}

// Completion returns the index of names and tags, for checks and bulk loading.
func (c *Completions) Completion() *CompletionIndex { return c.index }
