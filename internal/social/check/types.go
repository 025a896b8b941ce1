package check

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/social/posts"
	"retwis/internal/social/storage"
	"retwis/internal/social/takeout"
	"retwis/internal/social/work"
	"retwis/maintain"
)

//go:embed counter_up.lua
var counterUpSource string

var counterUpScript = script.New(counterUpSource).Retryable()

// keyCheck checks the keys without an ID, the keys of imports, and the keys of trends.
type keyCheck struct{ check *checker }

// singletons checks the types of the keys without an ID.
func (c *keyCheck) singletons(ctx context.Context) error {
	keys := storage.Singletons()
	good, err := c.check.wellTyped(ctx, keys)
	if err != nil {
		return err
	}
	c.check.foreign = map[string]bool{}
	for _, key := range keys {
		c.check.foreign[key] = true
	}
	for _, key := range good {
		delete(c.check.foreign, key)
	}
	return nil
}

// wellTyped returns the keys that have the right type or are missing, and reports the others.
// Keys of the wrong type that are named like a user or a post may belong to another program and are
// left alone. Retwis needs all other names, so a repair renames the keys that have them.
func (c *checker) wellTyped(ctx context.Context, keys []string) ([]string, error) {
	kindOf := func(key string) rueidis.Completed { return c.client.B().Type().Key(key).Build() }
	kinds, err := reads.Many(ctx, c.client, keys, kindOf, reply.Text)
	if err != nil {
		return nil, err
	}
	var good []string
	for i, kind := range kinds {
		key := keys[i]
		prefix := prefixOf(key)
		if prefix == "" {
			prefix = key
		}
		if kind == storage.Type(prefix) || kind == "none" {
			good = append(good, key)
			continue
		}
		p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("a %s, but Retwis expects a %s", kind, storage.Type(prefix))}
		var repair fix
		if prefix != storage.UserPrefix && prefix != storage.PostPrefix {
			p.Repair = "rename it to " + setAsideKey(key, 1)
			repair = func(ctx context.Context) (bool, error) { return c.setAside(ctx, key, kind) }
		}
		if err := c.found(ctx, p, repair); err != nil {
			return nil, err
		}
		if c.repair && repair != nil {
			good = append(good, key) // missing now
		}
	}
	return good, nil
}

// counters reports counters that are below the IDs in use, or not numbers.
func (c *keyCheck) counters(ctx context.Context) error {
	for _, n := range []struct {
		key, prefix string
		last        int64
	}{{storage.NextUserID, storage.UserPrefix, c.check.lastUser}, {storage.NextPostID, storage.PostPrefix, c.check.lastPost}} {
		if c.check.foreign[n.key] {
			continue
		}
		text, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Get().Key(n.key).Build()))
		if err != nil {
			return err
		}
		value, err := strconv.ParseInt(text, 10, 64)
		p := Problem{Kind: maintain.Invalid, Key: n.key, Repair: fmt.Sprintf("set it to %d", n.last)}
		switch {
		case err != nil && text != "":
			p.Detail = fmt.Sprintf("%.40q is not a number", text)
		case value < n.last:
			p.Kind, p.Detail, p.Leftover = maintain.Stale, fmt.Sprintf("%d is below %s%d", value, n.prefix, n.last), true
		default:
			continue
		}
		err = c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			return counterUpScript.Run(ctx, c.check.client, []string{n.key}, []string{storage.Itoa(n.last)}).AsBool()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expireAfter is the expiry that a repair sets on a key without one.
const expireAfter = 2 * 24 * time.Hour

