package users

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
	"retwis/internal/social/layout"
	"retwis/internal/social/task"
)

const (
	// copyCount is how many names or users one step of a conversion reads.
	copyCount = 500
	// replicasTimeout bounds the wait for replicas.
	replicasTimeout = time.Minute
)

var (
	// ErrNotHere: a single server keeps the layout of the tutorial.
	ErrNotHere = errors.New("only a Cluster has layout " + layout.ClusterVersion)
	// ErrNoSite: the database has not been adopted yet.
	ErrNoSite = errors.New("the database holds no site yet")
)

// DirectoryState is which layout a database has.
type DirectoryState struct {
	Version string `json:"layout"` // empty: there are no users yet
	Latest  string `json:"latest"` // what Move leads to
	// Left is what an interrupted Move, or processes of an earlier version, have left to
	// do although the layout is the latest.
	Left bool `json:"left"`
}

// Done reports whether there is nothing to do for Move.
func (s DirectoryState) Done() bool { return s.Version == s.Latest && !s.Left }

// State returns which layout the database has. Two round trips.
func (d *Directory) State(ctx context.Context) (DirectoryState, error) {
	s := DirectoryState{Latest: layout.Version}
	b := d.client.B()
	var err error
	s.Version, err = reply.Text(d.client.Do(ctx, b.Get().Key(layout.LayoutVersion).Build()))
	if err != nil || !d.cluster {
		return s, err
	}
	s.Latest = layout.ClusterVersion
	res := d.client.DoMulti(ctx, b.Type().Key(layout.Users).Build(), b.Exists().Key(layout.MovedUsers).Build(), b.Zcard().Key(layout.UsersByTime).Build())
	kind, err := res[0].ToString()
	if err != nil {
		return s, err
	}
	moved, err := res[1].AsBool()
	if err != nil {
		return s, err
	}
	latest, err := res[2].AsInt64()
	if err != nil && !rediserr.IsWrongType(err) {
		return s, err
	}
	s.Left = moved || s.Version == s.Latest && (kind == "hash" || latest > MaxLatest)
	return s, nil
}

