package social

import (
	"context"
	"iter"
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
		for _, node := range s.client.Nodes() {
			// A replica answers ROLE with "slave".
			ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
			role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
			cancel()
			if err == nil && len(role) > 0 {
				if name, _ := role[0].ToString(); name != "master" {
					continue
				}
			}
			if !yield(node) {
				return
			}
		}
	}
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
