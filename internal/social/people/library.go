package people

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"retwis/internal/social/storage"
)

// Limits per user.
const (
	MaxLists    = 50
	MaxMembers  = 200 // per list
	MaxSearches = 50
	MaxName     = 50 // in characters
)

// Library holds the lists and saved searches of a user, the newest last: a record of
// storage.ListsModel.
type Library struct {
	ID       int64         `redis:",id"` // the ID of the user
	Lists    []List        `redis:"lists"`
	Searches []SavedSearch `redis:"searches"`
	// LeftOut are the members of the lists that are omitted from the home timeline, sorted;
	// timeline.Viewers reads this field.
	LeftOut []int64 `redis:"left_out"`
	Version int64   `redis:",version"`
}

// List is a list of people. The newest member comes last.
type List struct {
	ID      string  `json:"id"` // random
	Name    string  `json:"name"`
	Created int64   `json:"created"` // in Unix seconds
	LeftOut bool    `json:"left_out,omitempty"`
	Members []int64 `json:"members,omitempty"`
}

// SavedSearch is a search to repeat.
type SavedSearch struct {
	Query   string `json:"query"`
	Created int64  `json:"created"` // in Unix seconds
}

// Has reports whether a user is on the list.
func (l List) Has(uid int64) bool { return slices.Contains(l.Members, uid) }

// find returns the list with an ID, or nil.
func (l *Library) find(id string) *List {
	i := slices.IndexFunc(l.Lists, func(list List) bool { return list.ID == id })
	if i < 0 {
		return nil
	}
	return &l.Lists[i]
}

// hasName reports whether a list other than the list with this ID has the name, ignoring case.
func (l *Library) hasName(name, id string) bool {
	return slices.ContainsFunc(l.Lists, func(list List) bool { return list.ID != id && foldName(list.Name) == foldName(name) })
}

// foldName returns the form in which a name is unique.
func foldName(name string) string { return cases.Fold().String(norm.NFKC.String(name)) }

// remove removes matching users from all lists, and reports whether there were any.
func (l *Library) remove(match func(uid int64) bool) bool {
	removed := false
	for i := range l.Lists {
		n := len(l.Lists[i].Members)
		l.Lists[i].Members = slices.DeleteFunc(l.Lists[i].Members, match)
		removed = removed || len(l.Lists[i].Members) < n
	}
	return removed
}

// leftOut returns the members of the lists that are omitted from the home timeline.
func (l *Library) leftOut() []int64 {
	var all []int64
	for _, list := range l.Lists {
		if list.LeftOut {
			all = append(all, list.Members...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// has reports whether any matching user is on a list.
func (l *Library) has(match func(uid int64) bool) bool {
	return slices.ContainsFunc(l.Lists, func(list List) bool { return slices.ContainsFunc(list.Members, match) })
}

// Members returns the members of all lists, sorted and without duplicates.
func (l *Library) Members() []int64 {
	var all []int64
	for _, list := range l.Lists {
		all = append(all, list.Members...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Problem returns what is wrong with a record that another program has changed, or an empty string.
func (l *Library) Problem() string {
	if !slices.Equal(l.LeftOut, l.leftOut()) {
		return "the field left_out lacks members of lists that are left out, or has others"
	}
	for _, list := range l.Lists {
		if list.ID == "" || strings.TrimSpace(list.Name) == "" || len(list.Members) > MaxMembers {
			return "a list has no ID or no name, or more than 200 members"
		}
		for _, uid := range list.Members {
			if _, ok := storage.ParseID(storage.Itoa(uid)); !ok {
				return "a list has a member that is not an ID"
			}
		}
	}
	return ""
}