// Move gives a Cluster its layout while the site is in use: layout.ClusterVersion. It
// calls progress with the names so far and in total, about. It can be interrupted at any
// moment and repeated; several processes can do it at the same time. It returns ErrNoSite
// for a database without users, and task.ErrBehind where replicas do not follow; then
// it has to be repeated.
//
//  1. It copies the names from `users` to the buckets, while processes write to both.
//  2. It renames `users`, and puts a string in its place. From now on a process of an
//     earlier version fails where it looks up or claims a name that it does not
//     remember.
//  3. It copies what these have written meanwhile, and waits for replicas.
//  4. It writes the new layout, trims `users_by_time`, and removes the renamed key.
func (d *Directory) Move(ctx context.Context, progress func(done, total int64)) error {
	if !d.cluster {
		return ErrNotHere
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	if err := d.move(ctx, progress); err != nil {
		return fmt.Errorf("social: change the layout: %w", err)
	}
	return nil
}

func (d *Directory) move(ctx context.Context, progress func(done, total int64)) error {
	state, err := d.State(ctx)
	if err != nil || state.Done() {
		return err
	}
	if state.Version != layout.Version && state.Version != layout.ClusterVersion {
		return ErrNoSite
	}
	m := mover{d: d, progress: progress}
	for closed := false; !closed; {
		for _, key := range []string{layout.MovedUsers, layout.Users} {
			if err := m.copy(ctx, key); err != nil {
				return err
			}
		}
		closed, err = directoryCloseScript.Run(ctx, d.client, []string{layout.Users, layout.MovedUsers}, []string{layout.UsersMoved}).AsBool()
		if err != nil {
			return err
		}
		if err := m.finish(ctx); err != nil {
			return err
		}
	}
	return d.Trim(ctx)
}

// mover copies names to the buckets.
type mover struct {
	d           *Directory
	progress    func(done, total int64)
	done, total int64
}

// finish copies the names that cannot change any more, writes the layout and removes
// them.
func (m *mover) finish(ctx context.Context) error {
	d, b := m.d, m.d.client.B()
	err := task.NewObserver(d.client).Replicated(ctx, replicasTimeout, func(ctx context.Context) error {
		return m.copy(ctx, layout.MovedUsers)
	})
	if err != nil {
		return err
	}
	if err := d.Trim(ctx); err != nil {
		return err
	}
	if err := d.client.Do(ctx, b.Set().Key(layout.LayoutVersion).Value(layout.ClusterVersion).Build()).Error(); err != nil {
		return err
	}
	return d.client.Do(ctx, b.Unlink().Key(layout.MovedUsers).Build()).Error()
}

// copy copies the names of a hash to the buckets.
func (m *mover) copy(ctx context.Context, from string) error {
	n, err := m.d.client.Do(ctx, m.d.client.B().Hlen().Key(from).Build()).AsInt64()
	if rediserr.IsWrongType(err) {
		return nil
	}
	if err != nil {
		return err
	}
	m.total += n
	for page, err := range scan.Hash(ctx, m.d.client, from, copyCount) {
		if rediserr.IsWrongType(err) {
			return nil // it was closed meanwhile
		}
		if err != nil {
			return err
		}
		if err := m.d.put(ctx, page, bucketKey); err != nil {
			return err
		}
		m.done += int64(len(page) / 2)
		m.progress(min(m.done, m.total), m.total)
	}
	return nil
}

// put writes names, which alternate with their ids, to the keys where they belong.
func (d *Directory) put(ctx context.Context, page []string, key func(name string) string) error {
	args := map[string][]string{}
	var order []string
	for i := 0; i+1 < len(page); i += 2 {
		to := key(page[i])
		if args[to] == nil {
			order = append(order, to)
		}
		args[to] = append(args[to], page[i], page[i+1])
	}
	calls := make([]script.Call, len(order))
	for i, to := range order {
		calls[i] = script.Call{Keys: []string{to}, Args: args[to]}
	}
	if len(calls) == 0 {
		return nil
	}
	return reply.FirstError(directoryCopyScript.RunMany(ctx, d.client, calls))
}

// Trim removes all but the latest users from `users_by_time`, in short steps. It does
// nothing on a single server.
func (d *Directory) Trim(ctx context.Context) error {
	for d.cluster {
		n, err := directoryTrimScript.Run(ctx, d.client, []string{layout.UsersByTime}, []string{layout.Itoa(MaxLatest)}).AsInt64()
		if rediserr.IsWrongType(err) || err == nil && n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Gather gives a single server the layout of the tutorial: layout.Version. It has loaded
// the keys of a Cluster. It calls progress with the keys so far and in total, about. It
// can be interrupted at any moment and repeated, and returns at once where there is
// nothing to do.
//
// The names of the buckets go to `users`, the sessions of all users to `auths`, and all
// users to `users_by_time`. Nothing is removed before it is there.
func (d *Directory) Gather(ctx context.Context, progress func(done, total int64)) error {
	if d.cluster {
		return nil
	}
	state, err := d.State(ctx)
	if err != nil || state.Version != layout.ClusterVersion {
		return err
	}
	if err := d.gather(ctx, progress); err != nil {
		return fmt.Errorf("social: change the layout: %w", err)
	}
	return nil
}

func (d *Directory) gather(ctx context.Context, progress func(done, total int64)) error {
	b := d.client.B()
	if err := directoryReopenScript.Run(ctx, d.client, []string{layout.Users}, []string{layout.UsersMoved}).Error(); err != nil {
		return err
	}
	users := func(string) string { return layout.Users }
	var err error
	d.allBuckets(ctx, copyCount, func(page DirectoryPage, wrong error) bool {
		if err = wrong; err == nil {
			err = d.put(ctx, page.Names, users)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	for page, err := range scan.Hash(ctx, d.client, layout.MovedUsers, copyCount) {
		if err == nil {
			err = d.put(ctx, page, users)
		}
		if err != nil {
			return err
		}
	}
	total, err := d.client.Do(ctx, b.Dbsize().Build()).AsInt64()
	if err != nil {
		return err
	}
	done := int64(0)
	for page, err := range scan.Keys(ctx, d.client, scan.Pattern{Match: layout.UserPrefix + "*", Count: copyCount}) {
		if err == nil {
			err = d.gatherUsers(ctx, page.Keys)
		}
		if err != nil {
			return err
		}
		done += int64(page.Seen)
		progress(min(done, total), total)
	}
	for i := 0; i < layout.Buckets; i += bucketsAtOnce {
		keys := []string{layout.MovedUsers}
		for j := range bucketsAtOnce {
			keys = append(keys, layout.BucketKey(i+j))
		}
		if err := d.client.Do(ctx, b.Unlink().Key(keys...).Build()).Error(); err != nil {
			return err
		}
	}
	return d.client.Do(ctx, b.Set().Key(layout.LayoutVersion).Value(layout.Version).Build()).Error()
}

// gatherUsers adds users to `users_by_time`, and their sessions to `auths`.
func (d *Directory) gatherUsers(ctx context.Context, keys []string) error {
	b := d.client.B()
	var ids []int64
	var reads, writes rueidis.Commands
	for _, key := range keys {
		if prefix, uid, ok := layout.ParseKey(key); ok && prefix == layout.UserPrefix {
			ids = append(ids, uid)
			reads = append(reads, b.Hmget().Key(key).Field("username", "joined", "auth", "standing").Build())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	for i, res := range d.client.DoMulti(ctx, reads...) {
		fields, err := reply.Fields(res)
		if err != nil {
			return err
		}
		if fields[0] == "" || fields[3] == layout.Closed {
			continue
		}
		registered := float64(0)
		if at := layout.ParseTime(fields[1]); !at.IsZero() {
			registered = float64(at.Unix())
		}
		writes = append(writes, b.Zadd().Key(layout.UsersByTime).Nx().ScoreMember().ScoreMember(registered, fields[0]).Build())
		for _, token := range sessions(fields[2]) {
			writes = append(writes, b.Hset().Key(layout.Auths).FieldValue().FieldValue(token, layout.Itoa(ids[i])).Build())
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return reply.FirstError(d.client.DoMulti(ctx, writes...))
}

// sessions are the tokens in the field `auth` of a user, without secrets that the
// original program stored in clear.
func sessions(auth string) []string {
	return slices.DeleteFunc(strings.Split(auth, ","), func(token string) bool { return len(token) != tokenLength })
}

// tokenLength is the length of a SHA-256 in hex.
const tokenLength = 64
