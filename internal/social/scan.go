package social

import (
	"context"
	"iter"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// masters are the servers that hold the data: one, or those of a Cluster.
func (s *Service) masters() iter.Seq[rueidis.Client] {
	return func(yield func(rueidis.Client) bool) {
		if !s.cluster {
			yield(s.client)
			return
		}
		for address, node := range s.client.Nodes() {
			ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
			role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
			cancel()
			// A replica answers ROLE with "slave".
			if err == nil && len(role) > 0 {
				if name, _ := role[0].ToString(); name != "master" {
					continue
				}
			}
			// One that does not answer is used, and its error seen, unless
			// another has its slots by now.
			if err != nil && s.replaced(context.Background(), address) {
				continue
			}
			if !yield(node) {
				return
			}
		}
	}
}

// replaced tells whether a node of the Cluster owns no slots, as the others say.
// Some versions go on to name a master that has died and been replaced.
func (s *Service) replaced(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	answers := make(chan []rueidis.RedisMessage)
	nodes := 0
	for other, node := range s.client.Nodes() {
		if other == address {
			continue
		}
		nodes++
		go func() {
			slots, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
			if err != nil {
				slots = nil
			}
			answers <- slots
		}()
	}
	var slots []rueidis.RedisMessage
	for range nodes { // every goroutine ends with ctx
		if answer := <-answers; answer != nil && slots == nil {
			slots = answer
			cancel()
		}
	}
	return slots != nil && !owns(slots, address)
}

// owns tells whether an answer to CLUSTER SLOTS names a master at this address:
// each item is the first slot, the last slot, the master (host, port ...) and
// its replicas.
func owns(slots []rueidis.RedisMessage, address string) bool {
	for _, item := range slots {
		parts, err := item.ToArray()
		if err != nil || len(parts) < 3 {
			return true
		}
		at, err := parts[2].ToArray()
		if err != nil || len(at) < 2 {
			return true
		}
		host, _ := at[0].ToString()
		port, err := at[1].AsInt64()
		if err != nil || host == "" || net.JoinHostPort(host, strconv.FormatInt(port, 10)) == address {
			return true
		}
	}
	return false
}

// scanKeys calls visit with every key that matches, in pages; seen is about how
// many keys the server passed to find them. A key may come twice.
func (s *Service) scanKeys(ctx context.Context, match string, visit func(keys []string, seen int64) error) error {
	for node := range s.masters() {
		var cursor uint64
		for {
			entry, err := scanStep(ctx, node, match, cursor)
			if err != nil {
				return err
			}
			if err := visit(entry.Elements, scanCount); err != nil {
				return err
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// scanTimeout bounds the wait for one node of a Cluster: it can be gone for good,
// with another in its place.
const scanTimeout = 15 * time.Second

func scanStep(ctx context.Context, node rueidis.Client, match string, cursor uint64) (rueidis.ScanEntry, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	return node.Do(ctx, node.B().Scan().Cursor(cursor).Match(match).Count(scanCount).Build()).AsScanEntry()
}
