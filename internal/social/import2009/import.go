// Package import2009 copies a database of the case study of 2009 into an empty database.
//
// [Import.Run] reads the source in batches and writes nothing to it. Users and posts keep their
// IDs, so writes can be repeated, and an interrupted import is completed by running it again. Until
// an import is complete, storage.Restoring names its source, and no site is served on the target.
//
// Users come first, then their follows, then their posts: each step skips entries that refer to
// users that were not imported. The home timelines and the public timeline are not copied but built
// from the follows and the posts.
package import2009

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/app"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/reply"
	"retwis/internal/redis/scan"
	"retwis/internal/social/adopt"
	"retwis/internal/social/layout2009"
	"retwis/internal/social/load"
	"retwis/internal/social/storage"
)

var (
	// ErrNot2009 reports that the source is not a database of 2009.
	ErrNot2009 = errors.New("there is no site of 2009")
	// ErrNotEmpty reports that the target has keys other than those of an interrupted import of the
	// same source.
	ErrNotEmpty = errors.New("the database is not empty")
)

// Import is a database of 2009 to import, and its target. The caller remains the owner of Source
// and Target.
type Import struct {
	Source rueidis.Client
	Name   string // of the source, without secrets
	Target rueidis.Client
	App    *app.App     // on Target
	Log    *slog.Logger // warnings for the operator
	// Progress is called with the number of keys read so far, and the approximate total. May be
	// nil.
	Progress func(done, total int64)
}

// Result counts the imported entries. Skipped counts entries of the source that could not be
// imported; the reasons for the first hundred are logged.
type Result struct {
	Users   int64 `json:"users"`
	Follows int64 `json:"follows"`
	Posts   int64 `json:"posts"`
	Skipped int64 `json:"skipped"`
}

// Check returns ErrNot2009 if the source is not a database of 2009. It scans the keys if the
// counters are missing.
func Check(ctx context.Context, source rueidis.Client) error {
	exists, err := layout2009.Exists(ctx, source)
	if err == nil && !exists {
		exists, err = layout2009.HasUsers(ctx, source, scanCount)
	}
	if err == nil && !exists {
		err = ErrNot2009
	}
	return err
}

// Run imports the source into the target. It returns ErrNot2009 or ErrNotEmpty before writing
// anything.
func (i Import) Run(ctx context.Context) (Result, error) {
	if err := Check(ctx, i.Source); err != nil {
		return Result{}, err
	}
	if err := i.claim(ctx); err != nil {
		return Result{}, err
	}
	r := &run{Import: i, loader: load.New(i.App)}
	if r.Progress == nil {
		r.Progress = func(int64, int64) {}
	}
	err := r.all(ctx)
	if err != nil {
		err = fmt.Errorf("social: import: %w", err)
	}
	return r.result(), err
}

// markPrefix is the prefix of the source name in storage.Restoring while an import is unfinished.
const markPrefix = "import-2009 "

// Unfinished returns the name of the source of the unfinished import into a database, or empty if
// there is none. restoring is the value of storage.Restoring.
func Unfinished(restoring string) (source string) {
	source, _ = strings.CutPrefix(restoring, markPrefix)
	if source == restoring {
		return ""
	}
	return source
}

// claim marks an empty target. A target marked for the same source is accepted.
func (i Import) claim(ctx context.Context) error {
	b := i.Target.B()
	owner, err := reply.TextOrEmpty(i.Target.Do(ctx, b.Get().Key(storage.Restoring).Build()))
	switch {
	case err != nil || owner == markPrefix+i.Name:
		return err
	case Unfinished(owner) != "":
		return fmt.Errorf("%w: an import of %s is not finished", ErrNotEmpty, Unfinished(owner))
	case owner != "":
		return fmt.Errorf("%w: it contains part of a backup", ErrNotEmpty)
	}
	keys, err := size(ctx, i.Target)
	if err == nil && keys > 0 {
		err = fmt.Errorf("%w: it has %d keys", ErrNotEmpty, keys)
	}
	if err != nil {
		return err
	}
	err = i.Target.Do(ctx, b.Set().Key(storage.Restoring).Value(markPrefix+i.Name).Nx().Build()).Error()
	if rueidis.IsRedisNil(err) {
		err = fmt.Errorf("%w: another process has just begun to fill it", ErrNotEmpty)
	}
	return err
}

