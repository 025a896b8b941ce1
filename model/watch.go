package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"retwis/model/internal/backoff"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"

	"github.com/redis/rueidis"
)

// Op is what was done to a record.
type Op string

// What Watch tells of.
const (
	Created     Op = "create"
	Saved       Op = "save"   // by Save, Update or Patch
	Deleted     Op = "delete" // by Delete
	Expired     Op = "expire" // and was found to have: see Sweep
	Counted     Op = "incr"   // a counter, which Field names
	SetChanged  Op = "set"    // a Set, which Field names
	ListChanged Op = "list"   // a List, which Field names
)

func ops() []Op { return []Op{Created, Saved, Deleted, Expired, Counted, SetChanged, ListChanged} }

// Change is one change of one record. It does not hold the record, which may have
// changed again: Get has it as it is.
type Change struct {
	Op    Op
	ID    string
	Field string // the counter, Set or List that was changed

	before []string // how far each partition was read before those that came together with this one
	part   int      // the partition that told it
	at     string   // its place there
}

// Cursor says where to go on behind this change: keep it, and give it to Watch.
func (c Change) Cursor() string {
	all := slices.Clone(c.before)
	if c.part < len(all) {
		all[c.part] = c.at
	}
	return strings.Join(all, ",")
}

// Watch yields changes as they happen, written by whatever process: those behind a
// cursor, or without one those from when it is ranged over. Each comes once, those
// of one record in the order in which they were made. The scripts that write tell
// a stream of them; all Stores of a model must have the same Options.ChangeLog, and
// without it Watch is ErrNoChanges.
//
// It waits until the context is done, whose error it yields, and goes on by itself
// when a server that was away is back. About Options.ChangeLog changes are kept. What
// was dropped before it was read is ErrGap, which ends it, and so does a server
// that came back without its last changes: then LastChange and All begin anew.
//
// It holds one connection for each partition. A change takes one round trip from
// the server to here and one for all that happened meanwhile, 500 at most.
func (s *Store[T]) Watch(ctx context.Context, after string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := (&feed{s.t}).watch(ctx, after, yield); err != nil {
			yield(Change{}, wrap(s.t, err))
		}
	}
}

// LastChange returns the cursor of the last change so far. To know all records and
// what becomes of them, take it first, then read them all, and then watch from it.
// One script for each partition.
func (s *Store[T]) LastChange(ctx context.Context) (string, error) {
	all, err := (&feed{s.t}).lastChanges(ctx)
	return strings.Join(all, ","), wrap(s.t, err)
}

// feed reads the streams of changes of a model.
type feed struct{ t *record.Table }

// watch returns nil where the caller has left.
func (f *feed) watch(ctx context.Context, after string, yield func(Change, error) bool) error {
	before, err := f.positions(ctx, after)
	if err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	told := make(chan changes)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for i, at := range before {
		work.Go(func() { f.follow(following, i, at, told) })
	}
	for {
		var some changes
		select {
		case <-ctx.Done():
			return ctx.Err()
		case some = <-told:
		}
		if some.err != nil {
			return some.err
		}
		for _, e := range some.entries {
			c := Change{Op: Op(e.FieldValues["op"]), ID: e.FieldValues["id"], Field: e.FieldValues["field"], before: before, part: some.part, at: e.ID}
			if slices.Contains(ops(), c.Op) && !yield(c, nil) {
				return nil
			}
		}
		before = slices.Clone(before)
		before[some.part] = some.entries[len(some.entries)-1].ID
	}
}

// changes are some changes of a partition, or why there will be no more.
type changes struct {
	part    int
	entries []rueidis.XRangeEntry
	err     error
}

// positions reads a cursor: how far each partition was read.
func (f *feed) positions(ctx context.Context, cursor string) ([]string, error) {
	if cursor == "" {
		return f.lastChanges(ctx)
	}
	if f.t.Options.ChangeLog == 0 {
		return nil, errNoChanges()
	}
	all := strings.Split(cursor, ",")
	if len(all) != len(f.t.Parts) || slices.ContainsFunc(all, func(at string) bool { return !isPosition(at) }) {
		return nil, fmt.Errorf("%w: %q is not one of Watch on %s", ErrCursor, schema.Shorten(cursor), f.t.Options.Name)
	}
	return all, nil
}

