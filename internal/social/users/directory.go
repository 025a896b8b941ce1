package users

import (
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/layout"
	"retwis/internal/social/storage"
)

// MaxLatest is how many users `users_by_time` keeps on a Cluster.
const MaxLatest = 10_000

// cacheTTL bounds how long the client may remember an earlier layout, if the message of
// the server about the change was lost.
const cacheTTL = time.Minute

// Directory finds users: by their names, and the latest of them. It is safe for concurrent use.
//
// On a single server the hash `users` leads from a name to a user, and the sorted set
// `users_by_time` has all users by the time of registration, as in the tutorial. On a
// Cluster one key is on one server, and these two would grow to gigabytes there. So
// names are spread over the hashes `users:0` … `users:4095` ([Bucket]), and
// `users_by_time` keeps the latest [MaxLatest] users.
//
// # From one layout to the other
//
// A Cluster whose layout is 2 has its names in `users`, and processes of an earlier
// version may serve it. So a name is written to both places, first to `users`, where
// these look; it belongs to the user that the bucket has for it. Names are looked up in
// both. [Directory.Move] copies the names, and puts a string in the place of `users`:
// a process of an earlier version that still runs gets an error then, and claims no name
// that is taken. When the layout is 3, the buckets have all names.
//
// None of this depends on when a process learns of the new layout: until then it also
// looks at what is not there any more. [Directory.Gather] is the way back, on a single
// server that has loaded the keys of a Cluster.
type Directory struct {
	client  rueidis.Client
	cluster bool
	spread  atomic.Bool // the layout is layout.ClusterVersion: it stays that
}

