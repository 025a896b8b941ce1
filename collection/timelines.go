package collection

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/keys"
	"retwis/internal/redis/nodes"
	"retwis/internal/redis/script"
)

var (
	//go:embed timelines_put.lua
	timelinesPutLua string

	//go:embed timelines_select.lua
	timelinesSelectLua string

	//go:embed timelines_repair.lua
	timelinesRepairLua string

	//go:embed timelines_remove.lua
	timelinesRemoveLua string

	//go:embed timelines_merge.lua
	timelinesMergeLua string
)

// Timelines keeps many lists of the newest ids, one per key: the posts that each
// user of a social network sees, the events of each device. Ids are numbers that
// grow with time; each list holds them largest first and drops the smallest.
//
// Put writes one id to many lists (fan-out on write). It is idempotent, so a
// fan-out that was interrupted can be repeated; an id that arrives late takes its
// place in the order. Select reads pages that stay stable while ids are added,
// also when the last id of a page has been dropped meanwhile.
//
// A list is a plain Redis list without a declaration: with thousands of lists, a
// second key for each would double their number. All programs must use the same
// cap. A list of 1,000 ids takes about 6 KB.
type Timelines struct {
	client      rueidis.Client
	cluster     bool
	existing    bool // writes change only lists that exist
	max, slack  int
	put, repair script.Script
	page        script.Script
	remove      script.Script
	merge       script.Script
}

// maxTimeline is the largest cap: a late id costs as much as the list is long.
const maxTimeline = 10_000

// maxTimelineID is the largest id: Lua compares numbers up to it exactly.
const maxTimelineID = 1 << 53

const (
	// timelinesBatch is how many lists one script writes: about 0.1 ms, so that
	// other requests are hardly delayed.
	timelinesBatch = 64
	// timelinesPipeline is how many scripts go out together on a Cluster.
	timelinesPipeline = 200
)

// Spread writes a batch of lists on each master at once, then leaves the servers to
// other requests for a moment. On a Cluster a script writes only the lists of one slot,
// and a longer pause costs nothing: all masters work at the same time.
const (
	spreadBatch        = 200
	spreadPause        = 100 * time.Microsecond // about a millisecond, with the resolution of timers
	spreadClusterBatch = 250
	spreadClusterPause = 5 * time.Millisecond
)

// NewTimelines returns lists that keep the newest max ids, at most 10,000. A list
// may be longer by a tenth, at most 100, before it is trimmed. It asks no server.
func NewTimelines(client rueidis.Client, max int) (*Timelines, error) {
	if max < 1 || max > maxTimeline {
		return nil, fmt.Errorf("collection: lists of the newest %d ids: it must be from 1 to %d", max, maxTimeline)
	}
	return &Timelines{
		client: client, cluster: client.Mode() == rueidis.ClientModeCluster,
		max: max, slack: min(100, (max+9)/10),
		put:    script.New(timelinesPutLua).Retryable(),
		page:   script.New(timelinesSelectLua).Retryable(),
		repair: script.New(timelinesRepairLua).Retryable(),
		remove: script.New(timelinesRemoveLua).Retryable(),
		merge:  script.New(timelinesMergeLua).Retryable(),
	}, nil
}

// Existing returns the same lists, but what it adds to a list that does not exist is left
// out. It is for lists that expire and are made again when they are read: an id must not
// make such a list look complete.
func (t *Timelines) Existing() *Timelines {
	only := *t
	only.existing = true
	return &only
}

// MaxLen returns the largest length of a list.
func (t *Timelines) MaxLen() int { return t.max + t.slack }

// Put adds an id to the lists at keys. A list that has it, or that is full of
// larger ids, does not change, nor does a key of another type.
//
// One script writes up to 64 lists: one round trip each, O(1) a list, O(its
// length) for an id that is not the largest. On a Cluster the keys are grouped by
// slot, and the scripts go out in pipelines of 200.
func (t *Timelines) Put(ctx context.Context, id int64, keys ...string) error {
	if err := checkTimelineID(id); err != nil {
		return err
	}
	if err := t.runAll(ctx, t.put, keys, t.putArgs(id)); err != nil {
		return fmt.Errorf("collection: add %d: %w", id, err)
	}
	return nil
}

