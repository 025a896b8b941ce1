package backup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/rueidis"

	"retwis/bulk"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/script"
	"retwis/internal/redis/store"
	"retwis/internal/sleep"
	"retwis/internal/social/storage"
	"retwis/internal/social/work"
)

var (
	// ErrNotEmpty reports that the target database has keys.
	ErrNotEmpty = errors.New("the database is not empty")
	// ErrOther reports that a restore of another backup was interrupted.
	ErrOther = errors.New("a restore of another backup into this database was interrupted")
	// ErrInUse reports that a site serves the database.
	ErrInUse = errors.New("a site is using the database")
)

// RestoreOptions configure Restore.
type RestoreOptions struct {
	// Replace first deletes every key of the database.
	Replace bool
	// Begun, if set, is called when the database is empty and marked, before any key is loaded. If
	// it returns an error, the restore ends as if it had been interrupted.
	Begun func() error
	// Progress, if set, is called with the number of keys so far.
	Progress func(keys int64)
}

// Restored counts what Restore has loaded.
type Restored struct {
	Manifest
	Keys    int64   `json:"keys"`    // all keys of the database
	Expired int64   `json:"expired"` // keys not loaded because they had expired
	Seconds float64 `json:"seconds"`
}

// Restore loads a backup into a database. It returns ErrNotEmpty if the database has keys, unless
// Replace is set. During a restore, the key `restoring` holds the ID of the backup, and no site
// serves the database. After an interruption, another call with the same backup starts over. If the
// interruption came while keys were deleted for Replace, that call deletes the remaining keys.
//
// Keys keep their expiry times. After restoring a backup that is not AtOneMoment, keys may be
// inconsistent with each other.
func Restore(ctx context.Context, to Source, r io.Reader, opt RestoreOptions) (Restored, error) {
	b, err := Open(r)
	if err != nil {
		return Restored{}, err
	}
	defer b.Close()
	result := Restored{Manifest: b.Manifest}
	if err := claim(ctx, to.Client, b.Manifest.ID, opt.Replace); err != nil {
		return result, fmt.Errorf("backup: %w", err)
	}
	if opt.Begun != nil {
		if err := opt.Begun(); err != nil {
			return result, err
		}
	}
	load := bulk.Options{Database: &b.Manifest.Database, FailFast: true}
	if opt.Progress != nil {
		load.OnProgress = func(r bulk.Report) { opt.Progress(r.Records) }
	}
	report, err := bulk.Load(ctx, to.Options, load, b.Files()...)
	result.Keys, result.Expired, result.Seconds = report.Records, report.Skipped, report.Seconds
	if report.Errors > 0 && len(report.Failures) > 0 {
		return result, fmt.Errorf("backup: the server refuses a key: %w", &refusedError{report.Failures[0]})
	}
	if err = b.explain(err); err != nil {
		return result, err
	}
	if err := b.Finish(); err != nil {
		return result, err
	}
	// The search index may be from a different moment than the posts, so the site rebuilds it. The
	// processes are those of the backed-up site.
	for _, key := range []string{storage.SearchIndex, storage.Processes, storage.Restoring} {
		if err := to.Client.Do(ctx, to.Client.B().Del().Key(key).Build()).Error(); err != nil {
			return result, fmt.Errorf("backup: %w", err)
		}
	}
	return result, nil
}

// refusedError is a command that the server has answered with an error.
type refusedError struct{ failure bulk.Failure }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s: %.100s", e.failure.Error, e.failure.Text)
}

// claim ensures that the database has no keys but those of this backup, and marks the database.
func claim(ctx context.Context, client rueidis.Client, id string, replace bool) error {
	b := client.B()
	owner, err := reply.TextOrEmpty(client.Do(ctx, b.Get().Key(storage.Restoring).Build()))
	if err != nil {
		return err
	}
	if owner == id && !replace {
		return nil // interrupted; each key of the backup replaces an existing key
	}
	begun := owner == emptying+id // by an interrupted call with replace
	masters, err := nodes.Masters(ctx, client)
	if err != nil {
		return err
	}
	keys := int64(0)
	for _, m := range masters {
		n, err := m.Client.Do(ctx, m.Client.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return err
		}
		keys += n
	}
	if keys > 0 {
		if err := mayEmpty(ctx, client, keys, owner, replace || begun); err != nil {
			return err
		}
		if err := empty(ctx, client, masters, id); err != nil {
			return err
		}
	}
	return client.Do(ctx, b.Set().Key(storage.Restoring).Value(id).Build()).Error()
}

// mayEmpty returns nil if every key may be deleted: the deletion was requested, and no site uses
// the database.
func mayEmpty(ctx context.Context, client rueidis.Client, keys int64, owner string, replace bool) error {
	switch {
	case !replace && owner != "":
		return ErrOther
	case !replace:
		return fmt.Errorf("%w: it has %d keys", ErrNotEmpty, keys)
	case owner != "":
		return nil
	}
	served, err := work.Served(ctx, client)
	if err == nil && served {
		err = ErrInUse
	}
	return err
}

// emptying is prepended to the ID of a backup in storage.Restoring while the keys that it replaces
// are deleted. The remaining keys must not be mixed with those of the backup.
const emptying = "emptying "

//go:embed mark.lua
var markSource string

var markScript = script.New(markSource).Retryable()

// empty deletes every key, one master after the other. The mark is deleted with the last keys, so
// the remaining keys stay marked after an interruption.
func empty(ctx context.Context, client rueidis.Client, masters []nodes.Master, id string) error {
	if err := markScript.Run(ctx, client, []string{storage.Restoring}, []string{emptying + id}).Error(); err != nil {
		return err
	}
	var last []nodes.Master // the master with the mark; the others redirect
	for _, m := range masters {
		has, err := m.Client.Do(ctx, m.Client.B().Exists().Key(storage.Restoring).Build()).AsBool()
		if refused, ok := rueidis.IsRedisErr(err); ok {
			if _, elsewhere := refused.IsMoved(); elsewhere {
				err = nil
			}
		}
		if err != nil {
			return err
		}
		if has {
			last = append(last, m)
			continue
		}
		if err := flush(ctx, m.Client); err != nil {
			return err
		}
	}
	for _, m := range last {
		if err := flush(ctx, m.Client); err != nil {
			return err
		}
	}
	return nil
}

// flush deletes the keys of a master. The server frees them in the background, because many keys
// take long. flush waits, because until they are freed, the server could refuse new keys for lack
// of memory.
func flush(ctx context.Context, master rueidis.Client) error {
	if err := master.Do(ctx, master.B().Flushdb().Async().Build()).Error(); err != nil {
		return err
	}
	for {
		info, err := master.Do(ctx, master.B().Info().Section("memory").Build()).ToString()
		var refused *rueidis.RedisError
		switch {
		case errors.As(err, &refused): // not every site has this permission
			return nil
		case err != nil:
			return err
		case store.InfoNumber(info, "lazyfree_pending_objects") <= 0:
			return nil
		case !sleep.For(ctx, flushPause):
			return ctx.Err()
		}
	}
}

// flushPause is the pause between two checks of how many keys a server still has to free.
const flushPause = 50 * time.Millisecond
