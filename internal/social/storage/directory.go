package storage

import (
	"context"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
)

// MaxLatest is the number of users that `users_by_time` holds on a Cluster.
const MaxLatest = 10_000

// Directory finds users by name, and lists the latest users. It is safe for concurrent use.
//
// On a single server, as in the tutorial, the hash `users` maps a name to a user ID, and the sorted
// set `users_by_time` holds all users by time of registration. On a Cluster each key is on one
// server, where these two would grow to gigabytes. So names are spread over the hashes `users:0` …
// `users:4095` ([Bucket]), and `users_by_time` keeps only the latest [MaxLatest] users.
//
// [Directory.Rearrange] converts between the layouts, after the keys of one kind of server were
// loaded into the other kind.
type Directory struct {
	client  rueidis.Client
	cluster bool
}

// NewDirectory returns the directory of the database of client.
func NewDirectory(client rueidis.Client) *Directory {
	return &Directory{client: client, cluster: client.Mode() == rueidis.ClientModeCluster}
}

// Bucket returns the number of the bucket for a name: the CRC-32 (IEEE) of the name in lower case,
// modulo the number of buckets.
func Bucket(name string) int {
	return int(crc32.ChecksumIEEE([]byte(Fold(name))) % Buckets)
}

// key returns the hash that holds a name.
func (d *Directory) key(name string) string {
	if d.cluster {
		return BucketKey(Bucket(name))
	}
	return UserNames
}

// version returns the layout version for this kind of server.
func (d *Directory) version() string {
	if d.cluster {
		return ClusterVersion
	}
	return Version
}

// Owner holds the user IDs to which a name maps. They are empty if there are none. The ID Nobody
// means that the account was deleted.
type Owner struct {
	Typed  string // for the name as given
	Folded string // for the name in lower case
}

// First returns the user ID to which the name maps, or an empty string if there is none. The name
// as typed takes precedence, because in the original program names that differ in case belonged to
// different users.
func (o Owner) First() string {
	if o.Typed != "" {
		return o.Typed
	}
	return o.Folded
}

// Owners returns the owner of each name. One round trip.
func (d *Directory) Owners(ctx context.Context, names ...string) ([]Owner, error) {
	cmds := make(rueidis.Commands, len(names))
	for i, name := range names {
		cmds[i] = d.client.B().Hmget().Key(d.key(name)).Field(name, Fold(name)).Build()
	}
	owners := make([]Owner, len(names))
	for i, res := range d.client.DoMulti(ctx, cmds...) {
		ids, err := reply.Fields(res)
		if resErr := res.Error(); !d.cluster && rediserr.IsWrongType(resErr) { // on a Cluster only one bucket is affected; a check reports the bucket
			err = resErr
		}
		if err != nil {
			return owners, fmt.Errorf("social: look up a username: %w", err)
		}
		owners[i] = Owner{Typed: ids[0], Folded: ids[1]}
	}
	return owners, nil
}

// Claim assigns a name to a user if it is free, and returns the ID of its owner. It can be
// repeated. One round trip.
func (d *Directory) Claim(ctx context.Context, name string, uid int64) (int64, error) {
	return d.claim(ctx, name, Fold(name), uid)
}

// claim claims a name under the given spelling. The first name of a database sets the layout
// version.
func (d *Directory) claim(ctx context.Context, name, spelled string, uid int64) (int64, error) {
	b, key := d.client.B(), d.key(name)
	res := d.client.DoMulti(ctx,
		b.Set().Key(LayoutVersion).Value(d.version()).Nx().Build().ToRetryable(),
		b.Hsetnx().Key(key).Field(spelled).Value(Itoa(uid)).Build().ToRetryable(),
		b.Hget().Key(key).Field(spelled).Build(),
	)
	if err := res[0].Error(); err != nil && !rueidis.IsRedisNil(err) {
		return 0, err
	}
	if err := res[1].Error(); err != nil {
		return 0, err
	}
	return res[2].AsInt64()
}

// Keep assigns the name of a user of an older program to that user: as spelled, and also in lower
// case if the name in lower case is free. It returns the ID of the owner of the name as spelled. It
// can be repeated. One or two round trips.
func (d *Directory) Keep(ctx context.Context, name string, uid int64) (int64, error) {
	owner, err := d.claim(ctx, name, name, uid)
	if err == nil && owner == uid && name != Fold(name) {
		_, err = d.claim(ctx, name, Fold(name), uid)
	}
	return owner, err
}

