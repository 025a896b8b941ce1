// Package adopt opens databases of the original PHP Retwis of 2014, whose layout Retwis uses. It
// rejects databases of the case study of 2009, which package import2009 copies.
package adopt

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"retwis/internal/redis/nodes"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/storage"
)

// Adopt opens the database of any version of Retwis except that of 2009.
//
// A database of the Retwis of 2014 keeps its keys; Adopt adds what that program did not store:
//
//   - Each username is found in any case. If two usernames differ only in case, the first one
//     found gets both spellings, and the other one only its own.
//   - The time of registration is copied to the user.
//   - Each profile lists all existing posts of its owner.
//   - Counters are raised to the largest ID in use.
//
// Unreadable entries are logged and skipped. Adopt returns Err2009 or ErrForeign for a database
// that it rejects. If the keys of a single server were loaded into a Cluster, or the other way
// round, Adopt converts them to the layout of this kind of server (storage.Directory.Rearrange); on
// a single server, home timelines are then complete and do not expire.
//
// On a database that it has adopted before, Adopt takes one round trip. Otherwise it scans all keys
// a few times in short steps and calls progress (which may be nil) with the approximate number of
// keys so far and in total. After a crash, the next call starts over. Several processes can adopt a
// database at once, and serve it as soon as Adopt returns.
func (d Database) Adopt(ctx context.Context, progress func(done, total int64)) error {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	version, err := d.layout(ctx)
	if err == nil && version == "" {
		version, err = d.adopt(ctx, progress)
	}
	switch {
	case err != nil || version == "":
		return err
	case version != storage.Version && version != storage.ClusterVersion:
		return fmt.Errorf("social: the database has layout %.40q, and this version of retwis reads layout %s only: use the version that wrote it",
			version, storage.Version)
	case d.cluster == (version == storage.ClusterVersion):
		return nil
	case !d.cluster:
		if err := d.completeHomes(ctx, progress); err != nil {
			return err
		}
	}
	return storage.NewDirectory(d.client).Rearrange(ctx, progress)
}

// adopt completes a database of the Retwis of 2014, and returns its layout version, which is empty
// if there are no users yet, because an old database may still be loaded.
func (d Database) adopt(ctx context.Context, progress func(done, total int64)) (version string, err error) {
	a := &adoption{d: d, progress: progress}
	if err := a.run(ctx); err != nil {
		return "", fmt.Errorf("social: adopt the database: %w", err)
	}
	if a.users == 0 {
		return "", nil
	}
	b := d.client.B()
	steps := rueidis.Commands{
		b.Unlink().Key(storage.PlainSessions).Build(),
		b.Set().Key(storage.AdoptedPosts).Value(storage.Itoa(a.lastPost)).Build(),
		b.Set().Key(storage.LayoutVersion).Value(storage.Version).Build(), // last
	}
	for _, step := range steps {
		if err := d.client.Do(ctx, step).Error(); err != nil {
			return "", err
		}
	}
	return storage.Version, nil
}

// Exists reports whether a database contains a site, adopted or not, complete or not. A site that
// has been served counts even if nobody has signed up. It returns Err2009 if the only site is one
// of 2009.
func Exists(ctx context.Context, client rueidis.Client) (bool, error) {
	b := client.B()
	cmds := rueidis.Commands{b.Type().Key(storage.UserNames).Build()}
	for _, key := range []string{storage.LayoutVersion, storage.LayoutOwner, storage.Restoring} {
		cmds = append(cmds, b.Exists().Key(key).Build())
	}
	res := client.DoMulti(ctx, cmds...)
	if kind, err := res[0].ToString(); err != nil || kind == "hash" {
		return kind == "hash", err
	}
	for _, res := range res[1:] {
		if exists, err := res.AsBool(); err != nil || exists {
			return exists, err
		}
	}
	old, err := layout2009.Exists(ctx, client)
	if err == nil && old {
		err = Err2009
	}
	return false, err
}

type adoption struct {
	d           Database
	progress    func(done, total int64)
	done, total int64
	mu          sync.Mutex // guards users and lastUser
	users       int64      // the number of existing users
	lastUser    int64      // the largest user ID in use
	lastPost    int64      // the largest post ID in use
}

func (a *adoption) run(ctx context.Context) error {
	if err := a.size(ctx); err != nil {
		return err
	}
	old, err := layout2009.Exists(ctx, a.d.client)
	if err != nil {
		return err
	}
	if old {
		return Err2009
	}
	if err := a.adoptNames(ctx); err != nil {
		return err
	}
	if a.users == 0 {
		return a.d.claimDatabase(ctx)
	}
	return a.complete(ctx)
}

