package check

import (
	"context"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/social/fanout"
)

// batch collects reads, whose results are there after run. A key of another type
// reads as a missing one: ofTheirType reports it.
type batch struct {
	client rueidis.Client
	cmds   rueidis.Commands
	take   []func(rueidis.RedisResult) error
}

func (c *checker) batch() *batch { return &batch{client: c.client} }

// text reads a string, or the score of a member.
func (b *batch) text(cmd rueidis.Completed) *string {
	value := new(string)
	b.add(cmd, func(res rueidis.RedisResult) (err error) {
		*value, err = reply.TextOrEmpty(res)
		return err
	})
	return value
}

// texts reads a list.
func (b *batch) texts(cmd rueidis.Completed) *[]string {
	value := new([]string)
	b.add(cmd, func(res rueidis.RedisResult) (err error) {
		if *value, err = res.AsStrSlice(); rediserr.IsWrongType(err) {
			return nil
		}
		return err
	})
	return value
}

// present reads whether there is a reply.
func (b *batch) present(cmd rueidis.Completed) *bool {
	value := new(bool)
	b.add(cmd, func(res rueidis.RedisResult) error {
		err := res.Error()
		*value = err == nil
		if rueidis.IsRedisNil(err) || rediserr.IsWrongType(err) {
			return nil
		}
		return err
	})
	return value
}

// number reads a count.
func (b *batch) number(cmd rueidis.Completed) *int64 {
	value := new(int64)
	b.add(cmd, func(res rueidis.RedisResult) (err error) {
		if *value, err = res.AsInt64(); rediserr.IsWrongType(err) {
			return nil
		}
		return err
	})
	return value
}

// fields reads fields of a hash; nil for a key of another type.
func (b *batch) fields(cmd rueidis.Completed) *[]string {
	value := new([]string)
	b.add(cmd, func(res rueidis.RedisResult) (err error) {
		if rediserr.IsWrongType(res.Error()) {
			return nil
		}
		*value, err = reply.Fields(res)
		return err
	})
	return value
}

// score reads the score of a member of a sorted set.
func (b *batch) score(key, member string) *string {
	return b.text(b.client.B().Zscore().Key(key).Member(member).Build())
}

// isPending reads whether a post is on its way to timelines.
func (b *batch) isPending(post, author int64, time string) *bool {
	pending := new(bool)
	for _, cmd := range fanout.ClaimCommands(b.client, post, author, time) {
		b.add(cmd, func(res rueidis.RedisResult) error {
			claimed, err := fanout.Claimed(res)
			*pending = *pending || claimed
			return err
		})
	}
	return pending
}

// exists reads whether a key exists.
func (b *batch) exists(key string) *int64 {
	return b.number(b.client.B().Exists().Key(key).Build())
}

func (b *batch) add(cmd rueidis.Completed, take func(rueidis.RedisResult) error) {
	b.cmds = append(b.cmds, cmd)
	b.take = append(b.take, take)
}

// run reads everything: one round trip.
func (b *batch) run(ctx context.Context) error {
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
