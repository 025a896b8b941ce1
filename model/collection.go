package model

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Set is the type of a field whose values are in a Redis set outside the record: for example,
// ids of other records that are numerous or change often. The Go field is empty; use Store.Set.
// The set is deleted with its record.
type Set struct{}

// List is the type of a field whose values are in a Redis list outside the record; use
// Store.List. The list is deleted with its record.
type List struct{}

// Limits of a script that writes to a set or list.
const (
	maxValue      = 64 << 10 // bytes per value
	maxPushed     = 500      // values added by one script
	maxPushedSize = 256 << 10

	maxReplaced     = 5000 // values written by Replace
	maxReplacedSize = 512 << 10
	maxSearched     = 50_000 // length of a list that a command searches
)

// collection is the set or list of one record.
type collection struct {
	t              *record.Table
	id, name, kind string
	key            string
	maxLen         int   // maximum length of a list; 0: no maximum
	err            error // returned by every method
}

// newCollection returns a set or list of a record. If the name or id is invalid, every method
// of the collection returns the error.
func newCollection(o *record.Objects, kind, name, id string) collection {
	m := collection{t: o.Table, id: id, name: name, kind: kind}
	switch declared := o.Declaration.Kinds[name]; {
	case declared == "":
		m.err = fmt.Errorf("%w: no %s is called %q: %s", ErrValue, kind, schema.Shorten(name), o.Declaration.NamesOfKind(kind))
	case declared != kind:
		m.err = fmt.Errorf("%w: %s is a %s, not a %s", ErrValue, name, declared, kind)
	default:
		m.err = o.CheckID(id)
	}
	if m.err == nil {
		m.key = o.Table.Layout.Of(id).Collection(name, id)
	}
	return m
}

// change runs collection.lua and returns the reply of its command.
func (m *collection) change(ctx context.Context, command string, args ...string) (rueidis.RedisMessage, error) {
	p := m.t.Layout.Of(m.id)
	all := append([]string{m.kind, strconv.Itoa(m.maxLen), command}, args...)
	list, err := collectionScript.Run(ctx, m.t.Client, []string{p.Record(m.id), m.key}, all).ToArray()
	if err != nil {
		return rueidis.RedisMessage{}, m.typeError(err)
	}
	switch word, _ := list[0].ToString(); word {
	case "OK":
		return list[1], nil
	case "LONG":
		length, _ := list[1].AsInt64()
		return rueidis.RedisMessage{}, m.tooLong(length)
	default:
		return rueidis.RedisMessage{}, m.t.Outcome(m.id, word)
	}
}

// tooLong returns the error for a list that is too long to search.
func (m *collection) tooLong(length int64) error {
	return fmt.Errorf("%w: list %s of id %q has %d values: at most %d are searched; limit it with Max",
		ErrValue, m.name, schema.Shorten(m.id), length, maxSearched)
}

// checkValues returns an error if a value is too long.
func (m *collection) checkValues(values []string) error {
	if m.err != nil {
		return m.err
	}
	for _, v := range values {
		if len(v) > maxValue {
			return fmt.Errorf("%w: a value for %s has %d bytes: at most %d are allowed", ErrValue, m.name, len(v), maxValue)
		}
	}
	return nil
}

// replace replaces all values in one script.
func (m *collection) replace(ctx context.Context, values []string) error {
	err := m.checkValues(values)
	bytes := 0
	for _, v := range values {
		bytes += len(v)
	}
	switch {
	case err != nil:
	case len(values) > maxReplaced || bytes > maxReplacedSize:
		err = fmt.Errorf("%w: Replace of %s with %d values of %d bytes: one script takes at most %d values of %d bytes; use Clear, and add them in steps",
			ErrValue, m.name, len(values), bytes, maxReplaced, maxReplacedSize)
	case m.maxLen > 0 && len(values) > m.maxLen:
		err = fmt.Errorf("%w: Replace of %s with %d values: its Max is %d", ErrValue, m.name, len(values), m.maxLen)
	default:
		_, err = m.change(ctx, "REPLACE", values...)
	}
	return wrap(m.t, err)
}

// count runs collection.lua for values, in batches, and returns the last reply and the sum of
// all replies.
func (m *collection) count(ctx context.Context, command string, values []string) (last, sum int64, err error) {
	if err := m.checkValues(values); err != nil {
		return 0, 0, wrap(m.t, err)
	}
	for len(values) > 0 {
		n, bytes := 0, 0
		for n < len(values) && n < maxPushed && (n == 0 || bytes+len(values[n]) <= maxPushedSize) {
			bytes += len(values[n])
			n++
		}
		reply, err := m.change(ctx, command, values[:n]...)
		if err == nil {
			last, err = reply.AsInt64()
		}
		if err != nil {
			return last, sum, wrap(m.t, err)
		}
		sum += last
		values = values[n:]
	}
	return last, sum, nil
}

// read runs a read-only command.
func (m *collection) read(ctx context.Context, command func(b rueidis.Builder) rueidis.Completed) (rueidis.RedisMessage, error) {
	if m.err != nil {
		return rueidis.RedisMessage{}, wrap(m.t, m.err)
	}
	reply, err := m.t.Client.Do(ctx, command(m.t.Client.B())).ToMessage()
	if rueidis.IsRedisNil(err) {
		return reply, err
	}
	return reply, wrap(m.t, m.typeError(err))
}

// readInt runs a read-only command whose reply is an integer.
func (m *collection) readInt(ctx context.Context, command func(b rueidis.Builder) rueidis.Completed) (int64, error) {
	reply, err := m.read(ctx, command)
	if err != nil {
		return 0, err
	}
	return reply.AsInt64()
}

// clear removes all values.
func (m *collection) clear(ctx context.Context) error {
	err := m.err
	if err == nil {
		_, err = m.change(ctx, "UNLINK")
	}
	return wrap(m.t, err)
}

// typeError describes the error of a command if the key has another type.
func (m *collection) typeError(err error) error {
	if rediserr.IsWrongType(err) {
		return fmt.Errorf("%w: key %q does not hold a %s: %w", ErrCorrupt, m.key, m.kind, err)
	}
	return err
}
