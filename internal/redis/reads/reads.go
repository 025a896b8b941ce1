// Package reads collects reads of several keys, and sends them together.
package reads

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
)

// Batch collects reads, whose results are there after Run. A key of another type reads as a
// missing one.
type Batch struct {
	client rueidis.Client
	cmds   rueidis.Commands
	take   []func(rueidis.RedisResult) error
}

// New returns an empty batch for a database.
func New(client rueidis.Client) *Batch { return &Batch{client: client} }

// read adds a command, whose reply parse reads.
func read[T any](b *Batch, cmd rueidis.Completed, parse func(rueidis.RedisResult) (T, error)) *T {
	value := new(T)
	b.Add(cmd, func(res rueidis.RedisResult) error {
		v, err := parse(res)
		if rediserr.IsWrongType(err) {
			return nil
		}
		*value = v
		return err
	})
	return value
}

// Text reads a string, or the score of a member; empty for none.
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

// Present reads whether there is a reply.
func (b *Batch) Present(cmd rueidis.Completed) *bool {
	return read(b, cmd, func(res rueidis.RedisResult) (bool, error) {
		err := res.Error()
		if rueidis.IsRedisNil(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Score reads the score of a member of a sorted set.
func (b *Batch) Score(key, member string) *string {
	return b.Text(b.client.B().Zscore().Key(key).Member(member).Build())
}

// Exists reads whether a key exists.
func (b *Batch) Exists(key string) *int64 {
	return b.Number(b.client.B().Exists().Key(key).Build())
}

// Add adds a command; take gets its reply.
func (b *Batch) Add(cmd rueidis.Completed, take func(rueidis.RedisResult) error) {
	b.cmds = append(b.cmds, cmd)
	b.take = append(b.take, take)
}

// Run reads everything: one round trip.
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
