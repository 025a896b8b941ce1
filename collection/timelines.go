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

// Timelines keeps many lists of the newest IDs, one list per key: the posts that each user of a
// social network sees, the events of each device. IDs are numbers that grow with time; each list is
// sorted, largest ID first, and drops the smallest IDs.
//
// Put writes one ID to many lists (fan-out on write). It is idempotent, so an interrupted fan-out
// can be repeated; an ID that arrives late takes its place in the order. Select reads pages that
// stay stable while IDs are added, even if the last ID of a page was dropped.
//
// A list is a plain Redis list without a declaration, because a second key per list would double
// the number of keys. All programs must use the same cap. A list of 1,000 IDs takes about 6 KB.
type Timelines struct {
	client      rueidis.Client
	cluster     bool
	existing    bool // writes change only existing lists
	max, slack  int
	put, repair script.Script
	page        script.Script
	remove      script.Script
	merge       script.Script
}

// maxTimeline is the largest cap: inserting a late ID is O(n) in the length of the list.
const maxTimeline = 10_000

// maxTimelineID is the largest ID: Lua compares numbers up to it exactly.
const maxTimelineID = 1 << 53

const (
	// timelinesBatch is the number of lists that one script writes. A script takes about 0.1 ms, so
	// it hardly delays other requests.
	timelinesBatch = 64
	// timelinesPipeline is the number of scripts that are sent together on a Cluster.
	timelinesPipeline = 200
)

// Spread writes a batch of lists on all masters at once, then pauses to let the servers handle
// other requests. On a Cluster the pause can be longer, because all masters work at the same time.
const (
	spreadBatch        = 200
	spreadPause        = 100 * time.Microsecond // in practice about a millisecond, the resolution of timers
	spreadClusterBatch = 250
	spreadClusterPause = 5 * time.Millisecond
)

