package social

import (
	"context"
	"iter"

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
			role, err := node.Do(context.Background(), node.B().Role().Build()).ToArray()
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
			entry, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(match).Count(scanCount).Build()).AsScanEntry()
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
