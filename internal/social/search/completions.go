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
	// spareNames is the number of extra names to read, because some users are gone or have another
	// name.
	spareNames = 16
	// namesPerUser is the maximum number of names of a user that match a prefix: the username and
	// the tails of the display name.
	namesPerUser = 1 + maxTails
	// maxNames is the maximum number of names that the index returns.
	maxNames = 1000
	// spareTags is the number of extra tags to read, because some tags have no post on public
	// lists.
	spareTags = 16
)

// CompleteNames returns up to n users whose username, or one of the first four words of whose
// display name, begins with a prefix, ignoring case and accents, most followers first. The prefix
// may go on over the following words. It omits users hidden from the viewer. Two round trips, three
// if some users were not requested recently. It reads again, a longer list, if many users with the
// prefix are hidden or match it with several words.
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
//
// Most users match with one or two names, so the first read nearly always suffices, and for eight
// users it stays within the 32 terms that the index reads fastest. If it does not suffice, the
// second read has room for all names of each user.
func (c *Completions) named(ctx context.Context, prefix string, n, hidden int, listed func(uid int64) bool) ([]social.User, error) {
	hidden = min(hidden, 10*n)
	var users []social.User
	for _, k := range []int{2*n + hidden + spareNames, min(namesPerUser*(n+hidden)+spareNames, maxNames)} {
		names, err := c.index.Names(ctx, prefix, k)
		if err != nil {
			return nil, err
		}
		users, err = c.usersNamed(ctx, names, n, listed)
		if err != nil {
			return nil, err
		}
		if len(users) == n || len(names) < k {
			break
		}
	}
	return users, nil
}

// usersNamed returns the first n users who have one of the names and for whom listed returns true.
func (c *Completions) usersNamed(ctx context.Context, names []Name, n int, listed func(uid int64) bool) ([]social.User, error) {
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
		if !ok || seen[user.ID] || name.Display != "" && !slices.Contains(tails(user.DisplayName), name.Display) || !listed(user.ID) {
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
// change. After the change it removes the terms of the old name that the new name does not have,
// unless the user has them again. Two round trips besides those of change, five if it removes
// terms.
func (c *Completions) Renamed(ctx context.Context, user social.User, change func() error, display string) error {
	renamed := Name{Username: user.Name, Display: display}
	defer c.index.Rank(user.ID) // PutName gives terms the rank of a new user, even terms of the old name
	if display != "" {
		if err := c.index.PutName(ctx, renamed, 0); err != nil {
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
	if before.DisplayName == "" {
		return nil
	}
	old := c.index.nameTerms(Name{Username: user.Name, Display: before.DisplayName})
	old = slices.DeleteFunc(old, func(term string) bool { return c.index.hasTerm(renamed, term) })
	if len(old) == 0 {
		return nil
	}
	if err := c.index.removeTerms(ctx, old); err != nil {
		return err
	}
	return c.putAgain(ctx, user)
}

// putAgain puts the current display name of a user, of which terms may have been removed because of
// a concurrent change.
func (c *Completions) putAgain(ctx context.Context, user social.User) error {
	current, err := c.users.Record(social.WithFresh(ctx), user.ID)
	if errors.Is(err, social.ErrNotFound) {
		return nil
	}
	if err != nil || current.DisplayName == "" {
		return err
	}
	return c.index.PutName(ctx, Name{Username: user.Name, Display: current.DisplayName}, 0)
}

// Completion returns the index of names and tags, for checks and bulk loading.
func (c *Completions) Completion() *CompletionIndex { return c.index }
