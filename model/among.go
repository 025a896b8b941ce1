package model

import (
	"context"
	"slices"
	"strconv"

	"retwis/model/internal/query"

	"github.com/redis/rueidis"
)

// Collection is the set or list of one record: *Members or *Values.
type Collection interface {
	members() query.Members
}

// Among restricts a query to records whose ids are in a set or list, which may belong to a
// record of any model:
//
//	authors.Find(model.Eq("city", "London")).Among(authors.Set("friends", id)).OrderBy("name")
//
// Everything else works as usual: conditions, OrderBy, pages, Count. Without OrderBy, records
// are in creation order, each once. Ids of missing records are skipped. Several calls restrict
// the query to ids that are in all sets.
//
// The set may be in another slot of a Cluster, or in another database. If it is smaller than
// the result of the conditions, the query reads its members, a few hundred per round trip, and
// checks them in scripts; otherwise it finds records by the conditions, and asks the set for
// their ids. So a page costs as much as the smaller of the two. A list is read completely: a
// list of more than 50,000 values returns ErrValue. If the server of a set with a few hundred
// members or more restarts while a query reads it, records can be missing.
func (q *Query[T]) Among(c Collection) *Query[T] {
	with := *q
	with.f.Among = append(slices.Clip(q.f.Among), c.members())
	return &with
}

func (m *Members) members() query.Members { return &idSet{Members: m} }
func (v *Values) members() query.Members  { return &idList{Values: v} }

// idSet reads the ids in a set.
type idSet struct {
	*Members
	size int64
}

// Key returns the key of the set.
func (s *idSet) Key() string { return s.key }

// Open counts the members.
func (s *idSet) Open(ctx context.Context) (query.Reader, error) {
	n, err := s.Members.Len(ctx)
	return &idSet{s.Members, n}, err
}

// Len returns the number of members at the time of Open.
func (s *idSet) Len() int64 { return s.size }

// Read reads some members.
func (s *idSet) Read(ctx context.Context, cursor string) ([]string, string, error) {
	at, _ := strconv.ParseUint(cursor, 10, 64) // "" is 0
	reply, err := s.read(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Sscan().Key(s.key).Cursor(at).Count(scanMany).Build()
	})
	if err != nil {
		return nil, "", err
	}
	page, err := reply.AsScanEntry()
	if err != nil || page.Cursor == 0 {
		return page.Elements, "", err
	}
	return page.Elements, strconv.FormatUint(page.Cursor, 10), nil
}

// Keep returns the ids that are members.
func (s *idSet) Keep(ctx context.Context, ids []string) ([]string, error) {
	return s.keep(ctx, ids)
}

// idList holds the ids in a list.
type idList struct {
	*Values
	ids []string // each once
	is  map[string]bool
}

// Key returns the key of the list.
func (l *idList) Key() string { return l.key }

// Open reads the list.
func (l *idList) Open(ctx context.Context) (query.Reader, error) {
	length, err := l.Values.Len(ctx)
	if err == nil && length > searchMany {
		err = wrap(l.t, l.tooLong(length))
	}
	if err != nil {
		return nil, err
	}
	r := &idList{Values: l.Values, is: map[string]bool{}}
	for id, err := range l.All(ctx) {
		if err != nil {
			return nil, err
		}
		if !r.is[id] {
			r.is[id] = true
			r.ids = append(r.ids, id)
		}
	}
	return r, nil
}

// Len returns the number of distinct ids.
func (l *idList) Len() int64 { return int64(len(l.ids)) }

// Read returns some ids.
func (l *idList) Read(_ context.Context, cursor string) ([]string, string, error) {
	at, _ := strconv.Atoi(cursor) // "" is 0
	to := min(at+scanMany, len(l.ids))
	if to == len(l.ids) {
		return l.ids[at:], "", nil
	}
	return l.ids[at:to], strconv.Itoa(to), nil
}

// Keep returns the ids that are in the list.
func (l *idList) Keep(_ context.Context, ids []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !l.is[id] }), nil
}
