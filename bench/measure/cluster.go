package measure

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"retwis/internal/sleep"
)

// Join makes a Cluster of the servers at some addresses, so many of which are replicas of each
// master, and waits until servers serve.
func Join(ctx context.Context, replicas int, addresses []string, servers ...*Server) error {
	args := append([]string{"--cluster", "create", "--cluster-yes", "--cluster-replicas", fmt.Sprint(replicas)}, addresses...)
	if out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("redis-cli --cluster create: %w\n%s", err, out)
	}
	return Wait(ctx, time.Minute, "all nodes to serve", func() bool {
		for _, s := range servers {
			info, err := s.Client.Do(ctx, s.Client.B().ClusterInfo().Build()).ToString()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
}

// Wait polls until something is so, for a limited time.
func Wait(ctx context.Context, limit time.Duration, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !is() {
		if !sleep.For(ctx, 10*time.Millisecond) {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
	return nil
}
