package people

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"

	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/search"
	"retwis/internal/social/storage"
	"retwis/internal/social/timeline"
)

// Lists implements the rules of lists. It is safe for concurrent use.
type Lists struct{ opt ListsOptions }

// ListsOptions configure Lists; all are required.
type ListsOptions struct {
	timeline.Parts
	Store *Store
}

// NewLists returns the Lists of a database.
func NewLists(opt ListsOptions) *Lists { return &Lists{opt: opt} }

// All returns the lists and saved searches of a user. At most two round trips.
func (s *Lists) All(ctx context.Context, user social.User) (Library, error) {
	return s.opt.Store.Get(ctx, user.ID)
}

// Get returns a list of a user, or ErrNotFound. Two round trips at most.
func (s *Lists) Get(ctx context.Context, user social.User, id string) (List, error) {
	all, err := s.opt.Store.Get(ctx, user.ID)
	if err != nil {
		return List{}, err
	}
	list := all.find(id)
	if list == nil {
		return List{}, social.ErrNotFound
	}
	return *list, nil
}

// Create creates a list. It returns *InvalidError if the name is empty, too long or in use, or the
// user has too many lists. Two or three round trips.
func (s *Lists) Create(ctx context.Context, user social.User, name string) (List, error) {
	name, err := cleanName(name)
	if err != nil {
		return List{}, err
	}
	list := List{ID: newID(), Name: name, Created: s.opt.Now().Unix()}
	return list, s.opt.Store.update(ctx, user.ID, func(all *Library) error {
		switch {
		case len(all.Lists) >= MaxLists:
			return social.Invalid("name", "You have {n} lists, the maximum. Delete one first.", MaxLists)
		case all.hasName(name, ""):
			return errNameInUse()
		}
		all.Lists = append(all.Lists, list)
		return nil
	})
}

// newID returns the ID of a new list: 50 random bits are enough among the lists of one user.
func newID() string { return strings.ToLower(rand.Text()[:10]) }

func cleanName(typed string) (string, error) {
	name, err := social.CleanLine(typed, "name", MaxName)
	if err == nil && name == "" {
		err = social.Invalid("name", "Give the list a name.")
	}
	return name, err
}

func errNameInUse() error {
	return social.Invalid("name", "You already have a list with that name. Please choose another one.")
}

// Edit renames a list and sets whether its members are omitted from the user's home timeline. The
// change takes effect immediately in this process, and in other processes when the server reports
// it. It returns ErrNotFound, or *InvalidError as Create does. Two round trips.
func (s *Lists) Edit(ctx context.Context, user social.User, id, name string, leftOut bool) error {
	name, err := cleanName(name)
	if err != nil {
		return err
	}
	return s.change(ctx, user, id, func(all *Library, list *List) error {
		if all.hasName(name, id) {
			return errNameInUse()
		}
		list.Name, list.LeftOut = name, leftOut
		return nil
	})
}

// change changes a list of a user by calling edit.
func (s *Lists) change(ctx context.Context, user social.User, id string, edit func(*Library, *List) error) error {
	return s.opt.Store.update(ctx, user.ID, func(all *Library) error {
		list := all.find(id)
		if list == nil {
			return social.ErrNotFound
		}
		return edit(all, list)
	})
}

// Delete deletes a list. Repeating the call changes nothing. Two round trips.
func (s *Lists) Delete(ctx context.Context, user social.User, id string) error {
	return s.opt.Store.update(ctx, user.ID, func(all *Library) error {
		all.Lists = slices.DeleteFunc(all.Lists, func(list List) bool { return list.ID == id })
		return nil
	})
}

// Add puts a user on a list of the viewer. It returns ErrNotFound if the list does not exist or the
// user is hidden from the viewer, and *InvalidError if the list is full. Repeating the call changes
// nothing. Three round trips.
func (s *Lists) Add(ctx context.Context, v *social.Viewer, id string, user social.User) error {
	if v.Sees(user.ID) == social.Hidden {
		return social.ErrNotFound
	}
	err := s.change(ctx, v.User, id, func(_ *Library, list *List) error { return list.add(user.ID) })
	if err != nil {
		return err
	}
	return s.validate(ctx, v, user)
}

// add puts a user on the list, unless it is full.
func (l *List) add(uid int64) error {
	switch {
	case l.Has(uid):
		return nil
	case len(l.Members) >= MaxMembers:
		return social.Invalid("lists", "{name} has {n} people, the maximum. Remove someone first.", strconv.Quote(l.Name), MaxMembers)
	}
	l.Members = append(l.Members, uid)
	return nil
}

