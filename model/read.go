package model

import (
	"context"
	"crypto/sha1" // as Redis names scripts: guards against changes, not attacks
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// row is a record in its stored form.
type row struct {
	fields []text                     // by the number of the field, with room for the computed ones
	json   string                     // of a record that is stored as JSON: all of it
	others map[string]json.RawMessage // and its members that the model does not know
	// unread are the fields of a JSON record that are not what they should be.
	unread map[int]error
}

// damage is an error of a field of the record that could not be read, but for some.
func (r *row) damage(overwritten []int) error {
	for _, i := range slices.Sorted(maps.Keys(r.unread)) {
		if !slices.Contains(overwritten, i) {
			return r.unread[i]
		}
	}
	return nil
}

// command reads a record: those of its fields that the model knows.
func (t *table) command(id string) rueidis.Cacheable {
	key := t.of(id).of(id)
	if t.opt.Encoding == JSON {
		return t.client.B().Get().Key(key).Cache()
	}
	if len(t.names) == 0 {
		return t.client.B().Hmget().Key(key).Field(emptyField).Cache()
	}
	return t.client.B().Hmget().Key(key).Field(t.names...).Cache()
}

// emptyField is written to a hash that would have no fields, and so not be there.
const emptyField = "_"

// cached is command for the memory of the client. After each write of this process
// it is another command, which means the same: what the client remembers of the
// record from before is not found by it.
func (t *table) cached(id string) rueidis.Cacheable {
	n := t.writes.of(id)
	if n == 0 {
		return t.command(id)
	}
	key := t.of(id).of(id)
	if t.opt.Encoding == JSON {
		return t.client.B().Getrange().Key(key).Start(0).End(1<<40 + n).Cache()
	}
	return t.client.B().Hmget().Key(key).Field(t.names...).Field(emptyField + strconv.FormatInt(n, 10)).Cache()
}

// do reads a record, from the memory of the client if the model is cached and
// fresh is not asked for.
func (t *table) do(ctx context.Context, id string, fresh bool) rueidis.RedisResult {
	if t.opt.Cache > 0 && !fresh {
		r := t.client.DoCache(ctx, t.static(t.cached(id)), t.opt.Cache)
		if !refused(r) {
			return r
		}
	}
	return t.client.Do(ctx, rueidis.Completed(t.command(id)))
}

// static lets the client keep a record for Options.Cache without asking for how
// long the key lives. It would ask in a transaction, which a server that is out of
// memory refuses. Where records expire it must ask: the server may report late that
// one has.
func (t *table) static(command rueidis.Cacheable) rueidis.Cacheable {
	if t.expires >= 0 {
		return command
	}
	return command.ToStaticTTL()
}

// refused reports whether the server refused the transaction of a cached read, as
// it is out of memory. It still answers the read alone.
func refused(r rueidis.RedisResult) bool {
	err := r.Error()
	if err == nil {
		return false
	}
	e, ok := rueidis.IsRedisErr(err)
	return errors.Is(err, rueidis.ErrDoCacheAborted) || ok && strings.HasPrefix(e.Error(), "OOM ")
}

// parse takes in the reply to command. A record that has none of the fields of
// the model may be there or not: then known is false.
func (t *table) parse(id string, r rueidis.RedisResult, into *row) (known bool, err error) {
	if t.opt.Encoding == JSON {
		return t.parseJSON(id, r, into)
	}
	list, err := r.ToArray()
	if err != nil {
		return false, t.readError(id, err)
	}
	for i := range list {
		if list[i].IsNil() || i >= len(t.names) {
			known = known || !list[i].IsNil()
			continue
		}
		s, err := list[i].ToString()
		if err != nil {
			return false, t.readError(id, err)
		}
		into.fields[i] = text{s, true}
		known = true
	}
	return known, nil
}

func (t *table) readError(id string, err error) error {
	if isWrongType(err) {
		return &RecordError{id, "", fmt.Errorf("%w: key %q does not hold a %s: %w", ErrCorrupt, t.of(id).of(id), t.opt.Encoding, err)}
	}
	return err
}

// isWrongType tells whether a key holds something of another type. Old servers
// put what a script was doing before it.
func isWrongType(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(e.Error(), "WRONGTYPE")
}

func (t *table) parseJSON(id string, r rueidis.RedisResult, into *row) (bool, error) {
	s, err := r.ToString()
	if rueidis.IsRedisNil(err) {
		return false, fmt.Errorf("%w: id %q", ErrNotFound, shortened(id))
	}
	if err != nil {
		return false, t.readError(id, err)
	}
	if s == "" {
		return false, nil // there is none, or an empty one: see cached
	}
	into.json = s
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(s), &members); err != nil {
		return false, &RecordError{id, "", fmt.Errorf("%w: key %q: %w", ErrCorrupt, t.of(id).of(id), err)}
	}
	for i, name := range t.names {
		raw, ok := members[name]
		delete(members, name)
		if !ok || string(raw) == "null" {
			continue
		}
		s, err := fromJSON(raw, t.fields[i].Kind)
		if err != nil {
			if into.unread == nil {
				into.unread = map[int]error{}
			}
			into.unread[i] = &RecordError{id, name, fmt.Errorf("%w: key %q, field %s: %w", ErrCorrupt, t.of(id).of(id), name, err)}
			continue
		}
		into.fields[i] = text{s, true}
	}
	into.others = members
	return true, nil
}