// Remove removes an id from the lists at keys. A list that does not have it does not
// change, nor does a key of another type. It takes round trips as Put does; the
// server reads each list, O(its length).
func (t *Timelines) Remove(ctx context.Context, id int64, keys ...string) error {
	if err := t.runAll(ctx, t.remove, keys, []string{strconv.FormatInt(id, 10)}); err != nil {
		return fmt.Errorf("collection: remove %d: %w", id, err)
	}
	return nil
}

// Spread is Put for very many lists, in the background: it writes a batch of lists on
// all masters at once, then pauses for a moment, so that other requests hardly wait.
// On a Cluster it is cheapest for 100,000 lists and more: then about six lists are in
// each slot, which one script writes.
//
// A batch is 250 lists a master and a pause of 5 ms on a Cluster, 200 lists and 0.1 ms on
// a single server: 3 to 6 µs of the servers for a list. After an error some lists may
// have the id; repeat it.
func (t *Timelines) Spread(ctx context.Context, id int64, keys ...string) error {
	if err := checkTimelineID(id); err != nil {
		return err
	}
	if err := t.spread(ctx, keys, t.putArgs(id)); err != nil {
		return fmt.Errorf("collection: add %d: %w", id, err)
	}
	return nil
}

func (t *Timelines) spread(ctx context.Context, keys, args []string) error {
	batch, pause := spreadBatch, spreadPause
	if t.cluster {
		masters, err := nodes.Masters(ctx, t.client)
		if err != nil {
			return err
		}
		batch, pause = spreadClusterBatch*len(masters), spreadClusterPause
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	rest := t.calls(keys, args)
	for len(rest) > 0 {
		n := 0
		for lists := 0; n < len(rest) && lists < batch; n++ {
			lists += len(rest[n].Keys)
		}
		if err := t.runBatch(ctx, t.put, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// runBatch runs a few calls: at once on a Cluster, else one after the other, so that the
// server serves others in between.
func (t *Timelines) runBatch(ctx context.Context, run script.Script, calls []script.Call) error {
	if t.cluster {
		for _, res := range run.RunMany(ctx, t.client, calls) {
			if err := res.Error(); err != nil {
				return err
			}
		}
		return nil
	}
	for _, call := range calls {
		if err := run.Run(ctx, t.client, call.Keys, call.Args).Error(); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs a script on all lists at keys, a batch at a time.
func (t *Timelines) runAll(ctx context.Context, run script.Script, keys, args []string) error {
	for some := range slices.Chunk(t.calls(keys, args), timelinesPipeline) {
		if err := t.runBatch(ctx, run, some); err != nil {
			return err
		}
	}
	return nil
}

// PutMany adds ids, in any order, to one list, as Put does with each. One round
// trip; O(n) in the length of the list and the number of ids, at most MaxLen of
// them.
func (t *Timelines) PutMany(ctx context.Context, key string, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	args, err := t.mergeArgs(ids)
	if err != nil {
		return err
	}
	if err := t.merge.Run(ctx, t.client, []string{key}, args).Error(); err != nil {
		return fmt.Errorf("collection: %s: %w", key, err)
	}
	return nil
}

// PutManyCommand is PutMany for a pipeline of the caller; there is at least one id. It
// carries the script in full.
func (t *Timelines) PutManyCommand(key string, ids ...int64) (rueidis.Completed, error) {
	args, err := t.mergeArgs(ids)
	if err != nil {
		return rueidis.Completed{}, err
	}
	return t.merge.Command(t.client, []string{key}, args), nil
}

// mergeArgs are the arguments of the script that adds many ids.
func (t *Timelines) mergeArgs(ids []int64) ([]string, error) {
	if len(ids) > t.MaxLen() {
		return nil, fmt.Errorf("collection: %w: %d ids for a list of %d", ErrValue, len(ids), t.MaxLen())
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	args := []string{strconv.Itoa(t.max), strconv.Itoa(t.slack), t.must()}
	for _, id := range slices.Compact(ids) {
		if err := checkTimelineID(id); err != nil {
			return nil, err
		}
		args = append(args, strconv.FormatInt(id, 10))
	}
	return args, nil
}

func (t *Timelines) putArgs(id int64) []string {
	return []string{strconv.FormatInt(id, 10), strconv.Itoa(t.max), strconv.Itoa(t.slack), t.must()}
}

// must tells a script whether a list must exist.
func (t *Timelines) must() string {
	if t.existing {
		return "1"
	}
	return "0"
}

// calls returns the calls of a script that write all lists at keys, each up to a batch
// of one slot.
func (t *Timelines) calls(all, args []string) []script.Call {
	if !t.cluster {
		calls := make([]script.Call, 0, len(all)/timelinesBatch+1)
		for group := range slices.Chunk(all, timelinesBatch) {
			calls = append(calls, script.Call{Keys: group, Args: args})
		}
		return calls
	}
	places := make([]uint64, len(all)) // the place of a slot in slotOrder, then that of the key in all
	for i, key := range all {
		places[i] = uint64(slotOrder(keys.Slot([]byte(key))))<<32 | uint64(i)
	}
	slices.Sort(places)
	calls := make([]script.Call, 0, min(len(all), keys.Slots+len(all)/timelinesBatch))
	sorted := make([]string, len(all))
	from := 0
	for i, place := range places {
		sorted[i] = all[uint32(place)]
		if i+1 == len(places) || places[i+1]>>32 != place>>32 || i+1-from == timelinesBatch {
			calls = append(calls, script.Call{Keys: sorted[from : i+1], Args: args})
			from = i + 1
		}
	}
	return calls
}

// slotOrder is the place of a slot in an order in which neighbors are far apart: a
// master owns a range of slots, and so each batch is for all masters. It is the inverse
// of a multiplication by 0.618 of the number of slots.
func slotOrder(slot int) int { return slot * 13125 % 16384 }

// PutCommand returns the command that adds an id to lists of one slot, at most 64,
// for a pipeline of the caller. It carries the script in full, 1.7 KB, because a
// pipeline cannot fall back to it where the server does not know it.
func (t *Timelines) PutCommand(id int64, keys ...string) rueidis.Completed {
	return t.put.Command(t.client, keys, t.putArgs(id))
}

// NewestCommand returns the command that reads the newest n ids of a list, for a
// pipeline or the client-side cache of the caller: the first page of Select.
func (t *Timelines) NewestCommand(key string, n int) rueidis.Cacheable {
	return t.client.B().Lrange().Key(key).Start(0).Stop(int64(n) - 1).Cache()
}

// Select returns a page of a list: the n ids after the given one, the newest n
// after 0. The last id of a page is the cursor of the next; ids that are added
// meanwhile move nothing to another page. One round trip; O(n), and O(its length)
// after a cursor.
func (t *Timelines) Select(ctx context.Context, key string, after int64, n int) ([]int64, error) {
	if n < 1 {
		return nil, nil
	}
	var res rueidis.RedisResult
	if after == 0 {
		res = t.client.Do(ctx, rueidis.Completed(t.NewestCommand(key, n)))
	} else {
		res = t.page.Run(ctx, t.client, []string{key}, []string{strconv.FormatInt(after, 10), strconv.Itoa(n)})
	}
	ids, err := res.AsIntSlice()
	if err != nil {
		return nil, fmt.Errorf("collection: %s: %w", key, err)
	}
	return ids, nil
}

// Len returns the length of a list, at most MaxLen.
func (t *Timelines) Len(ctx context.Context, key string) (int64, error) {
	n, err := t.client.Do(ctx, t.client.B().Llen().Key(key).Build()).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("collection: %s: %w", key, err)
	}
	return n, nil
}

// Repair puts a list in order that other programs have written: sorted, each id
// once, the largest up to MaxLen, without members that are not integers in their
// usual form, up to 2^53, and without those given. Integers below 1 stay: callers may
// mark the end of a list with them. It reports whether something was wrong.
//
// One round trip, O(n log n). Of a list that is longer than 4 × MaxLen + 2,000 it reads
// half of that at either end, and drops the rest.
func (t *Timelines) Repair(ctx context.Context, key string, without ...string) (bool, error) {
	changed, err := t.repair.Run(ctx, t.client, []string{key}, append([]string{strconv.Itoa(t.MaxLen())}, without...)).AsBool()
	if err != nil {
		return false, fmt.Errorf("collection: %s: %w", key, err)
	}
	return changed, nil
}

func checkTimelineID(id int64) error {
	if id < 1 || id > maxTimelineID {
		return fmt.Errorf("collection: %w: the id %d is not between 1 and %d", ErrValue, id, maxTimelineID)
	}
	return nil
}
