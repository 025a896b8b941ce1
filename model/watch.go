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

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
	"retwis/model/internal/backoff"
	"retwis/model/internal/record"
	"retwis/model/internal/schema"
)

// Op is the operation of a Change.
type Op string

// The operations that Watch yields.
const (
	Created     Op = "create"
	Saved       Op = "save"   // by Save, Update or Patch; with computed indexes also by Incr
	Deleted     Op = "delete" // by Delete
	Expired     Op = "expire" // and was found to have expired: see Sweep
	Counted     Op = "incr"   // a counter, which Field names
	SetChanged  Op = "set"    // a Set, which Field names
	ListChanged Op = "list"   // a List, which Field names
)

func ops() []Op { return []Op{Created, Saved, Deleted, Expired, Counted, SetChanged, ListChanged} }

// Change is one change of one record. It does not contain the record, which may have
// changed again: Get returns it.
type Change struct {
	Op    Op
	ID    string
	Field string // the counter, Set or List that was changed

	before []string // how far each partition was read before this batch
	part   int      // the partition of the change
	at     string   // its position there
}

// Cursor returns the position after this change, for Watch.
func (c Change) Cursor() string {
	all := slices.Clone(c.before)
	if c.part < len(all) {
		all[c.part] = c.at
	}
	return strings.Join(all, ",")
}

// Watch streams changes as they happen, by any process: those after a cursor, or
// without one those from the start of the loop. Each comes once, and those of one
// record in order. The scripts that write append to a stream; all Stores of a model
// must have the same Options.ChangeLog, and without it Watch returns ErrNoChanges.
//
// It waits until the context is done, and yields its error. It resumes by itself when a
// disconnected server returns. About Options.ChangeLog changes are kept. If changes
// were dropped before they were read, it ends with ErrGap; so it does if a server
// returns without its last changes. Then start again with LastChange and All.
//
// It holds one connection for each partition. A change takes one round trip from the
// server, and one for all that happened meanwhile, 500 at most.
func (s *Store[T]) Watch(ctx context.Context, after string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := (&feed{s.t}).watch(ctx, after, yield); err != nil {
			yield(Change{}, wrap(s.t, err))
		}
	}
}

// LastChange returns the cursor of the last change. To follow the state of all records,
// take it first, then read them all, and then watch from it. One script for each
// partition.
func (s *Store[T]) LastChange(ctx context.Context) (string, error) {
	all, err := (&feed{s.t}).lastChanges(ctx)
	return strings.Join(all, ","), wrap(s.t, err)
}

// feed reads the streams of changes of a model.
type feed struct{ t *record.Table }

// watch returns nil if the caller ended the loop.
func (f *feed) watch(ctx context.Context, after string, yield func(Change, error) bool) error {
	before, err := f.positions(ctx, after)
	if err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	sent := make(chan changes)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for i, at := range before {
		work.Go(func() { f.follow(following, i, at, sent) })
	}
	for {
		var some changes
		select {
		case <-ctx.Done():
			return ctx.Err()
		case some = <-sent:
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

// changes are some changes of a partition, or the error that ended it.
type changes struct {
	part    int
	entries []rueidis.XRangeEntry
	err     error
}

// positions parses a cursor: how far each partition was read.
func (f *feed) positions(ctx context.Context, cursor string) ([]string, error) {
	if cursor == "" {
		return f.lastChanges(ctx)
	}
	if f.t.Options.ChangeLog == 0 {
		return nil, errNoChanges()
	}
	all := strings.Split(cursor, ",")
	if len(all) != len(f.t.Layout.Parts) || slices.ContainsFunc(all, func(at string) bool { return !isPosition(at) }) {
		return nil, fmt.Errorf("%w: %q is not a cursor of Watch on %s", ErrCursor, schema.Shorten(cursor), f.t.Options.Name)
	}
	return all, nil
}

// isPosition reports whether a text is the id of a stream entry, as the server writes
// it.
func isPosition(at string) bool {
	ms, number, _ := strings.Cut(at, "-")
	for _, s := range []string{ms, number} {
		if n, err := strconv.ParseUint(s, 10, 64); err != nil || strconv.FormatUint(n, 10) != s {
			return false
		}
	}
	return true
}

// lastChanges returns the last change of each partition. If there is none, it appends
// an empty one: a position is always that of a change, so that a later reader notices
// whether it was dropped, and perhaps changes after it.
func (f *feed) lastChanges(ctx context.Context) ([]string, error) {
	if f.t.Options.ChangeLog == 0 {
		return nil, errNoChanges()
	}
	all := make([]string, len(f.t.Layout.Parts))
	for i := range f.t.Layout.Parts {
		var err error
		key := f.t.Layout.Parts[i].Changes
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
	watchMany  = 500             // changes that are read together
	watchBlock = 5 * time.Second // how long the server waits for a change
)

// follow sends the changes of a partition after a position, until the context ends or
// it has sent an error.
func (f *feed) follow(ctx context.Context, part int, at string, sent chan<- changes) {
	send := func(c changes) bool {
		c.part = part
		select {
		case sent <- c:
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
			if !send(changes{entries: entries}) {
				return
			}
			continue
		}
		if err == nil {
			err = f.awaitChange(ctx, part, at)
		}
		if err == nil {
			attempt = 0
		} else if !temporary(err) || backoff.Pause(ctx, attempt) != nil {
			send(changes{err: err})
			return
		}
	}
}

// changesFrom reads the changes after a position. It reads the position as well: if
// that exists, nothing after it was dropped.
func (f *feed) changesFrom(ctx context.Context, part int, at string) ([]rueidis.XRangeEntry, error) {
	command := f.t.Client.B().Xrange().Key(f.t.Layout.Parts[part].Changes).Start(at).End("+").Count(watchMany + 1).Build()
	entries, err := f.t.Client.Do(ctx, command).AsXRange()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, err
	}
	if len(entries) == 0 || entries[0].ID != at {
		return nil, fmt.Errorf("%w: those after %s: start again with LastChange and All, and keep more with Options.ChangeLog", ErrGap, at)
	}
	return entries[1:], nil
}

// awaitChange waits for a change after a position, a few seconds at most.
func (f *feed) awaitChange(ctx context.Context, part int, at string) error {
	// Do not wait longer for a server that is gone silently.
	ctx, cancel := context.WithTimeout(ctx, 2*watchBlock)
	defer cancel()
	command := f.t.Client.B().Xread().Count(1).Block(watchBlock.Milliseconds()).Streams().Key(f.t.Layout.Parts[part].Changes).Id(at).Build()
	err := f.t.Client.Do(ctx, command.UnblockOnCancel()).Error()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}

// temporary reports whether an error is that of a server that is disconnected, starting
// or busy.
func temporary(err error) bool {
	if errors.Is(err, ErrGap) || errors.Is(err, rueidis.ErrClosing) {
		return false
	}
	e, ok := rueidis.IsRedisErr(err)
	return !ok || rediserr.Of(err) == rediserr.Unavailable || strings.HasPrefix(e.Error(), "UNBLOCKED")
}
