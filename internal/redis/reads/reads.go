// Package reads reads several keys in one round trip. A key of another type counts as missing.
package reads

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reply"
)

// Many sends the command for each item and parses the replies.
func Many[I, T any](ctx context.Context, client rueidis.Client, items []I, command func(I) rueidis.Completed, parse func(rueidis.RedisResult) (T, error)) ([]T, error) {
	values := make([]T, len(items))
	b := New(client)
	for i, item := range items {
		b.Add(command(item), func(res rueidis.RedisResult) (err error) {
			values[i], err = reply.OrEmpty(parse(res))
			return err
		})
	}
	return values, b.Run(ctx)
}

// Fields reads fields from the hash of each item.
func Fields[I any](ctx context.Context, client rueidis.Client, items []I, key func(I) string, fields ...string) ([][]string, error) {
	hmget := func(item I) rueidis.Completed { return client.B().Hmget().Key(key(item)).Field(fields...).Build() }
	return Many(ctx, client, items, hmget, reply.Fields)
}

// Field reads one field from the hash of each item.
func Field[I any](ctx context.Context, client rueidis.Client, items []I, key func(I) string, field string) ([]string, error) {
	hget := func(item I) rueidis.Completed { return client.B().Hget().Key(key(item)).Field(field).Build() }
	return Many(ctx, client, items, hget, reply.TextOrEmpty)
}

// Counts returns the number of members in the sorted set of each item.
func Counts[I any](ctx context.Context, client rueidis.Client, items []I, key func(I) string) ([]int64, error) {
	zcard := func(item I) rueidis.Completed { return client.B().Zcard().Key(key(item)).Build() }
	return Many(ctx, client, items, zcard, rueidis.RedisResult.AsInt64)
}

// Batch collects reads of several kinds. The results are available after Run.
type Batch struct {
	client rueidis.Client
	cmds   rueidis.Commands
	take   []func(rueidis.RedisResult) error
}

// New returns an empty batch for a database.
func New(client rueidis.Client) *Batch { return &Batch{client: client} }

// read adds a command and the function that parses its reply.
func read[T any](b *Batch, cmd rueidis.Completed, parse func(rueidis.RedisResult) (T, error)) *T {
	value := new(T)
	b.Add(cmd, func(res rueidis.RedisResult) (err error) {
		*value, err = reply.OrEmpty(parse(res))
		return err
	})
	return value
}

// Text reads a string, or the score of a member; a missing value is empty.
func (b *Batch) Text(cmd rueidis.Completed) *string { return read(b, cmd, reply.TextOrEmpty) }

// Texts reads a list.
func (b *Batch) Texts(cmd rueidis.Completed) *[]string {
	return read(b, cmd, rueidis.RedisResult.AsStrSlice)
}

// Number reads a count.
func (b *Batch) Number(cmd rueidis.Completed) *int64 {
	return read(b, cmd, rueidis.RedisResult.AsInt64)
}

// Fields reads fields of a hash; nil for a key of another type.
func (b *Batch) Fields(cmd rueidis.Completed) *[]string {
	return read(b, cmd, func(res rueidis.RedisResult) ([]string, error) {
		if err := res.Error(); err != nil {
			return nil, err
		}
		return reply.Fields(res)
	})
}

// Score reads the score of a member in a sorted set.
func (b *Batch) Score(key, member string) *string {
	return b.Text(b.client.B().Zscore().Key(key).Member(member).Build())
}

// Add adds a command; take receives its reply.
func (b *Batch) Add(cmd rueidis.Completed, take func(rueidis.RedisResult) error) {
	b.cmds = append(b.cmds, cmd)
	b.take = append(b.take, take)
}

// Run sends all commands in one round trip.
func (b *Batch) Run(ctx context.Context) error {
	if len(b.cmds) == 0 {
		return nil
	}
	for i, res := range b.client.DoMulti(ctx, b.cmds...) {
		if err := b.take[i](res); err != nil {
			return err
		}
	}
	return nil
}