// isPosition tells whether a text is the id of an entry of a stream, as the server
// writes it.
func isPosition(at string) bool {
	ms, number, _ := strings.Cut(at, "-")
	for _, s := range []string{ms, number} {
		if n, err := strconv.ParseUint(s, 10, 64); err != nil || strconv.FormatUint(n, 10) != s {
			return false
		}
	}
	return true
}

// lastChanges returns the last change of each partition. Where there is none yet
// one is made that tells nothing: a position is always that of a change, so that it
// shows when it was dropped, and perhaps others behind it.
func (f *feed) lastChanges(ctx context.Context) ([]string, error) {
	if f.t.Options.ChangeLog == 0 {
		return nil, errNoChanges()
	}
	all := make([]string, len(f.t.Parts))
	for i := range f.t.Parts {
		var err error
		key := f.t.Parts[i].Changes
		if all[i], err = markScript.Run(ctx, f.t.Client, []string{key}, []string{strconv.Itoa(f.t.Options.ChangeLog)}).ToString(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func errNoChanges() error {
	return fmt.Errorf("%w: set Options.ChangeLog to how many of them to keep", ErrNoChanges)
}

const (
	watchMany  = 500             // changes that are read at once
	watchBlock = 5 * time.Second // how long the server is asked to wait for one
)

// follow tells the changes of a partition that are behind a position, until the
// context ends or it has told an error.
func (f *feed) follow(ctx context.Context, part int, at string, told chan<- changes) {
	tell := func(c changes) bool {
		c.part = part
		select {
		case told <- c:
			return c.err == nil
		case <-ctx.Done():
			return false
		}
	}
	for attempt := 0; ; attempt++ {
		entries, err := f.changesFrom(ctx, part, at)
		if len(entries) > 0 {
			attempt = 0
			at = entries[len(entries)-1].ID
			if !tell(changes{entries: entries}) {
				return
			}
			continue
		}
		if err == nil {
			err = f.awaitChange(ctx, part, at)
		}
		if err == nil {
			attempt = 0
		} else if !passes(err) || backoff.Pause(ctx, attempt) != nil {
			tell(changes{err: err})
			return
		}
	}
}

// changesFrom reads what is behind a position. The position itself is read too: if
// it is there, nothing behind it was dropped.
func (f *feed) changesFrom(ctx context.Context, part int, at string) ([]rueidis.XRangeEntry, error) {
	command := f.t.Client.B().Xrange().Key(f.t.Parts[part].Changes).Start(at).End("+").Count(watchMany + 1).Build()
	entries, err := f.t.Client.Do(ctx, command).AsXRange()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, err
	}
	if len(entries) == 0 || entries[0].ID != at {
		return nil, fmt.Errorf("%w: those behind %s: begin anew with LastChange and All, and keep more with Options.ChangeLog", ErrGap, at)
	}
	return entries[1:], nil
}

// awaitChange waits until there is something behind a position, or a few seconds.
func (f *feed) awaitChange(ctx context.Context, part int, at string) error {
	// A server that is gone without a word is not waited for longer.
	ctx, cancel := context.WithTimeout(ctx, 2*watchBlock)
	defer cancel()
	command := f.t.Client.B().Xread().Count(1).Block(watchBlock.Milliseconds()).Streams().Key(f.t.Parts[part].Changes).Id(at).Build()
	err := f.t.Client.Do(ctx, command.UnblockOnCancel()).Error()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}

// passes tells whether an error is one that a server which is away, or comes back,
// makes.
func passes(err error) bool {
	if errors.Is(err, ErrGap) || errors.Is(err, rueidis.ErrClosing) {
		return false
	}
	e, ok := rueidis.IsRedisErr(err)
	if !ok || e.IsLoading() || e.IsClusterDown() || e.IsTryAgain() {
		return true
	}
	return strings.HasPrefix(e.Error(), "UNBLOCKED") || strings.HasPrefix(e.Error(), "MASTERDOWN")
}
