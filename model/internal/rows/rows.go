package rows

import (
	"context"
	"crypto/sha1" // as in Redis scripts: detects changes, not attacks
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/model/internal/schema"
)

// Rows reads the stored fields of records.
type Rows struct {
	client   rueidis.Client
	Layout   *schema.Layout
	Schema   *schema.Schema
	cache    time.Duration // Options.Cache
	Writes   recentWrites
	Relevant []int       // numbers of the fields that the indexes depend on
	byName   atomic.Bool // read many records with HMGET instead of HGETALL
}

// New returns the rows of a model. cache is how long the client may cache them; 0: no caching.
func New(client rueidis.Client, l *schema.Layout, s *schema.Schema, cache time.Duration) *Rows {
	return &Rows{client: client, Layout: l, Schema: s, cache: cache, Writes: recentWrites{ttl: cache}}
}

// Command returns the command that reads the declared fields of a record.
func (r *Rows) Command(id string) rueidis.Cacheable {
	key := r.Layout.Of(id).Record(id)
	if len(r.Schema.Names) == 0 {
		return r.client.B().Hmget().Key(key).Field(EmptyField).Cache()
	}
	return r.client.B().Hmget().Key(key).Field(r.Schema.Names...).Cache()
}

// EmptyField is written to a hash that would otherwise have no fields, and so would not exist.
const EmptyField = "_"

// cached is Command for client-side caching. After each write of this process it returns a
// different but equivalent command, which does not hit replies that the client cached before
// the write.
func (r *Rows) cached(id string) rueidis.Cacheable {
	n := r.Writes.numberOf(id)
	if n == 0 {
		return r.Command(id)
	}
	return r.client.B().Hmget().Key(r.Layout.Of(id).Record(id)).Field(r.Schema.Names...).Field(EmptyField + strconv.FormatInt(n, 10)).Cache()
}

// Do reads a record, from the client-side cache if the model is cached and fresh is false.
func (r *Rows) Do(ctx context.Context, id string, fresh bool) rueidis.RedisResult {
	if r.cache > 0 && !fresh {
		reply := r.client.DoCache(ctx, r.staticTTL(r.cached(id)), r.cache)
		if !refused(reply) {
			return reply
		}
	}
	return r.client.Do(ctx, rueidis.Completed(r.Command(id)))
}

// DoMany reads records in one pipeline.
func (r *Rows) DoMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	if r.cache > 0 {
		commands := make([]rueidis.CacheableTTL, len(ids))
		for i, id := range ids {
			commands[i] = rueidis.CT(r.staticTTL(r.cached(id)), r.cache)
		}
		results := r.client.DoMultiCache(ctx, commands...)
		if !slices.ContainsFunc(results, refused) {
			return results
		}
	}
	if !r.byName.Load() {
		results := r.doHgetall(ctx, ids)
		if !slices.ContainsFunc(results, isFlat) {
			return results
		}
		r.byName.Store(true)
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = rueidis.Completed(r.Command(id))
	}
	return r.client.DoMulti(ctx, commands...)
}

// doHgetall reads all fields of records with HGETALL: without field names to parse, this takes
// the server a third of the time per record. DoMany stops using it if hashes have many other
// fields, or if the client uses RESP2, in which the replies of HGETALL and HMGET look alike.
func (r *Rows) doHgetall(ctx context.Context, ids []string) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.client.B().Hgetall().Key(r.Layout.Of(id).Record(id)).Build()
	}
	return r.client.DoMulti(ctx, commands...)
}

// isFlat reports whether a reply to HGETALL is a list.
func isFlat(reply rueidis.RedisResult) bool {
	m, err := reply.ToMessage()
	return err == nil && m.IsArray()
}

// parseHgetall parses the reply to HGETALL.
func (r *Rows) parseHgetall(m rueidis.RedisMessage, fields []schema.Text) (known bool, err error) {
	all, err := m.AsStrMap()
	if err != nil {
		return false, err
	}
	declared, found := 0, 0
	for i, name := range r.Schema.Names {
		if s, ok := all[name]; ok {
			fields[i] = schema.Text{Value: s, OK: true}
			declared += len(s)
			found++
		}
	}
	if len(all) > found {
		other := 0
		for name, s := range all {
			other += len(name) + len(s)
		}
		if other > 3*declared+1000 {
			r.byName.Store(true)
		}
	}
	return len(all) > 0, nil
}

// staticTTL makes the client cache a record for Options.Cache without reading the TTL of its
// key. The client would read the TTL in a transaction, which a server that is out of memory
// refuses. Models whose records expire need the TTL, since the server may report an expiry
// late.
func (r *Rows) staticTTL(command rueidis.Cacheable) rueidis.Cacheable {
	if r.Schema.Expires >= 0 {
		return command
	}
	return command.ToStaticTTL()
}

// refused reports whether the server refused the transaction of a cached read because it is out
// of memory. A plain read still works.
func refused(r rueidis.RedisResult) bool {
	err := r.Error()
	if err == nil {
		return false
	}
	e, ok := rueidis.IsRedisErr(err)
	return errors.Is(err, rueidis.ErrDoCacheAborted) || ok && strings.HasPrefix(e.Error(), "OOM ")
}

