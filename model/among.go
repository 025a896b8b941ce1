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
// Conditions, OrderBy, pages and Count work as usual. Without OrderBy, the results are in
// creation order, without duplicates. Ids of missing records are skipped. After several calls,
// ids must be in all of the sets.
//
// The set may be in another slot of a Cluster, or in another database. If the set is smaller
// than the result of the conditions, the query reads the members, a few hundred per round trip,
// and checks them in scripts; otherwise it finds records by the conditions, and checks whether
// the set contains their ids. A page costs as much as the smaller of the set and the result. A
// list is read completely: a query among more than 50,000 values returns ErrValue. If the
// server of a set with a few hundred members or more restarts while a query reads the set,
// records can be missing.
func (q *Query[T]) Among(c Collection) *Query[T] {
	restricted := *q
	restricted.f.Among = append(slices.Clip(q.f.Among), c.members())
	return &restricted
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

// Read reads the members after a cursor, and returns the next cursor.
func (s *idSet) Read(ctx context.Context, cursor string) ([]string, string, error) {
	at, _ := strconv.ParseUint(cursor, 10, 64) // "" is 0
	reply, err := s.read(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Sscan().Key(s.key).Cursor(at).Count(scanCount).Build()
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
	ids      []string // distinct
	contains map[string]bool
}

// Key returns the key of the list.
func (l *idList) Key() string { return l.key }

// Open reads the list.
func (l *idList) Open(ctx context.Context) (query.Reader, error) {
	length, err := l.Values.Len(ctx)
	if err == nil && length > maxSearched {
		err = wrap(l.t, l.tooLong(length))
	}
	if err != nil {
		return nil, err
	}
	r := &idList{Values: l.Values, contains: map[string]bool{}}
	for id, err := range l.All(ctx) {
		if err != nil {
			return nil, err
		}
		if !r.contains[id] {
			r.contains[id] = true
			r.ids = append(r.ids, id)
		}
	}
	return r, nil
}

// Len returns the number of distinct ids.
func (l *idList) Len() int64 { return int64(len(l.ids)) }

// Read returns the ids after a cursor, and the next cursor.
func (l *idList) Read(_ context.Context, cursor string) ([]string, string, error) {
	at, _ := strconv.Atoi(cursor) // "" is 0
	to := min(at+scanCount, len(l.ids))
	if to == len(l.ids) {
		return l.ids[at:], "", nil
	}
	return l.ids[at:to], strconv.Itoa(to), nil
}

// Keep returns the ids that are in the list.
func (l *idList) Keep(_ context.Context, ids []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !l.contains[id] }), nil
}
