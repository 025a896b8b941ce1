package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/reads"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/redis/script"
)

// copyCount is the number of names or users that one step of Rearrange reads.
const copyCount = 500

// Rearrange moves the names to the keys of this kind of server, after the keys of the other kind
// were loaded: on a Cluster from `users` to the buckets; on a single server from the buckets to
// `users`, and all users to `users_by_time`. Then it writes the layout version. It calls progress
// with the approximate number of keys done and in total.
//
// Rearrange is for a database that no process serves yet. It can be interrupted at any time and
// repeated, even by several processes at once: a name is removed only after it was copied, and a
// name that already has an owner at its destination keeps that owner.
func (d *Directory) Rearrange(ctx context.Context, progress func(done, total int64)) error {
	run := d.gather
	if d.cluster {
		run = d.spread
	}
	err := run(ctx, progress)
	if err == nil {
		err = d.client.Do(ctx, d.client.B().Set().Key(LayoutVersion).Value(d.version()).Build()).Error()
	}
	if err != nil {
		return fmt.Errorf("social: move the names: %w", err)
	}
	return nil
}

// spread moves the names from `users` to the buckets.
func (d *Directory) spread(ctx context.Context, progress func(done, total int64)) error {
	total, err := d.client.Do(ctx, d.client.B().Hlen().Key(UserNames).Build()).AsInt64()
	if err != nil {
		return err
	}
	done := int64(0)
	for page, err := range scan.Hash(ctx, d.client, UserNames, copyCount) {
		if err == nil {
			err = d.put(ctx, page)
		}
		if err != nil {
			return err
		}
		done += int64(len(page) / 2)
		progress(min(done, total), total)
	}
	if err := d.Trim(ctx); err != nil {
		return err
	}
	return d.client.Do(ctx, d.client.B().Unlink().Key(UserNames).Build()).Error()
}

// put writes names, alternating with their IDs, to the keys where they belong.
func (d *Directory) put(ctx context.Context, page []string) error {
	args := map[string][]string{}
	for i := 0; i+1 < len(page); i += 2 {
		key := d.key(page[i])
		args[key] = append(args[key], page[i], page[i+1])
	}
	var calls []script.Call
	for key, names := range args {
		calls = append(calls, script.Call{Keys: []string{key}, Args: names})
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
		n, err := reply.OrEmpty(directoryTrimScript.Run(ctx, d.client, []string{UsersByTime}, []string{Itoa(MaxLatest)}).AsInt64())
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// gather moves the names from the buckets to `users`, and adds all users to `users_by_time`.
func (d *Directory) gather(ctx context.Context, progress func(done, total int64)) error {
	b := d.client.B()
	var err error
	d.allBuckets(ctx, copyCount, func(page DirectoryPage, pageErr error) bool {
		if err = pageErr; err == nil {
			err = d.put(ctx, page.Names)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	total, err := d.client.Do(ctx, b.Dbsize().Build()).AsInt64()
	if err != nil {
		return err
	}
	done := int64(0)
	for page, err := range scan.Keys(ctx, d.client, scan.Pattern{Match: UserPrefix + "*", Count: copyCount}) {
		if err == nil {
			err = d.gatherUsers(ctx, page.Keys)
		}
		if err != nil {
			return err
		}
		done += int64(page.Seen)
		progress(min(done, total), total)
	}
	for i := 0; i < Buckets; i += bucketsAtOnce {
		var keys []string
		for j := range bucketsAtOnce {
			keys = append(keys, BucketKey(i+j))
		}
		if err := d.client.Do(ctx, b.Unlink().Key(keys...).Build()).Error(); err != nil {
			return err
		}
	}
	return nil
}

// gatherUsers adds users to `users_by_time`.
func (d *Directory) gatherUsers(ctx context.Context, keys []string) error {
	keys = slices.DeleteFunc(keys, func(key string) bool {
		prefix, _, ok := ParseKey(key)
		return !ok || prefix != UserPrefix
	})
	all, err := reads.Fields(ctx, d.client, keys, func(key string) string { return key }, "username", "joined", "standing")
	if err != nil {
		return err
	}
	var writes rueidis.Commands
	for _, fields := range all {
		if fields[0] == "" || fields[2] == Closed {
			continue
		}
		registered := float64(0)
		if joined := ParseTime(fields[1]); !joined.IsZero() {
			registered = float64(joined.Unix())
		}
		writes = append(writes, d.client.B().Zadd().Key(UsersByTime).Nx().ScoreMember().ScoreMember(registered, fields[0]).Build())
	}
	return reply.FirstError(d.client.DoMulti(ctx, writes...))
}