// NewTimelines returns lists that keep the newest max IDs, at most 10,000. A list may exceed max by
// a tenth, at most 100, before it is trimmed. NewTimelines sends nothing to the server.
func NewTimelines(client rueidis.Client, max int) (*Timelines, error) {
	if max < 1 || max > maxTimeline {
		return nil, fmt.Errorf("collection: max is %d: it must be from 1 to %d", max, maxTimeline)
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

// Existing returns the same lists, but writes to lists that do not exist are ignored. Use Existing
// for lists that expire and are rebuilt when they are read: a single new ID must not make such a
// list look complete.
func (t *Timelines) Existing() *Timelines {
	clone := *t
	clone.existing = true
	return &clone
}

// MaxLen returns the maximum length of a list.
func (t *Timelines) MaxLen() int { return t.max + t.slack }

// Put adds an ID to the lists at keys. Lists that already have the ID, or are full of larger IDs,
// do not change, nor do keys of another type.
//
// One script writes up to 64 lists in one round trip, O(1) per list, or O(length) if the ID is not
// the largest of the list. On a Cluster the keys are grouped by slot, and the scripts are sent in
// pipelines of 200.
func (t *Timelines) Put(ctx context.Context, id int64, keys ...string) error {
	if err := checkTimelineID(id); err != nil {
		return err
	}
	if err := t.runAll(ctx, t.put, keys, t.putArgs(id)); err != nil {
		return fmt.Errorf("collection: add %d: %w", id, err)
	}
	return nil
}

// Remove removes an ID from the lists at keys. Lists without the ID do not change, nor do keys of
// another type. Remove takes as many round trips as Put; the server reads each list, O(length).
func (t *Timelines) Remove(ctx context.Context, id int64, keys ...string) error {
	if err := t.runAll(ctx, t.remove, keys, []string{strconv.FormatInt(id, 10)}); err != nil {
		return fmt.Errorf("collection: remove %d: %w", id, err)
	}
	return nil
}

// Spread is like Put, for very many lists and work in the background: it writes a batch of lists on
// all masters at once, then pauses briefly, so that other requests hardly wait. On a Cluster Spread
// is cheapest for 100,000 lists and more, because one script then writes the about six lists of a
// slot.
//
// On a Cluster a batch is 250 lists per master, with a pause of 5 ms; on a single server a batch is
// 200 lists, with a pause of 0.1 ms. A list takes 3 to 6 µs of server time. After an error, some
// lists may have the ID; repeat the call.
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
	calls := t.calls(keys, args)
	for len(calls) > 0 {
		n := 0
		for lists := 0; n < len(calls) && lists < batch; n++ {
			lists += len(calls[n].Keys)
		}
		if err := t.runBatch(ctx, t.put, calls[:n]); err != nil {
			return err
		}
		calls = calls[n:]
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// runBatch runs some calls: concurrently on a Cluster, otherwise one after another, so that the
// server can serve other clients between two calls.
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

// runAll runs a script on all lists at keys, in batches.
func (t *Timelines) runAll(ctx context.Context, run script.Script, keys, args []string) error {
	for batch := range slices.Chunk(t.calls(keys, args), timelinesPipeline) {
		if err := t.runBatch(ctx, run, batch); err != nil {
			return err
		}
	}
	return nil
}

// PutMany adds IDs, in any order, to one list, like Put for each ID. It takes one round trip, O(n)
// in the length of the list and the number of IDs. At most MaxLen IDs can be added.
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

// PutManyCommand returns the command of PutMany for a pipeline of the caller. It needs at least one
// ID. The command contains the full script.
func (t *Timelines) PutManyCommand(key string, ids ...int64) (rueidis.Completed, error) {
	args, err := t.mergeArgs(ids)
	if err != nil {
		return rueidis.Completed{}, err
	}
	return t.merge.Command(t.client, []string{key}, args), nil
}

// mergeArgs returns the arguments of the script that adds many IDs.
func (t *Timelines) mergeArgs(ids []int64) ([]string, error) {
	if len(ids) > t.MaxLen() {
		return nil, fmt.Errorf("collection: %w: %d ids: a list holds at most %d", ErrValue, len(ids), t.MaxLen())
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	args := []string{strconv.Itoa(t.max), strconv.Itoa(t.slack), t.existenceArg()}
	for _, id := range slices.Compact(ids) {
		if err := checkTimelineID(id); err != nil {
			return nil, err
		}
		args = append(args, strconv.FormatInt(id, 10))
	}
	return args, nil
}

func (t *Timelines) putArgs(id int64) []string {
	return []string{strconv.FormatInt(id, 10), strconv.Itoa(t.max), strconv.Itoa(t.slack), t.existenceArg()}
}

// existenceArg tells a script whether a list must exist.
func (t *Timelines) existenceArg() string {
	if t.existing {
		return "1"
	}
	return "0"
}

// calls returns the script calls that write the lists at all keys. Each call writes at most
// timelinesBatch lists, on a Cluster of one slot.
func (t *Timelines) calls(all, args []string) []script.Call {
	if !t.cluster {
		calls := make([]script.Call, 0, len(all)/timelinesBatch+1)
		for group := range slices.Chunk(all, timelinesBatch) {
			calls = append(calls, script.Call{Keys: group, Args: args})
		}
		return calls
	}
	places := make([]uint64, len(all)) // the slotOrder of the slot, followed by the index of the key
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

// slotOrder maps a slot to its place in an order in which neighbors are far apart. A master owns a
// range of slots, so each batch spreads over all masters. 13125 is the inverse, modulo the number
// of slots, of 10125, which is 0.618 of the number of slots.
func slotOrder(slot int) int { return slot * 13125 % 16384 }

// PutCommand returns the command that adds an ID to at most 64 lists of one slot, for a pipeline of
// the caller. The command contains the full script, 1.7 KB, because a pipeline cannot send the
// script again if the server does not have its digest.
func (t *Timelines) PutCommand(id int64, keys ...string) rueidis.Completed {
	return t.put.Command(t.client, keys, t.putArgs(id))
}

// NewestCommand returns the command that reads the newest n IDs of a list, the first page of
// Select, for a pipeline or the client-side cache of the caller.
func (t *Timelines) NewestCommand(key string, n int) rueidis.Cacheable {
	return t.client.B().Lrange().Key(key).Start(0).Stop(int64(n) - 1).Cache()
}

// Select returns a page of a list: the n IDs that follow the cursor after, or the newest n IDs if
// after is 0. The last ID of a page is the cursor of the next page, so IDs that are added do not
// shift the pages. Select takes one round trip, O(n), plus O(length) with a cursor.
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

// Repair fixes a list that other programs have written: it sorts the list, removes duplicates, and
// keeps the largest MaxLen IDs. It drops members that are not integers in decimal form, up to 2^53,
// and the members in without. Integers below 1 stay, because callers may use them to mark the end
// of a list. Repair reports whether the list has changed.
//
// Repair takes one round trip, O(n log n). If a list is longer than 4 × MaxLen + 2,000, Repair
// reads half of that number of members at either end, and drops the other members.
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
