package collection

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"retwis/internal/keys"
	"retwis/internal/script"
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
	timelinesBatch = 50
	// timelinesPipeline is how many scripts go out together on a Cluster.
	timelinesPipeline = 200
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

// MaxLen returns the largest length of a list.
func (t *Timelines) MaxLen() int { return t.max + t.slack }

// Put adds an id to the lists at keys. A list that has it, or that is full of
// larger ids, does not change, nor does a key of another type.
//
// One script writes up to 50 lists: one round trip each, O(1) a list, O(its
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

// runAll runs a script on all lists at keys, a batch at a time.
func (t *Timelines) runAll(ctx context.Context, run script.Script, keys, args []string) error {
	calls := make([]script.Call, 0, len(keys)/timelinesBatch+1)
	for group := range t.groups(keys) {
		calls = append(calls, script.Call{Keys: group, Args: args})
	}
	if !t.cluster {
		// One after the other, so that the server serves others in between.
		for _, call := range calls {
			if err := run.Run(ctx, t.client, call.Keys, call.Args).Error(); err != nil {
				return err
			}
		}
		return nil
	}
	for some := range slices.Chunk(calls, timelinesPipeline) {
		for _, res := range run.RunMany(ctx, t.client, some) {
			if err := res.Error(); err != nil {
				return err
			}
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
	if len(ids) > t.MaxLen() {
		return fmt.Errorf("collection: %w: %d ids for a list of %d", ErrValue, len(ids), t.MaxLen())
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
	args := []string{strconv.Itoa(t.max), strconv.Itoa(t.slack)}
	for _, id := range slices.Compact(ids) {
		if err := checkTimelineID(id); err != nil {
			return err
		}
		args = append(args, strconv.FormatInt(id, 10))
	}
	if err := t.merge.Run(ctx, t.client, []string{key}, args).Error(); err != nil {
		return fmt.Errorf("collection: %s: %w", key, err)
	}
	return nil
}

func (t *Timelines) putArgs(id int64) []string {
	return []string{strconv.FormatInt(id, 10), strconv.Itoa(t.max), strconv.Itoa(t.slack)}
}

// groups yields batches of keys that one script may write.
func (t *Timelines) groups(all []string) func(yield func([]string) bool) {
	if !t.cluster {
		return slices.Chunk(all, timelinesBatch)
	}
	bySlot := make(map[int][]string, len(all))
	for _, key := range all {
		slot := keys.Slot([]byte(key))
		bySlot[slot] = append(bySlot[slot], key)
	}
	return func(yield func([]string) bool) {
		for _, group := range bySlot {
			for some := range slices.Chunk(group, timelinesBatch) {
				if !yield(some) {
					return
				}
			}
		}
	}
}

// PutCommand returns the command that adds an id to lists of one slot, at most 50,
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
// once, within MaxLen, without members that are not numbers and without those
// given. It reports whether something was wrong. One round trip, O(n log n).
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
