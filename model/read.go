package model

import (
	"context"
	"crypto/sha1" // as Redis names scripts: guards against changes, not attacks
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// command reads the fields of a record that the model declares.
func (t *table) command(id string) rueidis.Cacheable {
	key := t.of(id).of(id)
	if len(t.names) == 0 {
		return t.client.B().Hmget().Key(key).Field(emptyField).Cache()
	}
	return t.client.B().Hmget().Key(key).Field(t.names...).Cache()
}

// emptyField is written to a hash that would otherwise have no fields, and so not
// exist.
const emptyField = "_"

// cached is command for client-side caching. After each write of this process it
// returns a different command with the same meaning, which misses the replies that the
// client cached before the write.
func (t *table) cached(id string) rueidis.Cacheable {
	n := t.writes.of(id)
	if n == 0 {
		return t.command(id)
	}
	return t.client.B().Hmget().Key(t.of(id).of(id)).Field(t.names...).Field(emptyField + strconv.FormatInt(n, 10)).Cache()
}

// do reads a record, from the memory of the client if the model is cached and fresh
// is false.
func (t *table) do(ctx context.Context, id string, fresh bool) rueidis.RedisResult {
	if t.opt.Cache > 0 && !fresh {
		r := t.client.DoCache(ctx, t.static(t.cached(id)), t.opt.Cache)
		if !refused(r) {
			return r
		}
	}
	return t.client.Do(ctx, rueidis.Completed(t.command(id)))
}

// doMany reads records in one pipeline.
func (t *table) doMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	if t.opt.Cache > 0 {
		commands := make([]rueidis.CacheableTTL, len(ids))
		for i, id := range ids {
			commands[i] = rueidis.CT(t.static(t.cached(id)), t.opt.Cache)
		}
		results := t.client.DoMultiCache(ctx, commands...)
		if !slices.ContainsFunc(results, refused) {
			return results
		}
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(t.command(id))
	}
	return t.client.DoMulti(ctx, commands...)
}

// static lets the client cache a record for Options.Cache without asking for the
// time to live of its key. It would ask in a transaction, which a server that is out
// of memory refuses. Models whose records expire need it: the server may report an
// expiry late.
func (t *table) static(command rueidis.Cacheable) rueidis.Cacheable {
	if t.expires >= 0 {
		return command
	}
	return command.ToStaticTTL()
}

// refused reports whether the server refused the transaction of a cached read because
// it is out of memory. It still answers the plain read.
func refused(r rueidis.RedisResult) bool {
	err := r.Error()
	if err == nil {
		return false
	}
	e, ok := rueidis.IsRedisErr(err)
	return errors.Is(err, rueidis.ErrDoCacheAborted) || ok && strings.HasPrefix(e.Error(), "OOM ")
}

// parse reads the reply to command into fields, which has room for the computed ones.
// A record without any declared field may exist or not: then known is false.
func (t *table) parse(id string, r rueidis.RedisResult, fields []text) (known bool, err error) {
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
		fields[i] = text{s, true}
		known = true
	}
	return known, nil
}

func (t *table) readError(id string, err error) error {
	if isWrongType(err) {
		return &RecordError{id, "", fmt.Errorf("%w: key %q does not hold a hash: %w", ErrCorrupt, t.of(id).of(id), err)}
	}
	return err
}

// isWrongType reports whether a key holds a value of another type. Old servers put
// the position within the script before the error.
func isWrongType(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(e.Error(), "WRONGTYPE")
}

// absent returns ErrNotFound unless there is a record, with none of the declared
// fields: one more round trip in that rare case.
func (t *table) absent(ctx context.Context, id string) error {
	n, err := t.client.Do(ctx, t.client.B().Exists().Key(t.of(id).of(id)).Build()).AsInt64()
	if err == nil && n == 0 {
		return fmt.Errorf("%w: id %q", ErrNotFound, shortened(id))
	}
	return err
}

// read reads a record past the cache: one round trip.
func (t *table) read(ctx context.Context, id string) ([]text, error) {
	fields := make([]text, len(t.fields))
	known, err := t.parse(id, t.do(ctx, id, true), fields)
	if err == nil && !known {
		err = t.absent(ctx, id)
	}
	return fields, err
}

// expectation describes a record for write.lua, which refuses to write a record that
// differs.
func (t *table) expectation(fields []text) string {
	if t.version >= 0 {
		if v := fields[t.version]; v.ok {
			return "v" + v.s
		}
		return "v0"
	}
	var b []byte
	for i := range t.names {
		if !t.counters[i] {
			b = appendDigested(b, fields[i])
		}
	}
	return "d" + hexSum(string(b))
}

// fingerprint describes a record for align.lua, which compares the fields that the
// indexes depend on.
func (t *table) fingerprint(fields []text) string {
	var b []byte
	for _, i := range t.relevant {
		b = appendDigested(b, fields[i])
	}
	return "d" + hexSum(string(b))
}

// appendDigested appends a field as scripts digest it.
func appendDigested(b []byte, f text) []byte {
	if !f.ok {
		return append(b, '-')
	}
	return append(append(strconv.AppendInt(b, int64(len(f.s)), 10), ':'), f.s...)
}

func hexSum(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// due returns when a record expires, in milliseconds since 1970, or 0.
func (t *table) due(fields []text) (int64, error) {
	if t.expires < 0 || !fields[t.expires].ok {
		return 0, nil
	}
	return dueOf(&t.fields[t.expires], fields[t.expires].s)
}