// complete adds posts to profiles and raises the counters.
func (a *adoption) complete(ctx context.Context) error {
	err := a.d.keys(ctx, storage.PostPrefix+"*", func(keys []string, seen int64) error {
		a.seen(seen)
		return a.adoptPosts(ctx, keys)
	})
	if err != nil {
		return err
	}
	a.progress(a.total, a.total)
	return errors.Join(
		Raise(ctx, a.d.client, storage.NextUserID, a.lastUser),
		Raise(ctx, a.d.client, storage.NextPostID, a.lastPost),
	)
}

// size counts the keys.
func (a *adoption) size(ctx context.Context) error {
	masters, err := nodes.Masters(ctx, a.d.client)
	if err != nil {
		return err
	}
	for _, master := range masters {
		node := master.Client
		size, err := node.Do(ctx, node.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return err
		}
		a.total += size
	}
	return nil
}

// seen counts keys that a scan has passed.
func (a *adoption) seen(keys int64) {
	a.done += keys
	a.progress(min(a.done, a.total), a.total)
}

// adoptNames adopts each username in `users`.
func (a *adoption) adoptNames(ctx context.Context) error {
	for page, err := range scan.Hash(ctx, a.d.client, storage.UserNames, scanCount) {
		if err != nil {
			return err
		}
		err = storage.AtOnce(len(page)/2, func(i int) error {
			name, owner := page[2*i], page[2*i+1]
			uid, ok := storage.ParseID(owner)
			if !ok {
				a.d.log.WarnContext(ctx, "skipped a username without a valid user ID", "key", storage.UserNames, "username", name, "user", owner)
				return nil
			}
			return a.adoptName(ctx, name, uid)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *adoption) adoptName(ctx context.Context, name string, uid int64) error {
	client, b := a.d.client, a.d.client.B()
	res := client.DoMulti(ctx,
		b.Hsetnx().Key(storage.UserNames).Field(storage.Fold(name)).Value(storage.Itoa(uid)).Build(),
		b.Hget().Key(storage.UserNames).Field(storage.Fold(name)).Build(),
		b.Zscore().Key(storage.UsersByTime).Member(name).Build(),
		b.Hexists().Key(storage.UserKey(uid)).Field("username").Build(),
	)
	owner, err := res[1].AsInt64()
	if err != nil {
		return errors.Join(res[0].Error(), err)
	}
	if owner != uid {
		a.d.log.WarnContext(ctx, "two usernames differ only in case; each is found only by its own spelling",
			"username", name, "user", uid, "other", owner)
	}
	joined, err := reply.Text(res[2])
	if err != nil {
		return err
	}
	exists, err := reply.OrEmpty(res[3].AsBool())
	if err != nil {
		return err
	}
	a.sawUser(uid, exists)
	if !exists || storage.ParseTime(joined).IsZero() {
		return nil
	}
	return client.Do(ctx, b.Hsetnx().Key(storage.UserKey(uid)).Field("joined").Value(storage.Seconds(storage.ParseTime(joined))).Build()).Error()
}

// sawUser records the ID of a user, and whether the user exists.
func (a *adoption) sawUser(uid int64, exists bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if exists {
		a.users++
	}
	a.lastUser = max(a.lastUser, uid)
}

// adoptPosts adds posts to the profiles of their authors.
func (a *adoption) adoptPosts(ctx context.Context, keys []string) error {
	client, b := a.d.client, a.d.client.B()
	var ids []int64
	var reads, writes rueidis.Commands
	for _, key := range keys {
		id, ok := storage.ParseID(strings.TrimPrefix(key, storage.PostPrefix))
		if !ok {
			continue // not a post
		}
		ids = append(ids, id)
		reads = append(reads, b.Hget().Key(key).Field("user_id").Build())
	}
	if len(ids) == 0 {
		return nil
	}
	for i, res := range client.DoMulti(ctx, reads...) {
		a.lastPost = max(a.lastPost, ids[i]) // keys of any type count: no new post can use one
		author, err := reply.TextOrEmpty(res)
		if err != nil {
			return fmt.Errorf("key %s: %w", storage.PostKey(ids[i]), err)
		}
		uid, ok := storage.ParseID(author)
		if !ok {
			continue // no author
		}
		writes = append(writes, b.Zadd().Key(storage.ProfileKey(uid)).ScoreMember().ScoreMember(float64(ids[i]), storage.Itoa(ids[i])).Build())
	}
	return reply.FirstError(client.DoMulti(ctx, writes...))
}

//go:embed raise.lua
var raiseSource string

var raiseScript = script.New(raiseSource).Retryable()

// Raise sets a counter to last, if the counter is lower.
func Raise(ctx context.Context, client rueidis.Client, counter string, last int64) error {
	if last == 0 {
		return nil
	}
	ok, err := raiseScript.Run(ctx, client, []string{counter}, []string{storage.Itoa(last)}).AsBool()
	if err == nil && !ok {
		err = fmt.Errorf("key %s does not hold a number: set it to at least %d", counter, last)
	}
	return err
}
