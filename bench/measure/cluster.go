package measure

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"retwis/internal/sleep"
)

// CreateCluster creates a Cluster from the servers at the addresses, with the given number of
// replicas per master, and waits until the servers report that it is up.
func CreateCluster(ctx context.Context, replicas int, addresses []string, servers ...*Server) error {
	args := append([]string{"--cluster", "create", "--cluster-yes", "--cluster-replicas", fmt.Sprint(replicas)}, addresses...)
	if out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("redis-cli --cluster create: %w\n%s", err, out)
	}
	return Wait(ctx, time.Minute, "all nodes to report cluster_state:ok", func() bool {
		for _, s := range servers {
			info, err := s.Client.Do(ctx, s.Client.B().ClusterInfo().Build()).ToString()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
}

// Wait polls a condition until it holds or the limit expires.
func Wait(ctx context.Context, limit time.Duration, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !condition() {
		if !sleep.For(ctx, 10*time.Millisecond) {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
	return nil
}
