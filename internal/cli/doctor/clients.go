package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"retwis/internal/redis/store"
)

// replicasToWrite looks at whether a master goes on alone that its replicas have left.
func replicasToWrite(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	value, seen, err := config(ctx, node, "min-replicas-to-write")
	if err != nil || !seen {
		return nil, err
	}
	f := finding{Status: OK, What: "min-replicas-to-write", Found: value}
	if value == "0" && store.InfoNumber(info, "connected_slaves") > 0 {
		f.Status, f.Why = Advice, "a master that is cut off goes on taking writes, and they are lost when a replica takes over; with 1 it refuses them after min-replicas-max-lag seconds"
		f.Do = "CONFIG SET min-replicas-to-write 1"
	}
	return []finding{f}, nil
}

// tracking looks at the table of the keys that web processes keep in their memory.
func tracking(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	value, seen, err := config(ctx, node, "tracking-table-max-keys")
	most, convErr := strconv.ParseInt(value, 10, 64)
	if err != nil || !seen || convErr != nil {
		return nil, err
	}
	keys := store.InfoNumber(info, "tracking_total_keys")
	f := finding{Status: OK, What: "tracking-table-max-keys", Found: fmt.Sprintf("%d of %d keys", keys, most)}
	switch {
	case most == 0:
		f.Found = fmt.Sprintf("%d keys, without a limit", keys)
	case keys >= most-most/10:
		f.Status, f.Why = Advice, "the table of what web processes have in memory is full: the server makes them read keys again that nobody has changed; each key takes about 100 bytes"
		f.Do = fmt.Sprintf("CONFIG SET tracking-table-max-keys %d", 2*most)
	}
	return []finding{f}, nil
}

// smallBuffer is less than what a server may owe to a connection for a moment: the reply
// of a long pipeline, or what changed on a busy site.
const smallBuffer = 32 << 20

// outputBuffers looks at the limits at which the server closes a connection that it owes
// too much. Those that get messages about changed keys are normal ones.
func outputBuffers(ctx context.Context, node rueidis.Client, _ string) ([]finding, error) {
	value, seen, err := config(ctx, node, "client-output-buffer-limit")
	if err != nil || !seen {
		return nil, err
	}
	hard, soft := bufferLimits(value, "normal")
	f := finding{Status: OK, What: "client-output-buffer-limit", Found: fmt.Sprintf("normal %d %d", hard, soft)}
	if least := min(limitOr(hard), limitOr(soft)); least < smallBuffer {
		f.Status, f.Why = Advice, "the server closes the connections of web processes that get many messages about changed keys, or a long reply: their memory is emptied, and pages fail"
		f.Do = `CONFIG SET client-output-buffer-limit "normal 0 0 0"`
	}
	return []finding{f}, nil
}

// limitOr returns a limit, and a very large one for 0.
func limitOr(limit int64) int64 {
	if limit == 0 {
		return 1 << 62
	}
	return limit
}

// bufferLimits returns the hard and the soft limit of a class, 0 for none, of a text like
// "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60".
func bufferLimits(text, class string) (hard, soft int64) {
	words := strings.Fields(text)
	if at := slices.Index(words, class); at >= 0 && at+2 < len(words) {
		hard, _ = strconv.ParseInt(words[at+1], 10, 64)
		soft, _ = strconv.ParseInt(words[at+2], 10, 64)
	}
	return hard, soft
}