// NewDirectory returns the directory of the database behind client.
func NewDirectory(client rueidis.Client) *Directory {
	return &Directory{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Bucket is the number of the bucket that has a name: the CRC-32 (IEEE) of the name in
// lower case, modulo the number of buckets.
func Bucket(name string) int {
	return int(crc32.ChecksumIEEE([]byte(layout.Fold(name))) % layout.Buckets)
}

func bucketKey(name string) string { return layout.BucketKey(Bucket(name)) }

// Spread reports whether the database has the layout of a Cluster. It is answered from
// memory.
func (d *Directory) Spread(ctx context.Context) (bool, error) {
	if !d.cluster || d.spread.Load() {
		return d.cluster, nil
	}
	// The key has no TTL; see ToStaticTTL where keys of the application are read.
	version, err := reply.Text(d.client.DoCache(ctx, d.client.B().Get().Key(layout.LayoutVersion).Cache().ToStaticTTL(), cacheTTL))
	return d.note(version, err)
}

func (d *Directory) note(version string, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("social: read the version of the layout: %w", err)
	}
	if version == layout.ClusterVersion {
		d.spread.Store(true)
	}
	return version == layout.ClusterVersion, nil
}

// Owner is what a name leads to: ids of users, empty for none. layout.Nobody is the name
// of an account that was deleted.
type Owner struct {
	Typed  string // of the name as it was given
	Folded string // of the name in lower case
}

// First is the id to which the name leads, empty for none. The name as it was typed
// comes first: to the original program, names that differ in case only were different
// users.
func (o Owner) First() string {
	if o.Typed != "" {
		return o.Typed
	}
	return o.Folded
}

// Owners returns what names lead to. One round trip.
func (d *Directory) Owners(ctx context.Context, names ...string) ([]Owner, error) {
	owners := make([]Owner, len(names))
	if len(names) == 0 {
		return owners, nil
	}
	spread, err := d.Spread(ctx)
	if err != nil {
		return nil, err
	}
	if !d.cluster {
		err = d.fill(ctx, owners, names, func(string) string { return layout.Users })
		return owners, err
	}
	places := []func(name string) string{bucketKey}
	if !spread {
		places = append(places, func(string) string { return layout.Users }, func(string) string { return layout.MovedUsers })
	}
	cmds := make(rueidis.Commands, 0, len(places)*len(names))
	for _, name := range names {
		for _, key := range places {
			cmds = append(cmds, d.client.B().Hmget().Key(key(name)).Field(name, layout.Fold(name)).Build())
		}
	}
	res := d.client.DoMulti(ctx, cmds...)
	for i := range names {
		for j := range places {
			ids, err := reply.Fields(res[i*len(places)+j])
			if err != nil {
				return nil, fmt.Errorf("social: look up a username: %w", err)
			}
			o := &owners[i]
			if o.Typed == "" {
				o.Typed = ids[0]
			}
			if o.Folded == "" {
				o.Folded = ids[1]
			}
		}
	}
	return owners, nil
}

// fill reads owners from one key, in one command.
func (d *Directory) fill(ctx context.Context, owners []Owner, names []string, key func(string) string) error {
	fields := make([]string, 0, 2*len(names))
	for _, name := range names {
		fields = append(fields, name, layout.Fold(name))
	}
	ids, err := d.client.Do(ctx, d.client.B().Hmget().Key(key("")).Field(fields...).Build()).ToArray()
	if err != nil {
		return fmt.Errorf("social: look up a username: %w", err)
	}
	for i := range owners {
		if id := ids[2*i]; !id.IsNil() {
			owners[i].Typed, _ = id.ToString()
		}
		if id := ids[2*i+1]; !id.IsNil() {
			owners[i].Folded, _ = id.ToString()
		}
	}
	return nil
}

// Claim gives a name to a user if nobody has it, and returns the id of the user who has
// it now. It can be repeated. One round trip, or two until the layout is that of a
// Cluster.
func (d *Directory) Claim(ctx context.Context, name string, uid int64) (int64, error) {
	if !d.cluster {
		return d.claim(ctx, layout.Users, name, uid)
	}
	spread, err := d.begin(ctx)
	if err != nil {
		return 0, err
	}
	if !spread {
		owner, err := d.claimOld(ctx, name, uid)
		if err != nil || owner != uid {
			return owner, err
		}
	}
	owner, err := d.claim(ctx, bucketKey(name), name, uid)
	if err == nil && owner != uid && !spread {
		_, err = ignoreType(storage.DeleteFieldIf(ctx, d.client, layout.Users, layout.Fold(name), layout.Itoa(uid)))
	}
	return owner, err
}

func (d *Directory) claim(ctx context.Context, key, name string, uid int64) (int64, error) {
	b, name := d.client.B(), layout.Fold(name)
	res := d.client.DoMulti(ctx,
		b.Hsetnx().Key(key).Field(name).Value(layout.Itoa(uid)).Build().ToRetryable(),
		b.Hget().Key(key).Field(name).Build(),
	)
	if err := res[0].Error(); err != nil {
		return 0, err
	}
	return res[1].AsInt64()
}

// Keep gives the name of a user of an older program to that user, and returns the id of the
// user who has it now: the name as it is spelled, and in lower case if nobody has that. It can
// be repeated. One round trip, or two.
func (d *Directory) Keep(ctx context.Context, name string, uid int64) (int64, error) {
	key := layout.Users
	if d.cluster {
		spread, err := d.begin(ctx)
		if err != nil {
			return 0, err
		}
		if spread {
			key = bucketKey(name)
		}
	}
	b := d.client.B()
	res := d.client.DoMulti(ctx,
		b.Hsetnx().Key(key).Field(name).Value(layout.Itoa(uid)).Build().ToRetryable(),
		b.Hget().Key(key).Field(name).Build(),
	)
	if err := res[0].Error(); err != nil {
		return 0, err
	}
	owner, err := res[1].AsInt64()
	if err != nil || owner != uid || name == layout.Fold(name) {
		return owner, err
	}
	return uid, d.client.Do(ctx, b.Hsetnx().Key(key).Field(layout.Fold(name)).Value(layout.Itoa(uid)).Build().ToRetryable()).Error()
}

// claimOld claims a name where processes of an earlier version look. When there is
// nothing of theirs any more, or it cannot change, it only reads.
func (d *Directory) claimOld(ctx context.Context, name string, uid int64) (int64, error) {
	owner, err := d.claim(ctx, layout.Users, name, uid)
	if !rediserr.IsWrongType(err) {
		return owner, err
	}
	id, err := reply.TextOrEmpty(d.client.Do(ctx, d.client.B().Hget().Key(layout.MovedUsers).Field(layout.Fold(name)).Build()))
	if err != nil || id == "" {
		return uid, err
	}
	return parseNameID(layout.MovedUsers, name, id)
}

// ParseOwner reads an id to which a name leads; 0 is that of nobody.
func ParseOwner(name, id string) (int64, error) { return parseNameID(layout.Users, name, id) }

func parseNameID(key, name, id string) (int64, error) {
	if id == layout.Nobody {
		return 0, nil
	}
	uid, ok := layout.ParseID(id)
	if !ok {
		return 0, fmt.Errorf("social: key %s: field %q: %.40q is not a user id", key, name, id)
	}
	return uid, nil
}

// begin gives an empty Cluster its layout, before the first name is claimed.
func (d *Directory) begin(ctx context.Context) (spread bool, err error) {
	if spread, err = d.Spread(ctx); err != nil || spread {
		return spread, err
	}
	b := d.client.B()
	res := d.client.DoMulti(ctx,
		b.Get().Key(layout.LayoutVersion).Build(),
		b.Exists().Key(layout.Users).Build(),
	)
	version, err := reply.Text(res[0])
	if err != nil || version != "" {
		return d.note(version, err)
	}
	for _, r := range res[1:] {
		if other, err := r.AsBool(); err != nil || other {
			return false, err
		}
	}
	err = d.client.Do(ctx, b.Set().Key(layout.LayoutVersion).Value(layout.ClusterVersion).Nx().Build()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, err
	}
	if spread, err = d.note(reply.Text(d.client.Do(ctx, b.Get().Key(layout.LayoutVersion).Build()))); err != nil || !spread {
		return spread, err
	}
	// A process of an earlier version that has been started on the empty Cluster fails,
	// and registers nobody. A crash before this leaves the key missing, which no process
	// needs that has been started since.
	err = d.client.Do(ctx, b.Set().Key(layout.Users).Value(layout.UsersMoved).Nx().Build()).Error()
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	return true, err
}

// Reserve makes the name of an account that is gone lead to nobody: it is never free
// again. Repeating it changes nothing. One round trip, or two.
func (d *Directory) Reserve(ctx context.Context, name string, uid int64) error {
	keys, err := d.places(ctx, name)
	if err != nil {
		return err
	}
	for _, key := range keys {
		err := directoryReserveScript.RunFenced(ctx, d.client, []string{key}, []string{layout.Itoa(uid), layout.Fold(name), name}).Error()
		if err != nil && (key != layout.Users || !d.cluster || !rediserr.IsWrongType(err)) {
			return fmt.Errorf("social: reserve a username: %w", err)
		}
	}
	return nil
}

// places are the keys that processes write a name to, the one that decides last.
func (d *Directory) places(ctx context.Context, name string) ([]string, error) {
	if !d.cluster {
		return []string{layout.Users}, nil
	}
	spread, err := d.Spread(ctx)
	if spread || err != nil {
		return []string{bucketKey(name)}, err
	}
	return []string{layout.Users, bucketKey(name)}, nil
}

// Free removes a name from one of the keys that [Directory.All] yields, if it leads to
// an id there. It reports whether it did.
func (d *Directory) Free(ctx context.Context, key, name, id string) (bool, error) {
	return storage.DeleteFieldIf(ctx, d.client, key, name, id)
}

// DirectoryPage is a step of All: names and the ids to which they lead, alternating, of one key.
type DirectoryPage struct {
	Key   string
	Names []string
}

// bucketsAtOnce is how many buckets All reads at the same time.
const bucketsAtOnce = 256

// All yields all names, in pages of about count, or of at most bucketsAtOnce times as
// many in all on a Cluster. A name may be seen twice.
func (d *Directory) All(ctx context.Context, count int) iter.Seq2[DirectoryPage, error] {
	return func(yield func(DirectoryPage, error) bool) {
		spread, err := d.Spread(ctx)
		if err != nil {
			yield(DirectoryPage{}, err)
			return
		}
		whole := []string{layout.Users}
		if d.cluster {
			whole = append(whole, layout.MovedUsers)
		}
		if !spread {
			for _, key := range whole {
				for page, err := range scan.Hash(ctx, d.client, key, count) {
					if d.cluster && rediserr.IsWrongType(err) {
						break // its names were moved
					}
					if !yield(DirectoryPage{key, page}, err) || err != nil {
						return
					}
				}
			}
		}
		if d.cluster {
			d.allBuckets(ctx, count, yield)
		}
	}
}

// allBuckets yields the names in the buckets. One round trip for some buckets, unless they are
// large.
func (d *Directory) allBuckets(ctx context.Context, count int, yield func(DirectoryPage, error) bool) {
	for from := 0; from < layout.Buckets; from += bucketsAtOnce {
		cmds := make(rueidis.Commands, bucketsAtOnce)
		for i := range cmds {
			cmds[i] = d.client.B().Hscan().Key(layout.BucketKey(from + i)).Cursor(0).Count(int64(count)).Build()
		}
		for i, res := range d.client.DoMulti(ctx, cmds...) {
			key := layout.BucketKey(from + i)
			whole, err := res.AsScanEntry()
			switch {
			case rediserr.IsWrongType(err): // a check reports it
			case err != nil:
				yield(DirectoryPage{}, err)
				return
			case whole.Cursor == 0:
				if len(whole.Elements) > 0 && !yield(DirectoryPage{key, whole.Elements}, nil) {
					return
				}
			default: // a large one
				for page, err := range scan.Hash(ctx, d.client, key, count) {
					if !yield(DirectoryPage{key, page}, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// Empty reports whether no user has registered yet; on a Cluster, whether nobody has
// tried to. One round trip.
func (d *Directory) Empty(ctx context.Context) (bool, error) {
	var n int64
	var err error
	if d.cluster {
		// Ids count up from 1. There is no counter of users that could differ from them.
		n, err = d.client.Do(ctx, d.client.B().Exists().Key(layout.NextUserID).Build()).AsInt64()
	} else {
		n, err = d.client.Do(ctx, d.client.B().Hlen().Key(layout.Users).Build()).AsInt64()
	}
	if err != nil {
		return false, fmt.Errorf("social: count users: %w", err)
	}
	return n == 0, nil
}

// AddLatest are the commands that add a user to `users_by_time`, for a pipeline. They
// can be repeated.
func (d *Directory) AddLatest(ctx context.Context, name string, registered float64) (rueidis.Commands, error) {
	b := d.client.B()
	cmds := rueidis.Commands{b.Zadd().Key(layout.UsersByTime).Nx().ScoreMember().ScoreMember(registered, name).Build().ToRetryable()}
	spread, err := d.Spread(ctx)
	if spread {
		cmds = append(cmds, directoryTrimScript.Command(d.client, []string{layout.UsersByTime}, []string{layout.Itoa(MaxLatest)}))
	}
	return cmds, err
}

// ignoreType treats a key of another type as one that is missing.
func ignoreType(ok bool, err error) (bool, error) {
	if rediserr.IsWrongType(err) {
		return false, nil
	}
	return ok, err
}
