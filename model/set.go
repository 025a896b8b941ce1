package model

import (
	"context"
	"iter"

	"github.com/redis/rueidis"
)

// Members are the members of a Set of one record. To read those of a record that
// is not there finds none; to write is ErrNotFound.
type Members struct{ members }

// Set returns a set of a record, by the name that its field has in Redis. It asks
// nothing of the server: a wrong name is an error of what is done with it.
func (s *Store[T]) Set(name, id string) *Members { return &Members{membersOf(s.o, "set", name, id)} }

// Add adds members and returns how many were not in it before. One script for 500,
// each all or nothing.
func (m *Members) Add(ctx context.Context, members ...string) (int, error) {
	_, added, err := m.count(ctx, "SADD", members)
	return int(added), err
}

// Remove removes members and returns how many were in it. One script for 500.
func (m *Members) Remove(ctx context.Context, members ...string) (int, error) {
	_, removed, err := m.count(ctx, "SREM", members)
	return int(removed), err
}

// Clear removes all members: one script.
func (m *Members) Clear(ctx context.Context) error { return m.clear(ctx) }

// Contains tells whether there is a member: one round trip.
func (m *Members) Contains(ctx context.Context, member string) (bool, error) {
	n, err := m.readInt(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Sismember().Key(m.key).Member(member).Build()
	})
	return n == 1, err
}

// Len returns how many members there are: one round trip.
func (m *Members) Len(ctx context.Context) (int64, error) {
	return m.readInt(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Scard().Key(m.key).Build() })
}

// All yields the members in no order, some hundreds in a round trip. One that is
// there from beginning to end is yielded; where others come and go meanwhile, it
// may be twice.
func (m *Members) All(ctx context.Context) iter.Seq2[string, error] {
	return m.only(ctx, nil, nil)
}

// Intersect yields the members that are in all of the sets: of the smallest one
// those that the others have, some hundreds in a round trip. The sets may be of
// different fields, records, models and databases. It is no snapshot where they
// change meanwhile.
func (m *Members) Intersect(ctx context.Context, others ...*Members) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all := append([]*Members{m}, others...)
		smallest, least := 0, int64(-1)
		for i, s := range all {
			n, err := s.Len(ctx)
			if err != nil {
				yield("", err)
				return
			}
			if least < 0 || n < least {
				smallest, least = i, n
			}
		}
		first := all[smallest]
		all[smallest] = all[0]
		first.only(ctx, all[1:], nil)(yield)
	}
}

// Diff yields the members that none of the other sets has, as Intersect does.
func (m *Members) Diff(ctx context.Context, others ...*Members) iter.Seq2[string, error] {
	return m.only(ctx, nil, others)
}

// Union yields the members that any of the sets has, each once, as Intersect does.
func (m *Members) Union(ctx context.Context, others ...*Members) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all := append([]*Members{m}, others...)
		for i, s := range all {
			for member, err := range s.only(ctx, nil, all[:i]) {
				if !yield(member, err) || err != nil {
					return
				}
			}
		}
	}
}

// scanMany is how many members are asked for at once.
const scanMany = 500

// only yields those members that all of some sets have, and none of some others.
func (m *Members) only(ctx context.Context, with, without []*Members) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		cursor := uint64(0)
		for {
			reply, err := m.read(ctx, func(b rueidis.Builder) rueidis.Completed {
				return b.Sscan().Key(m.key).Cursor(cursor).Count(scanMany).Build()
			})
			var page rueidis.ScanEntry
			if err == nil {
				page, err = reply.AsScanEntry()
			}
			members := page.Elements
			for _, s := range with {
				if err == nil {
					members, err = s.keep(ctx, members, true)
				}
			}
			for _, s := range without {
				if err == nil {
					members, err = s.keep(ctx, members, false)
				}
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, member := range members {
				if !yield(member, nil) {
					return
				}
			}
			if cursor = page.Cursor; cursor == 0 {
				return
			}
		}
	}
}

// keep returns those of some strings that are members, or those that are not.
func (m *Members) keep(ctx context.Context, some []string, has bool) ([]string, error) {
	if len(some) == 0 {
		return nil, wrap(m.t, m.err)
	}
	reply, err := m.read(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Smismember().Key(m.key).Member(some...).Build()
	})
	if err != nil {
		return nil, err
	}
	is, err := reply.AsIntSlice()
	if err != nil {
		return nil, err
	}
	var kept []string
	for i, n := range is {
		if (n == 1) == has {
			kept = append(kept, some[i])
		}
	}
	return kept, nil
}