// Put puts a user on the lists of the viewer with these IDs, and removes the user from all others;
// see Add. It ignores IDs of lists that no longer exist.
func (s *Lists) Put(ctx context.Context, v *social.Viewer, user social.User, ids []string) error {
	if v.Sees(user.ID) == social.Hidden {
		return social.ErrNotFound
	}
	err := s.opt.Store.update(ctx, v.User.ID, func(all *Library) error {
		for i := range all.Lists {
			list := &all.Lists[i]
			if !slices.Contains(ids, list.ID) {
				list.remove(user.ID)
			} else if err := list.add(user.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.validate(ctx, v, user)
}

func (l *List) remove(uid int64) {
	l.Members = slices.DeleteFunc(l.Members, func(other int64) bool { return other == uid })
}

// validate removes a user from the lists again if the user is gone, or blocks or is blocked by the
// viewer. A block is written before the lists of the two users are checked, and a list before
// blocks are checked here, so at least one of the checks sees the other write.
func (s *Lists) validate(ctx context.Context, v *social.Viewer, user social.User) error {
	b, own, other := s.opt.DB.Client.B(), storage.Itoa(v.User.ID), storage.Itoa(user.ID)
	res := s.opt.DB.Client.DoMulti(ctx,
		b.Hmget().Key(storage.UserKey(user.ID)).Field("username", "standing").Build(),
		b.Zscore().Key(storage.BlockedKey(user.ID)).Member(own).Build(),
		b.Zscore().Key(storage.BlockedKey(v.User.ID)).Member(other).Build())
	fields, err := reply.Fields(res[0])
	if err != nil {
		return failed(err)
	}
	gone := fields[0] == "" || fields[1] == storage.Closed
	for _, result := range res[1:] {
		until, err := reply.TextOrEmpty(result)
		if err != nil {
			return failed(err)
		}
		end, err := strconv.ParseFloat(until, 64)
		gone = gone || err == nil && end > float64(s.opt.Now().Unix())
	}
	if !gone {
		return nil
	}
	if err := s.opt.Store.Separate(ctx, v.User.ID, user.ID); err != nil {
		return err
	}
	return social.ErrNotFound
}

// Remove removes a user from a list. Repeating the call changes nothing. Two round trips.
func (s *Lists) Remove(ctx context.Context, user social.User, id string, member int64) error {
	return s.change(ctx, user, id, func(_ *Library, list *List) error {
		list.remove(member)
		return nil
	})
}

// Posts returns a page of the posts and reposts of the members of a list, as the viewer sees them
// on a home timeline. One round trip for all members; none for a first page that was read recently
// and has not changed.
func (s *Lists) Posts(ctx context.Context, v *social.Viewer, list List, before int64, limit int) (timeline.Listing, error) {
	return s.opt.Lists.MemberPosts(ctx, v, list.Members, before, limit)
}

// SaveSearch saves a search; the latest comes last. Repeating the call changes nothing. It returns
// *InvalidError if the search is empty or too long, or the user has too many saved searches. Two or
// three round trips.
func (s *Lists) SaveSearch(ctx context.Context, user social.User, typed string) error {
	query := strings.Join(strings.Fields(social.CleanRunes(typed)), " ")
	if _, err := search.Parse(query); err != nil {
		return err
	}
	if query == "" {
		return social.Invalid("q", "Search for something first.")
	}
	err := s.opt.Store.update(ctx, user.ID, func(all *Library) error {
		switch {
		case slices.ContainsFunc(all.Searches, func(saved SavedSearch) bool { return saved.Query == query }):
			return errNothing
		case len(all.Searches) >= MaxSearches:
			return social.Invalid("q", "You have saved {n} searches, the maximum. Remove one first.", MaxSearches)
		}
		all.Searches = append(all.Searches, SavedSearch{Query: query, Created: s.opt.Now().Unix()})
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// ForgetSearch removes a saved search. Repeating the call changes nothing. Two round trips.
func (s *Lists) ForgetSearch(ctx context.Context, user social.User, query string) error {
	return s.opt.Store.update(ctx, user.ID, func(all *Library) error {
		all.Searches = slices.DeleteFunc(all.Searches, func(saved SavedSearch) bool { return saved.Query == query })
		return nil
	})
}
