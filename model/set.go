package model

import (
	"context"
	"iter"

	"github.com/redis/rueidis"

	"retwis/internal/redis/scan"
)

// Members accesses the members of a Set of one record. If the record does not exist, reads
// return no members, and writes return ErrNotFound.
type Members struct{ collection }

// Set returns a set of a record, by the stored name of the field. It sends no command. For an
// unknown name, the methods of the result return an error.
func (s *Store[T]) Set(name, id string) *Members {
	return &Members{newCollection(s.o, "set", name, id)}
}

// Put adds members and returns how many are new. One script per 500 members, each all or
// nothing.
func (m *Members) Put(ctx context.Context, members ...string) (int, error) {
	_, added, err := m.count(ctx, "SADD", members)
	return int(added), err
}

// Remove removes members and returns how many existed. One script per 500 members.
func (m *Members) Remove(ctx context.Context, members ...string) (int, error) {
	_, removed, err := m.count(ctx, "SREM", members)
	return int(removed), err
}

// Clear removes all members: one script.
func (m *Members) Clear(ctx context.Context) error { return m.clear(ctx) }

// Replace replaces all members in one script: no reader sees a mixture of old and new members. It
// accepts at most 5,000 members of 512 kB in total, and otherwise returns ErrValue: for larger
// sets, call Clear and add the members in steps.
func (m *Members) Replace(ctx context.Context, members ...string) error {
	return m.replace(ctx, members)
}

// Has reports whether a member exists: one round trip.
func (m *Members) Has(ctx context.Context, member string) (bool, error) {
	n, err := m.readInt(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Sismember().Key(m.key).Member(member).Build()
	})
	return n == 1, err
}

// Len returns the number of members: one round trip.
func (m *Members) Len(ctx context.Context) (int64, error) {
	return m.readInt(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Scard().Key(m.key).Build() })
}

// All streams the members in no particular order, a few hundred per round trip. It yields all
// members that exist throughout the iteration; with concurrent changes a member may occur
// twice.
func (m *Members) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if m.err != nil {
			yield("", wrap(m.t, m.err))
			return
		}
		for members, err := range scan.Set(ctx, m.t.Client, m.key, scanCount) {
			if err != nil {
				yield("", wrap(m.t, m.typeError(err)))
				return
			}
			for _, member := range members {
				if !yield(member, nil) {
					return
				}
			}
		}
	}
}

// scanCount is the number of members read in a step.
const scanCount = 500

// keep returns the candidates that are members.
func (m *Members) keep(ctx context.Context, candidates []string) ([]string, error) {
	if len(candidates) == 0 {
		return nil, wrap(m.t, m.err)
	}
	reply, err := m.read(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Smismember().Key(m.key).Member(candidates...).Build()
	})
	if err != nil {
		return nil, err
	}
	flags, err := reply.AsIntSlice()
	if err != nil {
		return nil, err
	}
	var kept []string
	for i, n := range flags {
		if n == 1 {
			kept = append(kept, candidates[i])
		}
	}
	return kept, nil
}
