package social

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/scan"
)

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

// scanTimeout bounds the wait for one node of a Cluster: it can be gone for good,
// with another in its place.
const scanTimeout = 15 * time.Second

// scanKeys calls visit with every key that matches, in pages; seen is about how
// many keys the server passed to find them. A key may come twice.
func (s *Service) scanKeys(ctx context.Context, match string, visit func(keys []string, seen int64) error) error {
	for page, err := range scan.Keys(ctx, s.client, scan.Pattern{Match: match, Count: scanCount, Timeout: scanTimeout}) {
		if err != nil {
			return err
		}
		if err := visit(page.Keys, int64(page.Seen)); err != nil {
			return err
		}
	}
	return nil
}
