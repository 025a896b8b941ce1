package social

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// layoutVersion is what `layout_version` says of a database that Adopt has
// seen to. The original program wrote no such key.
const layoutVersion = "2"

// scanCount is how many keys or fields one step of a scan asks for: well under
// a millisecond of the server's time.
const scanCount = 1000

// Adopt opens a database that the original PHP program wrote. Its keys stay as
// they are; what the program did not keep is added beside them:
//
//   - each username is found in whatever case it is typed. Where two differ in
//     case only, the first to be found answers to both spellings, and the
//     other to its own;
//   - the time of registration moves beside the user;
//   - each profile shows every post of its owner that is still there;
//   - counters that are behind the ids in use are moved past them.
//
// It costs one round trip on a database that it has seen to before. On another
// it walks all keys once in short steps, calling progress (which may be nil)
// with how many it has seen, of about how many; what it does can be repeated
// from the start, and others may use the database meanwhile.
func (s *Service) Adopt(ctx context.Context, progress func(done, total int64)) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	version, err := text(s.client.Do(ctx, s.client.B().Get().Key(keyLayoutVersion).Build()))
	if err != nil {
		return err
	}
	if version == layoutVersion {
		return nil
	}
	if version != "" {
		return fmt.Errorf("social: the database is of layout %q, which only a newer retwis reads (this one reads %s)", version, layoutVersion)
	}
	a := &adoption{s: s, progress: progress}
	if err := a.run(ctx); err != nil {
		return fmt.Errorf("social: adopt the database: %w", err)
	}
	if a.users == 0 {
		return nil // nobody here yet: somebody may still load an old database
	}
	return s.client.Do(ctx, s.client.B().Set().Key(keyLayoutVersion).Value(layoutVersion).Build()).Error()
}

type adoption struct {
	s           *Service
	progress    func(done, total int64)
	done, total int64
	users       int64
	lastUser    int64 // the largest ids in use
	lastPost    int64
}

func (a *adoption) run(ctx context.Context) error {
	if err := a.adoptNames(ctx); err != nil || a.users == 0 {
		return err
	}
	for node := range a.s.masters() {
		size, err := node.Do(ctx, node.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return err
		}
		a.total += size
	}
	err := a.s.scanKeys(ctx, prefixPost+"*", func(keys []string, seen int64) error {
		a.done += seen
		a.progress(min(a.done, a.total), a.total)
		return a.adoptPosts(ctx, keys)
	})
	if err != nil {
		return err
	}
	a.progress(a.total, a.total)
	return errors.Join(
		a.raise(ctx, keyNextUserID, a.lastUser),
		a.raise(ctx, keyNextPostID, a.lastPost),
	)
}

// adoptNames walks `users`.
func (a *adoption) adoptNames(ctx context.Context) error {
	var cursor uint64
	for {
		b := a.s.client.B()
		entry, err := a.s.client.Do(ctx, b.Hscan().Key(keyUsers).Cursor(cursor).Count(scanCount).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(entry.Elements); i += 2 {
			name := entry.Elements[i]
			uid, err := strconv.ParseInt(entry.Elements[i+1], 10, 64)
			if err != nil {
				return fmt.Errorf("key %s: field %q: %q is not a user id", keyUsers, name, entry.Elements[i+1])
			}
			a.users++
			a.lastUser = max(a.lastUser, uid)
			if err := a.adoptName(ctx, name, uid); err != nil {
				return err
			}
		}
		if cursor = entry.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (a *adoption) adoptName(ctx context.Context, name string, uid int64) error {
	client, b := a.s.client, a.s.client.B()
	res := client.DoMulti(ctx,
		b.Hsetnx().Key(keyUsers).Field(fold(name)).Value(itoa(uid)).Build(),
		b.Hget().Key(keyUsers).Field(fold(name)).Build(),
		b.Zscore().Key(keyUsersByTime).Member(name).Build(),
		b.Hexists().Key(userKey(uid)).Field("username").Build(),
	)
	owner, err := res[1].AsInt64()
	if err != nil {
		return errors.Join(res[0].Error(), err)
	}
	if owner != uid {
		a.s.log.WarnContext(ctx, "two usernames differ in case only; each answers to its own spelling",
			"username", name, "user", uid, "other", owner)
	}
	joined, err := text(res[2])
	if err != nil {
		return err
	}
	exists, err := res[3].AsBool()
	if err != nil || !exists || parseTime(joined).IsZero() {
		return err
	}
	return client.Do(ctx, b.Hsetnx().Key(userKey(uid)).Field("joined").Value(seconds(parseTime(joined))).Build()).Error()
}

// adoptPosts puts posts on the profiles of those who wrote them.
func (a *adoption) adoptPosts(ctx context.Context, keys []string) error {
	client, b := a.s.client, a.s.client.B()
	var ids []int64
	var reads, writes rueidis.Commands
	for _, key := range keys {
		id, err := strconv.ParseInt(strings.TrimPrefix(key, prefixPost), 10, 64)
		if err != nil {
			continue // not a post
		}
		ids = append(ids, id)
		reads = append(reads, b.Hget().Key(key).Field("user_id").Build())
	}
	if len(ids) == 0 {
		return nil
	}
	for i, res := range client.DoMulti(ctx, reads...) {
		author, err := text(res)
		if err != nil {
			return fmt.Errorf("key %s: %w", postKey(ids[i]), err)
		}
		a.lastPost = max(a.lastPost, ids[i])
		uid, err := strconv.ParseInt(author, 10, 64)
		if err != nil {
			continue // nobody's
		}
		writes = append(writes, b.Zadd().Key(profileKey(uid)).ScoreMember().ScoreMember(float64(ids[i]), itoa(ids[i])).Build())
	}
	return firstError(client.DoMulti(ctx, writes...))
}

// raise moves a counter to last, if it is behind.
func (a *adoption) raise(ctx context.Context, counter string, last int64) error {
	now, err := text(a.s.client.Do(ctx, a.s.client.B().Get().Key(counter).Build()))
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(now, 10, 64)
	if now != "" && err != nil {
		return fmt.Errorf("key %s: %q is not a counter", counter, now)
	}
	if n >= last {
		return nil
	}
	// Others count meanwhile: adding never moves it back.
	return a.s.client.Do(ctx, a.s.client.B().Incrby().Key(counter).Increment(last-n).Build()).Error()
}

func firstError(results []rueidis.RedisResult) error {
	for _, res := range results {
		if err := res.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}