// ParseOwner parses the ID to which a name maps. It returns 0 for Nobody.
func ParseOwner(name, id string) (int64, error) {
	if id == Nobody {
		return 0, nil
	}
	uid, ok := ParseID(id)
	if !ok {
		return 0, fmt.Errorf("social: key %s: field %q: %.40q is not a user id", UserNames, name, id)
	}
	return uid, nil
}

// Reserve maps the name of a deleted account to Nobody, so that the name never becomes free again.
// Repeating the call changes nothing. One round trip.
func (d *Directory) Reserve(ctx context.Context, name string, uid int64) error {
	err := directoryReserveScript.RunFenced(ctx, d.client, []string{d.key(name)}, []string{Itoa(uid), Fold(name), name}).Error()
	if err != nil {
		return fmt.Errorf("social: reserve a username: %w", err)
	}
	return nil
}

// Free removes a name from one of the keys that [Directory.All] yields, if the name maps to the
// given ID there, and reports whether it did.
func (d *Directory) Free(ctx context.Context, key, name, id string) (bool, error) {
	return DeleteFieldIf(ctx, d.client, key, name, id)
}

// DirectoryPage is a page of All. Names has names of one key, alternating with their user IDs.
type DirectoryPage struct {
	Key   string
	Names []string
}

// bucketsAtOnce is the number of buckets that All reads at a time.
const bucketsAtOnce = 256

// All yields all names in pages of about count names. On a Cluster it reads up to bucketsAtOnce
// times as many names at a time. A name may appear twice.
func (d *Directory) All(ctx context.Context, count int) iter.Seq2[DirectoryPage, error] {
	return func(yield func(DirectoryPage, error) bool) {
		if d.cluster {
			d.allBuckets(ctx, count, yield)
			return
		}
		for page, err := range scan.Hash(ctx, d.client, UserNames, count) {
			if !yield(DirectoryPage{UserNames, page}, err) || err != nil {
				return
			}
		}
	}
}

// allBuckets yields the names in the buckets. One round trip reads several buckets, unless they are
// large.
func (d *Directory) allBuckets(ctx context.Context, count int, yield func(DirectoryPage, error) bool) {
	for from := 0; from < Buckets; from += bucketsAtOnce {
		cmds := make(rueidis.Commands, bucketsAtOnce)
		for i := range cmds {
			cmds[i] = d.client.B().Hscan().Key(BucketKey(from + i)).Cursor(0).Count(int64(count)).Build()
		}
		for i, res := range d.client.DoMulti(ctx, cmds...) {
			key := BucketKey(from + i)
			bucket, err := reply.OrEmpty(res.AsScanEntry())
			switch {
			case err != nil:
				yield(DirectoryPage{}, err)
				return
			case bucket.Cursor == 0:
				if len(bucket.Elements) > 0 && !yield(DirectoryPage{key, bucket.Elements}, nil) {
					return
				}
			default: // a large bucket
				for page, err := range scan.Hash(ctx, d.client, key, count) {
					if !yield(DirectoryPage{key, page}, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// Empty reports whether nobody has tried to register yet. One round trip.
func (d *Directory) Empty(ctx context.Context) (bool, error) {
	// The first registration creates the counter of user IDs.
	exists, err := d.client.Do(ctx, d.client.B().Exists().Key(NextUserID).Build()).AsBool()
	if err != nil {
		return false, fmt.Errorf("social: look for users: %w", err)
	}
	return !exists, nil
}

// AddLatest returns the commands that add a user to `users_by_time`, for a pipeline. The commands
// can be repeated.
func (d *Directory) AddLatest(name string, registered float64) rueidis.Commands {
	cmds := rueidis.Commands{d.client.B().Zadd().Key(UsersByTime).Nx().ScoreMember().ScoreMember(registered, name).Build().ToRetryable()}
	if d.cluster {
		cmds = append(cmds, directoryTrimScript.Command(d.client, []string{UsersByTime}, []string{Itoa(MaxLatest)}))
	}
	return cmds
}
