package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/cli/shell"
	"retwis/internal/redis/nodes"
)

const (
	slots = 16384 // in every Cluster
	// clusterLimit bounds the search for a node that answers.
	clusterLimit = 10 * time.Second
)

// shard is a range of slots, its master and the number of that master's replicas.
type shard struct {
	from, to int64
	master   string
	replicas int
}

// checkCluster checks that each slot has an owner, that each owner has a replica, and whether the
// other nodes keep serving when both are down.
func checkCluster(ctx context.Context, client rueidis.Client) ([]finding, error) {
	if client.Mode() != rueidis.ClientModeCluster {
		return nil, nil
	}
	shards, err := nodes.First(ctx, client, clusterLimit, readShards)
	var refused *rueidis.RedisError
	if errors.As(err, &refused) {
		return []finding{{Hidden, "", "Cluster", shell.OneLine(err), "", "ACL SETUSER retwis +cluster|slots" + keepACL}}, nil
	}
	if err != nil {
		return nil, err
	}
	found := coverage(shards)
	value, seen, err := config(ctx, client, "cluster-require-full-coverage")
	if err != nil || !seen {
		return found, err
	}
	f := finding{Status: OK, What: "cluster-require-full-coverage", Found: value}
	if value == "yes" {
		f.Status, f.Why = Advice, "when a master and its replicas are down, all other nodes refuse commands; with \"no\", they keep serving their own slots. Change the setting on every node"
		f.Do = "CONFIG SET cluster-require-full-coverage no"
	}
	return makeLasting(append(found, f), "", false), nil
}

// coverage reports slots without an owner and masters without a replica.
func coverage(shards []shard) []finding {
	covered, unreplicated := int64(0), []string(nil)
	replicated := map[string]bool{}
	for _, s := range shards {
		covered += s.to - s.from + 1
		replicated[s.master] = replicated[s.master] || s.replicas > 0
	}
	for master, hasReplica := range replicated {
		if !hasReplica {
			unreplicated = append(unreplicated, master)
		}
	}
	slices.Sort(unreplicated)
	all := finding{Status: OK, What: "slots with an owner", Found: fmt.Sprintf("%d of %d", covered, slots)}
	if covered < slots {
		all.Status, all.Why = Problem, "users and posts in the other slots cannot be reached"
		all.Do = "redis-cli --cluster fix HOST:PORT"
	}
	replicas := finding{Status: OK, What: "replicas", Found: fmt.Sprintf("each of %s has one", shell.Plural(int64(len(replicated)), "master", "masters"))}
	if len(unreplicated) > 0 {
		replicas.Status, replicas.Found = Advice, "none for "+strings.Join(unreplicated, ", ")
		replicas.Why = "when a master without a replica fails, its data is unavailable until the master is back, and lost if the disk failed"
		replicas.Do = "redis-cli --cluster add-node NEW:PORT " + unreplicated[0] + " --cluster-slave"
	}
	return []finding{all, replicas}
}

// readShards asks a node for the owners of the slots.
func readShards(ctx context.Context, node rueidis.Client) ([]shard, error) {
	ranges, err := node.Do(ctx, node.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	var shards []shard
	for _, r := range ranges {
		fields, err := r.ToArray()
		if err != nil || len(fields) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS: a range without an owner: %w", err)
		}
		from, err1 := fields[0].AsInt64()
		to, err2 := fields[1].AsInt64()
		owner, err3 := fields[2].ToArray()
		if err := errors.Join(err1, err2, err3); err != nil || len(owner) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
		}
		host, _ := owner[0].ToString() // null if the node has not learned its own address
		port, _ := owner[1].AsInt64()
		shards = append(shards, shard{from, to, net.JoinHostPort(host, strconv.FormatInt(port, 10)), len(fields) - 3})
	}
	return shards, nil
}