// size counts the keys of a database.
func size(ctx context.Context, client rueidis.Client) (keys int64, err error) {
	masters, err := nodes.Masters(ctx, client)
	if err != nil {
		return 0, err
	}
	for _, m := range masters {
		n, err := m.Client.Do(ctx, m.Client.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return 0, err
		}
		keys += n
	}
	return keys, nil
}

// run is an import in progress.
type run struct {
	Import
	loader      load.Loader
	done, total int64
	lastUser    int64 // the largest user ID in use
	lastPost    int64 // the largest post ID in use
	pending     pendingFollows
	unwritten   pendingPosts
	counts
}

const (
	// scanCount is how many keys one step of a scan requests.
	scanCount = 1000
	// batch is how many posts or members one step reads.
	batch = 200
	// scans is how many times all keys of the source are scanned.
	scans = 4
)

func (r *run) all(ctx context.Context) error {
	keys, err := size(ctx, r.Source)
	if err != nil {
		return err
	}
	r.total = scans * keys
	for _, step := range []struct {
		match string
		read  func(context.Context, []string) error
		end   func(context.Context) error
	}{
		{layout2009.UserPrefix + "*", r.firstUsers, nil},
		{layout2009.UserPrefix + "*", r.otherUsers, nil},
		{layout2009.UserPrefix + "*", r.follows, r.flushFollows},
		{storage.PostPrefix + "*", r.posts, r.flushPosts},
	} {
		for page, err := range scan.Keys(ctx, r.Source, scan.Pattern{Match: step.match, Count: scanCount}) {
			if err != nil {
				return err
			}
			if err := step.read(ctx, page.Keys); err != nil {
				return err
			}
			r.done += int64(page.Seen)
			r.Progress(min(r.done, r.total), r.total)
		}
		if step.end != nil {
			if err := step.end(ctx); err != nil {
				return err
			}
		}
	}
	r.Progress(r.total, r.total)
	return r.finish(ctx)
}

// finish sets the counters, and removes the mark.
func (r *run) finish(ctx context.Context) error {
	for _, c := range []struct {
		source, target string
		last           int64
	}{
		{layout2009.NextUserID, storage.NextUserID, r.lastUser},
		{layout2009.NextPostID, storage.NextPostID, r.lastPost},
	} {
		last, err := r.counter(ctx, c.source)
		if err != nil {
			return err
		}
		if err := adopt.Raise(ctx, r.Target, c.target, max(last, c.last)); err != nil {
			return err
		}
	}
	return r.Target.Do(ctx, r.Target.B().Del().Key(storage.Restoring).Build()).Error()
}

// maxDigits exceeds the length of any ID.
const maxDigits = 24

func (r *run) counter(ctx context.Context, key string) (int64, error) {
	value, err := reply.TextOrEmpty(r.Source.Do(ctx, r.Source.B().Getrange().Key(key).Start(0).End(maxDigits).Build()))
	if value == "" || err != nil {
		return 0, err
	}
	last, ok := storage.ParseID(value)
	if !ok && value != "0" {
		r.skip(ctx, key, "%q is not a counter", value)
	}
	return last, nil
}

// existing returns which of these users exist in the target. One round trip.
func (r *run) existing(ctx context.Context, ids []int64) (map[int64]bool, error) {
	exist := make(map[int64]bool, len(ids))
	var distinct []int64
	var cmds rueidis.Commands
	for _, id := range ids {
		if _, asked := exist[id]; !asked {
			exist[id] = false
			distinct = append(distinct, id)
			cmds = append(cmds, r.Target.B().Hexists().Key(storage.UserKey(id)).Field("username").Build())
		}
	}
	if len(distinct) == 0 {
		return exist, nil
	}
	for i, res := range r.Target.DoMulti(ctx, cmds...) {
		exists, err := reply.OrEmpty(res.AsBool())
		if err != nil {
			return nil, err
		}
		exist[distinct[i]] = exists
	}
	return exist, nil
}
