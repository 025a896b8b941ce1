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

// replicasToWrite checks whether a master keeps accepting writes after losing its replicas.
func replicasToWrite(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	value, seen, err := config(ctx, node, "min-replicas-to-write")
	if err != nil || !seen {
		return nil, err
	}
	f := finding{Status: OK, What: "min-replicas-to-write", Found: value}
	if value == "0" && store.InfoNumber(info, "connected_slaves") > 0 {
		f.Status, f.Why = Advice, "an isolated master goes on accepting writes, which are lost when a replica takes over; with 1 it refuses writes after min-replicas-max-lag seconds"
		f.Do = "CONFIG SET min-replicas-to-write 1"
	}
	return []finding{f}, nil
}

// tracking checks the size of the invalidation table: the keys that web processes cache.
func tracking(ctx context.Context, node rueidis.Client, info string) ([]finding, error) {
	value, seen, err := config(ctx, node, "tracking-table-max-keys")
	limit, convErr := strconv.ParseInt(value, 10, 64)
	if err != nil || !seen || convErr != nil {
		return nil, err
	}
	keys := store.InfoNumber(info, "tracking_total_keys")
	f := finding{Status: OK, What: "tracking-table-max-keys", Found: fmt.Sprintf("%d of %d keys", keys, limit)}
	switch {
	case limit == 0:
		f.Found = fmt.Sprintf("%d keys, without a limit", keys)
	case keys >= limit-limit/10:
		f.Status, f.Why = Advice, "the table of keys that web processes cache is full, so the server invalidates keys that have not changed; each key takes about 100 bytes"
		f.Do = fmt.Sprintf("CONFIG SET tracking-table-max-keys %d", 2*limit)
	}
	return []finding{f}, nil
}

// smallBuffer is the size below which an output buffer limit is too small for the replies to a long
// pipeline, or for the invalidations of a busy site.
const smallBuffer = 32 << 20

// outputBuffers checks the limits at which the server closes connections. Connections that receive
// invalidations are in the class normal.
func outputBuffers(ctx context.Context, node rueidis.Client, _ string) ([]finding, error) {
	value, seen, err := config(ctx, node, "client-output-buffer-limit")
	if err != nil || !seen {
		return nil, err
	}
	hard, soft := bufferLimits(value, "normal")
	f := finding{Status: OK, What: "client-output-buffer-limit", Found: fmt.Sprintf("normal %d %d", hard, soft)}
	if smallest := min(orUnlimited(hard), orUnlimited(soft)); smallest < smallBuffer {
		f.Status, f.Why = Advice, "the server closes connections of web processes that receive many invalidations or a long reply: their caches are emptied, and pages fail"
		f.Do = `CONFIG SET client-output-buffer-limit "normal 0 0 0"`
	}
	return []finding{f}, nil
}

// orUnlimited returns a limit, or a very large number for 0.
func orUnlimited(limit int64) int64 {
	if limit == 0 {
		return 1 << 62
	}
	return limit
}

// bufferLimits returns the hard and soft limits of a class, 0 for none, from a setting such as
// "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60".
func bufferLimits(text, class string) (hard, soft int64) {
	words := strings.Fields(text)
	if at := slices.Index(words, class); at >= 0 && at+2 < len(words) {
		hard, _ = strconv.ParseInt(words[at+1], 10, 64)
		soft, _ = strconv.ParseInt(words[at+2], 10, 64)
	}
	return hard, soft
}
