package model

import (
	"context"
	"iter"

	"github.com/redis/rueidis"
)

// Values accesses the values of a List of one record. If the record does not exist, reads
// return no values, and writes return ErrNotFound.
type Values struct{ collection }

// List returns the list field of a record, given the stored name of the field. It sends no command.
// For an unknown name, the methods of the result return an error.
func (s *Store[T]) List(name, id string) *Values {
	return &Values{newCollection(s.o, "list", name, id)}
}

// Max returns the list with a maximum length of n; 0 means no maximum. Pushing values then
// removes excess values at the other end. All writers should use the same maximum. A list that
// is much too long is shortened by up to 10,000 values with each push.
func (v *Values) Max(n int) *Values {
	capped := *v
	capped.maxLen = max(n, 0)
	return &capped
}

// PushFront adds values at the front, one after the other, so the last value becomes the first.
// It returns the new length. One script per 500 values, each all or nothing.
func (v *Values) PushFront(ctx context.Context, values ...string) (int64, error) {
	return v.push(ctx, "LPUSH", values)
}

// PushBack adds values at the end, and returns the new length. One script per 500 values, each
// all or nothing.
func (v *Values) PushBack(ctx context.Context, values ...string) (int64, error) {
	return v.push(ctx, "RPUSH", values)
}

func (v *Values) push(ctx context.Context, command string, values []string) (int64, error) {
	if len(values) == 0 {
		return v.Len(ctx)
	}
	length, _, err := v.count(ctx, command, values)
	return length, err
}

// PopFront removes and returns the first value: one script. It returns false if the
// list is empty.
func (v *Values) PopFront(ctx context.Context) (string, bool, error) { return v.pop(ctx, "LPOP") }

// PopBack removes and returns the last value.
func (v *Values) PopBack(ctx context.Context) (string, bool, error) { return v.pop(ctx, "RPOP") }

func (v *Values) pop(ctx context.Context, command string) (string, bool, error) {
	if v.err != nil {
		return "", false, wrap(v.t, v.err)
	}
	reply, err := v.change(ctx, command)
	if err != nil {
		return "", false, wrap(v.t, err)
	}
	if reply.IsNil() {
		return "", false, nil
	}
	value, err := reply.ToString()
	return value, err == nil, wrap(v.t, err)
}

// Remove removes all occurrences of a value, and returns their number. It searches the whole list,
// and returns ErrValue for a list of more than 50,000 values. One script.
func (v *Values) Remove(ctx context.Context, value string) (int, error) {
	if v.err != nil {
		return 0, wrap(v.t, v.err)
	}
	reply, err := v.change(ctx, "LREM", "0", value)
	if err != nil {
		return 0, wrap(v.t, err)
	}
	n, err := reply.AsInt64()
	return int(n), err
}

// Clear removes all values: one script.
func (v *Values) Clear(ctx context.Context) error { return v.clear(ctx) }

// Replace replaces all values in one script, as Members.Replace does. It returns ErrValue for
// more than Max values.
func (v *Values) Replace(ctx context.Context, values ...string) error {
	return v.replace(ctx, values)
}

// Has reports whether a value is in the list. It searches from the front, O(n), and returns
// ErrValue if the value is not among the first 50,000 of a longer list. One round trip.
func (v *Values) Has(ctx context.Context, value string) (bool, error) {
	if v.err != nil {
		return false, wrap(v.t, v.err)
	}
	c := v.t.Client
	replies := c.DoMulti(ctx,
		c.B().Lpos().Key(v.key).Element(value).Maxlen(maxSearched).Build(),
		c.B().Llen().Key(v.key).Build())
	_, err := replies[0].AsInt64()
	if err == nil {
		return true, nil
	}
	if !rueidis.IsRedisNil(err) {
		return false, wrap(v.t, v.typeError(err))
	}
	length, err := replies[1].AsInt64()
	if err == nil && length > maxSearched {
		err = v.tooLong(length)
	}
	return false, wrap(v.t, v.typeError(err))
}

// All streams the values from first to last, a few hundred per round trip. If values are pushed at
// the front or removed meanwhile, the other values shift, and may be returned twice or skipped.
func (v *Values) All(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for from := int64(0); ; from += scanCount {
			values, err := v.Range(ctx, from, from+scanCount-1)
			if err != nil {
				yield("", err)
				return
			}
			for _, value := range values {
				if !yield(value, nil) {
					return
				}
			}
			if len(values) < scanCount {
				return
			}
		}
	}
}

// Len returns the number of values: one round trip.
func (v *Values) Len(ctx context.Context) (int64, error) {
	return v.readInt(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Llen().Key(v.key).Build() })
}

// Range returns the values between two positions, inclusive. The first value is at 0, the last
// at -1: Range(ctx, 0, 9) returns the first ten, Range(ctx, 0, -1) all. One round trip.
func (v *Values) Range(ctx context.Context, from, to int64) ([]string, error) {
	reply, err := v.read(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Lrange().Key(v.key).Start(from).Stop(to).Build()
	})
	if err != nil {
		return nil, err
	}
	return reply.AsStrSlice()
}