// Parse parses the reply to Command into fields, which has room for computed fields. A record
// without any declared field may or may not exist: then known is false.
func (r *Rows) Parse(id string, reply rueidis.RedisResult, fields []schema.Text) (known bool, err error) {
	m, err := reply.ToMessage()
	if err != nil {
		return false, r.ReadError(id, err)
	}
	if m.IsMap() {
		return r.parseHgetall(m, fields)
	}
	list, err := m.ToArray()
	if err != nil {
		return false, r.ReadError(id, err)
	}
	for i := range list {
		if list[i].IsNil() || i >= len(r.Schema.Names) {
			known = known || !list[i].IsNil()
			continue
		}
		s, err := list[i].ToString()
		if err != nil {
			return false, r.ReadError(id, err)
		}
		known = true
		fields[i] = schema.Text{Value: s, OK: true}
	}
	return known, nil
}

// ReadError returns the error of a read, or the error of NotHash if the key has another type.
func (r *Rows) ReadError(id string, err error) error {
	if rediserr.IsWrongType(err) {
		return r.NotHash(id)
	}
	return err
}

// NotHash returns the error for a key that is not a hash, and so not a record.
func (r *Rows) NotHash(id string) error {
	return &schema.RecordError{ID: id, Err: fmt.Errorf("%w: key %q does not hold a hash", schema.ErrCorrupt, r.Layout.Of(id).Record(id))}
}

// Absent returns ErrNotFound for a record without any of the declared fields, unless its key
// exists: one more round trip.
func (r *Rows) Absent(ctx context.Context, id string) error {
	n, err := r.client.Do(ctx, r.client.B().Exists().Key(r.Layout.Of(id).Record(id)).Build()).AsInt64()
	if err == nil && n == 0 {
		return fmt.Errorf("%w: id %q", schema.ErrNotFound, schema.Shorten(id))
	}
	return err
}

// Read reads a record, bypassing the cache: one round trip.
func (r *Rows) Read(ctx context.Context, id string) ([]schema.Text, error) {
	fields := make([]schema.Text, len(r.Schema.Fields))
	known, err := r.Parse(id, r.Do(ctx, id, true), fields)
	if err == nil && !known {
		err = r.Absent(ctx, id)
	}
	return fields, err
}

// Fingerprint returns a digest of the fields that the indexes depend on, which look.lua and
// apply.lua compare.
func (r *Rows) Fingerprint(fields []schema.Text) string { return "d" + DigestOf(fields, r.Relevant) }

// DigestOf returns the digest of fields, as scripts compute it.
func DigestOf(fields []schema.Text, numbers []int) string {
	var b []byte
	for _, i := range numbers {
		b = appendDigested(b, fields[i])
	}
	return hexSum(string(b))
}

// appendDigested appends a field as scripts digest it.
func appendDigested(b []byte, f schema.Text) []byte {
	if !f.OK {
		return append(b, '-')
	}
	return append(append(strconv.AppendInt(b, int64(len(f.Value)), 10), ':'), f.Value...)
}

// hexSum returns the SHA-1 digest of s in hexadecimal.
func hexSum(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// ExpiresAt returns when a record expires, in milliseconds since 1970, or 0.
func (r *Rows) ExpiresAt(fields []schema.Text) (int64, error) {
	if r.Schema.Expires < 0 || !fields[r.Schema.Expires].OK {
		return 0, nil
	}
	return DueOf(&r.Schema.Fields[r.Schema.Expires], fields[r.Schema.Expires].Value)
}

// ExistMany checks which records exist, in one pipeline.
func (r *Rows) ExistMany(ctx context.Context, ids []string) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.client.B().Exists().Key(r.Layout.Of(id).Record(id)).Build()
	}
	return r.client.DoMulti(ctx, commands...)
}

// DueOf parses the time at which a record expires, in milliseconds since 1970.
func DueOf(f *schema.Field, s string) (int64, error) {
	v, err := f.Kind.Value(f.Name, s)
	if err != nil {
		return 0, err
	}
	var ms int64
	switch v := v.(type) {
	case time.Time:
		ms = v.UnixMilli()
	case int64:
		if v > maxDue/1000 {
			v = maxDue / 1000
		}
		ms = v * 1000
	default:
		return 0, fmt.Errorf("%w: %s is not a time", schema.ErrValue, f.Name)
	}
	return min(max(ms, 1), maxDue), nil
}

// maxDue is the last millisecond of the year 9999.
const maxDue = 253402300799999

// DoSome reads fields of records, by number, in one pipeline.
func (r *Rows) DoSome(ctx context.Context, ids []string, numbers []int) []rueidis.RedisResult {
	names := r.Schema.NamesOf(numbers)
	if len(names) == 0 {
		names = append(names, EmptyField)
	}
	commands := make(rueidis.Commands, len(ids))
	for i, id := range ids {
		commands[i] = r.client.B().Hmget().Key(r.Layout.Of(id).Record(id)).Field(names...).Build()
	}
	return r.client.DoMulti(ctx, commands...)
}

// ParseSome parses a reply of DoSome into fields, as Parse does.
func (r *Rows) ParseSome(id string, reply rueidis.RedisResult, numbers []int, fields []schema.Text) (known bool, err error) {
	list, err := reply.ToArray()
	if err != nil {
		return false, r.ReadError(id, err)
	}
	for i := range list {
		if list[i].IsNil() {
			continue
		}
		known = true
		if i >= len(numbers) {
			continue
		}
		s, err := list[i].ToString()
		if err != nil {
			return false, r.ReadError(id, err)
		}
		fields[numbers[i]] = schema.Text{Value: s, OK: true}
	}
	return known, nil
}
