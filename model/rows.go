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
	"time"

	"github.com/redis/rueidis"
)

// rows reads the stored fields of records.
type rows struct {
	client rueidis.Client
	*layout
	*schema
	keep     time.Duration // Options.Cache
	writes   writes
	relevant []int // fields that the indexes depend on
}

// command reads the fields of a record that the model declares.
func (r *rows) command(id string) rueidis.Cacheable {
	key := r.of(id).of(id)
	if len(r.names) == 0 {
		return r.client.B().Hmget().Key(key).Field(emptyField).Cache()
	}
	return r.client.B().Hmget().Key(key).Field(r.names...).Cache()
}

// emptyField is written to a hash that would otherwise have no fields, and so not
// exist.
const emptyField = "_"

// cached is command for client-side caching. After each write of this process it
// returns a different command with the same meaning, which misses the replies that the
// client cached before the write.
func (r *rows) cached(id string) rueidis.Cacheable {
	n := r.writes.of(id)
	if n == 0 {
		return r.command(id)
	}
	return r.client.B().Hmget().Key(r.of(id).of(id)).Field(r.names...).Field(emptyField + strconv.FormatInt(n, 10)).Cache()
}

// do reads a record, from the memory of the client if the model is cached and fresh
// is false.
func (r *rows) do(ctx context.Context, id string, fresh bool) rueidis.RedisResult {
	if r.keep > 0 && !fresh {
		reply := r.client.DoCache(ctx, r.static(r.cached(id)), r.keep)
		if !refused(reply) {
			return reply
		}
	}
	return r.client.Do(ctx, rueidis.Completed(r.command(id)))
}

// doMany reads records in one pipeline.
func (r *rows) doMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	if r.keep > 0 {
		commands := make([]rueidis.CacheableTTL, len(ids))
		for i, id := range ids {
			commands[i] = rueidis.CT(r.static(r.cached(id)), r.keep)
		}
		results := r.client.DoMultiCache(ctx, commands...)
		if !slices.ContainsFunc(results, refused) {
			return results
		}
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(r.command(id))
	}
	return r.client.DoMulti(ctx, commands...)
}

// static lets the client cache a record for Options.Cache without asking for the
// time to live of its key. It would ask in a transaction, which a server that is out
// of memory refuses. Models whose records expire need it: the server may report an
// expiry late.
func (r *rows) static(command rueidis.Cacheable) rueidis.Cacheable {
	if r.expires >= 0 {
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
func (r *rows) parse(id string, reply rueidis.RedisResult, fields []text) (known bool, err error) {
	list, err := reply.ToArray()
	if err != nil {
		return false, r.readError(id, err)
	}
	for i := range list {
		if list[i].IsNil() || i >= len(r.names) {
			known = known || !list[i].IsNil()
			continue
		}
		s, err := list[i].ToString()
		if err != nil {
			return false, r.readError(id, err)
		}
		fields[i] = text{s, true}
		known = true
	}
	return known, nil
}

func (r *rows) readError(id string, err error) error {
	if isWrongType(err) {
		return &RecordError{id, "", fmt.Errorf("%w: key %q does not hold a hash: %w", ErrCorrupt, r.of(id).of(id), err)}
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
func (r *rows) absent(ctx context.Context, id string) error {
	n, err := r.client.Do(ctx, r.client.B().Exists().Key(r.of(id).of(id)).Build()).AsInt64()
	if err == nil && n == 0 {
		return fmt.Errorf("%w: id %q", ErrNotFound, shortened(id))
	}
	return err
}

// read reads a record past the cache: one round trip.
func (r *rows) read(ctx context.Context, id string) ([]text, error) {
	fields := make([]text, len(r.fields))
	known, err := r.parse(id, r.do(ctx, id, true), fields)
	if err == nil && !known {
		err = r.absent(ctx, id)
	}
	return fields, err
}

// expectation describes a record for write.lua, which refuses to write a record that
// differs.
func (r *rows) expectation(fields []text) string {
	if r.version >= 0 {
		if v := fields[r.version]; v.ok {
			return "v" + v.s
		}
		return "v0"
	}
	var b []byte
	for i := range r.names {
		if !r.counters[i] {
			b = appendDigested(b, fields[i])
		}
	}
	return "d" + hexSum(string(b))
}

// fingerprint describes a record for align.lua, which compares the fields that the
// indexes depend on.
func (r *rows) fingerprint(fields []text) string {
	var b []byte
	for _, i := range r.relevant {
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
func (r *rows) due(fields []text) (int64, error) {
	if r.expires < 0 || !fields[r.expires].ok {
		return 0, nil
	}
	return dueOf(&r.fields[r.expires], fields[r.expires].s)
}

// existMany asks which records there are, in one pipeline.
func (r *rows) existMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.client.B().Exists().Key(r.of(id).of(id)).Build()
	}
	return r.client.DoMulti(ctx, commands...)
}