// absent tells apart a record that has none of the fields of the model from one
// that is not there: one more round trip, in that rare case.
func (t *table) absent(ctx context.Context, id string) error {
	n, err := t.client.Do(ctx, t.client.B().Exists().Key(t.of(id).of(id)).Build()).AsInt64()
	if err != nil {
		return err
	}
	switch {
	case n == 0:
		return fmt.Errorf("%w: id %q", ErrNotFound, shortened(id))
	case t.opt.Encoding == JSON:
		return t.emptyJSON(id)
	}
	return nil
}

func (t *table) emptyJSON(id string) error {
	return &RecordError{id, "", fmt.Errorf("%w: key %q: it is empty, and no JSON object", ErrCorrupt, t.of(id).of(id))}
}

// read reads a record as it is now: one round trip.
func (t *table) read(ctx context.Context, id string) (row, error) {
	r := row{fields: make([]text, len(t.fields))}
	known, err := t.parse(id, t.do(ctx, id, true), &r)
	if err == nil && !known {
		err = t.absent(ctx, id)
	}
	return r, err
}

// expectation is what write.lua compares a record with that was read.
func (t *table) expectation(r *row) string {
	if t.opt.Encoding == JSON {
		return "j" + hexSum(r.json)
	}
	if t.version >= 0 {
		if v := r.fields[t.version]; v.ok {
			return "v" + v.s
		}
		return "v0"
	}
	var b []byte
	for i := range t.names {
		switch f := r.fields[i]; {
		case t.counters[i]:
		case !f.ok:
			b = append(b, '-')
		default:
			b = append(append(strconv.AppendInt(b, int64(len(f.s)), 10), ':'), f.s...)
		}
	}
	return "d" + hexSum(string(b))
}

func hexSum(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// document is a record as one JSON object: the fields of the model in their
// order, and then what else was in it.
func (t *table) document(r *row) (string, error) {
	b := []byte{'{'}
	add := func(name string, value json.RawMessage) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		quoted, _ := marshalled(name) // a string can always be written
		b = append(append(append(b, quoted...), ':'), value...)
	}
	for i, name := range t.names {
		if !r.fields[i].ok {
			continue
		}
		value, err := toJSON(r.fields[i].s, t.fields[i].Kind)
		if err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrValue, name, err)
		}
		add(name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(r.others)) {
		add(name, r.others[name])
	}
	return string(append(b, '}')), nil
}

// due is when a record expires, in milliseconds since 1970, or 0.
func (t *table) due(fields []text) (int64, error) {
	if t.expires < 0 || !fields[t.expires].ok {
		return 0, nil
	}
	return dueOf(&t.fields[t.expires], fields[t.expires].s)
}