// expire reports keys that count people for trends and do not expire, because a process died after
// it wrote the key and before it set the expiry.
func (c *keyCheck) expire(ctx context.Context, keys []string) error {
	ttl := func(key string) rueidis.Completed { return c.check.client.B().Ttl().Key(key).Build() }
	seconds, err := reads.Many(ctx, c.check.client, keys, ttl, rueidis.RedisResult.AsInt64)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if seconds[i] != -1 {
			continue
		}
		p := Problem{Kind: maintain.Invalid, Key: key, Leftover: true, Detail: "does not expire", Repair: "let it expire in two days"}
		err := c.check.found(ctx, p, func(ctx context.Context) (bool, error) {
			return c.check.client.Do(ctx, c.check.client.B().Expire().Key(key).Seconds(int64(expireAfter/time.Second)).Build()).AsBool()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports unfinished tasks, and finishes those of dead processes in the order of their
// stages.
func (c *keyCheck) unfinished(ctx context.Context) error {
	if c.check.foreign[storage.Tasks] {
		return nil
	}
	for stage := range posts.Stages {
		err := c.check.sortedSet(ctx, storage.Tasks, func(members, scores []string) error {
			for i, member := range members {
				if posts.Stage(member) != stage {
					continue
				}
				if err := c.task(ctx, member, scores[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// task reports an unfinished task.
func (c *keyCheck) task(ctx context.Context, member, score string) error {
	p := Problem{
		Kind: maintain.Missing, Key: storage.Tasks, Leftover: true,
		Detail: fmt.Sprintf("%.80s is not finished yet, or not on a replica; it continues", member),
	}
	due, _ := strconv.ParseFloat(score, 64)
	var repair fix
	if c.check.opt.Exclusive || work.Overdue(due) > work.Lease {
		p.Repair = "finish it"
		repair = func(ctx context.Context) (bool, error) {
			return c.check.fanOut.Tasks().Take(ctx, member, c.check.opt.Exclusive)
		}
	}
	return c.check.found(ctx, p, repair)
}

//go:embed set_aside.lua
var setAsideSource string

var setAsideScript = script.New(setAsideSource).Retryable()

// setAsideKey returns the nth new name for a key that Retwis cannot read but that may hold valuable
// data. The new name is in the same slot as the key.
func setAsideKey(key string, n int) string {
	if n == 1 {
		return fmt.Sprintf("damaged:{%s}", key)
	}
	return fmt.Sprintf("damaged:{%s}:%d", key, n)
}

// maxSetAside limits how often a key can be set aside.
const maxSetAside = 1000

// setAside renames a key that still has the given type. If a field and a value are given, the field
// must still have the value.
func (c *checker) setAside(ctx context.Context, key, kind string, fieldValue ...string) (bool, error) {
	for n := 1; n <= maxSetAside; n++ {
		moved, err := setAsideScript.Run(ctx, c.client, []string{key, setAsideKey(key, n)}, append([]string{kind}, fieldValue...)).AsInt64()
		if err != nil || moved >= 0 {
			return moved == 1, err
		}
	}
	return false, fmt.Errorf("all %d names that begin with %s are in use", maxSetAside, setAsideKey(key, 1))
}

// imported checks that an unfinished import of lists has a task.
func (c *keyCheck) imported(ctx context.Context, key string) error {
	_, uid, _ := storage.ParseKey(key)
	p, err := takeout.NewStore(c.check.client).Get(ctx, uid)
	if err != nil || p.State != takeout.Running {
		return err
	}
	task := takeout.Task(uid, p.ID)
	since, err := reply.TextOrEmpty(c.check.client.Do(ctx, c.check.client.B().Zscore().Key(storage.Tasks).Member(task).Build()))
	if err != nil || since != "" {
		return err
	}
	problem := Problem{
		Kind: maintain.Missing, Key: key, Leftover: true, Detail: "is running, but is not in " + storage.Tasks, Repair: "continue it",
	}
	return c.check.found(ctx, problem, func(ctx context.Context) (bool, error) { return c.check.app.Imports.Resume(ctx, uid) })
}

// ranges checks that each range of IDs assigned to a user's imports is also in the set of all
// users' ranges.
func (c *keyCheck) ranges(ctx context.Context, key string) error {
	return c.check.sortedSet(ctx, key, func(members, _ []string) error {
		for _, member := range members {
			p := Problem{Kind: maintain.Invalid, Key: key, Detail: fmt.Sprintf("%.40q is not a range of ids", member), Repair: "remove it"}
			repair := c.check.removal(key, member)
			if first, _, ok := storage.ParseRange(member); ok {
				err := c.check.client.Do(ctx, c.check.client.B().Zscore().Key(storage.ImportedPosts).Member(member).Build()).Error()
				switch {
				case err == nil || rediserr.IsWrongType(err): // reported by the check of types
					continue
				case !rueidis.IsRedisNil(err):
					return err
				}
				p = Problem{Kind: maintain.Missing, Key: storage.ImportedPosts, Detail: "lacks " + member + " of " + key, Repair: "add it"}
				repair = func(ctx context.Context) (bool, error) {
					return c.check.zadd(ctx, storage.ImportedPosts, storage.Itoa(first), member)
				}
			}
			if err := c.check.found(ctx, p, repair); err != nil {
				return err
			}
		}
		return nil
	})
}
