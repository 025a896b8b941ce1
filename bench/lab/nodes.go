package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/lab/network"
	"retwis/bench/measure"
	"retwis/internal/redis/store"
)

const (
	masters   = 3
	nodeCount = 2 * masters
	// nodeTimeout is after how long a node counts as dead. It is short, so that a run has
	// many fail-overs, and long enough for a busy machine.
	nodeTimeout = 4 * time.Second
	// maxLag is min-replicas-max-lag: a master that has had no acknowledgement of its replica
	// for longer refuses writes.
	maxLag = 3 * time.Second
	// clusterTimeout bounds each wait for the Cluster.
	clusterTimeout = 90 * time.Second
)

// node is a server of the Cluster. Everybody but the lab itself reaches it by a proxy.
type node struct {
	*measure.Server
	name  string
	port  int
	front int // the port of its proxy, which it announces
}

// cluster is three masters with a replica each.
type cluster struct {
	dir   string
	net   *network.Network
	nodes []*node
}

// nodeConfig are the settings of each node. Those about what can be lost are explained in
// docs/operations.md.
func nodeConfig(minReplicas int) []string {
	return []string{
		"cluster-enabled yes",
		fmt.Sprintf("cluster-node-timeout %d", nodeTimeout.Milliseconds()),
		"cluster-require-full-coverage no",
		"cluster-migration-barrier 10",
		"cluster-replica-validity-factor 0", // on a busy machine an election can take several attempts
		"appendonly yes",
		"appendfsync everysec",
		"repl-diskless-sync yes",
		"repl-diskless-sync-delay 0",
		"repl-ping-replica-period 1",
		"repl-backlog-size 16mb",
		fmt.Sprintf("min-replicas-to-write %d", minReplicas),
		fmt.Sprintf("min-replicas-max-lag %d", int(maxLag.Seconds())),
	}
}

// startCluster starts the nodes and joins them.
func startCluster(ctx context.Context, dir string, minReplicas int) (*cluster, error) {
	c := &cluster{dir: filepath.Join(dir, "nodes"), net: network.New()}
	for i := range nodeCount {
		n := &node{name: fmt.Sprintf("redis%d", i)}
		var bus int
		for _, port := range []*int{&n.port, &n.front, &bus} {
			var err error
			if *port, err = measure.FreePort(); err != nil {
				return c, err
			}
		}
		n.Server = measure.NewServer(filepath.Join(c.dir, fmt.Sprint(i)), n.port, append(nodeConfig(minReplicas), "cluster-announce-ip 127.0.0.1",
			fmt.Sprintf("cluster-announce-port %d", n.front), fmt.Sprintf("cluster-announce-bus-port %d", bus))...)
		c.nodes = append(c.nodes, n)
		for front, to := range map[int]int{n.front: n.port, bus: n.port + 10_000} {
			if _, err := c.net.Listen(n.name, front, fmt.Sprintf("127.0.0.1:%d", to)); err != nil {
				return c, err
			}
		}
	}
	if err := measure.Concurrently(nodeCount, nodeCount, func(i int) error { return c.start(ctx, c.nodes[i]) }); err != nil {
		return c, err
	}
	if err := measure.Join(ctx, 1, c.fronts()); err != nil {
		return c, err
	}
	return c, c.whole(ctx)
}

// start starts a node, for the first time or again.
func (c *cluster) start(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	if err := n.Start(ctx); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	c.net.Process(n.name, n.Pid())
	return nil
}

func (n *node) do(ctx context.Context, words ...string) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return n.Client.Do(ctx, n.Client.B().Arbitrary(words[0]).Args(words[1:]...).Build())
}

// field returns a field of INFO.
func (n *node) field(ctx context.Context, section, field string) (string, error) {
	words := []string{"INFO", section}
	if section == "cluster" {
		words = []string{"CLUSTER", "INFO"}
	}
	text, err := n.do(ctx, words...).ToString()
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.name, err)
	}
	return store.InfoField(strings.TrimPrefix(text, "txt:"), field), nil
}

// wait polls until something is so.
func wait(ctx context.Context, what string, is func() bool) error {
	return measure.Wait(ctx, clusterTimeout, what, is)
}

// whole waits until every node serves, and each master has a replica that is in step.
func (c *cluster) whole(ctx context.Context) error {
	var why string
	err := wait(ctx, "a whole Cluster", func() bool { why = c.lacks(ctx); return why == "" })
	if err != nil {
		return fmt.Errorf("%w: %s", err, why)
	}
	return nil
}

// lacks says what a Cluster lacks to be whole.
func (c *cluster) lacks(ctx context.Context) string {
	found := 0
	for _, n := range c.nodes {
		state, err := n.field(ctx, "cluster", "cluster_state")
		if err != nil || state != "ok" {
			return fmt.Sprintf("%s: state %q, %v", n.name, state, err)
		}
		if known, _ := n.do(ctx, "CLUSTER", "NODES").ToString(); strings.Contains(known, "fail") || strings.Count(known, "connected") < nodeCount {
			return fmt.Sprintf("%s knows: %s", n.name, known)
		}
		role, err := n.field(ctx, "replication", "role")
		switch {
		case err != nil:
			return err.Error()
		case role == "master":
			if replicas, _ := n.field(ctx, "replication", "connected_slaves"); replicas == "0" {
				return n.name + " has no replica"
			}
			good, _ := n.field(ctx, "replication", "min_slaves_good_slaves")
			if good == "0" {
				return n.name + " has no replica in step"
			}
			found++
		default:
			if link, _ := n.field(ctx, "replication", "master_link_status"); link != "up" {
				return n.name + " is not in step"
			}
		}
	}
	if found != masters {
		return fmt.Sprintf("%d masters", found)
	}
	return ""
}

// epoch grows with every fail-over.
func (c *cluster) epoch(ctx context.Context) string {
	for _, n := range c.nodes {
		if epoch, err := n.field(ctx, "cluster", "cluster_current_epoch"); err == nil && epoch != "" {
			return epoch
		}
	}
	return ""
}

// shard returns the master number i and its replica.
func (c *cluster) shard(ctx context.Context, i int) (master, replica *node, err error) {
	for _, replica := range c.nodes {
		port, err := replica.field(ctx, "replication", "master_port") // only replicas have it
		if err != nil || port == "" {
			continue
		}
		for _, master := range c.nodes {
			if strconv.Itoa(master.front) != port {
				continue
			}
			if i == 0 {
				return master, replica, nil
			}
			i--
		}
	}
	return nil, nil, errors.New("the Cluster has too few replicas")
}

// promotion bounds the wait for a replica to take over.
const promotion = 40 * time.Second

// promoted waits until a replica has taken over, and reports whether it did: it needs the
// votes of the other masters, which a busy machine can delay.
func (c *cluster) promoted(ctx context.Context, n *node) bool {
	ctx, cancel := context.WithTimeout(ctx, promotion)
	defer cancel()
	return wait(ctx, n.name+" to be promoted", func() bool {
		role, _ := n.field(ctx, "replication", "role")
		return role == "master"
	}) == nil
}

// fronts are the addresses of the proxies.
func (c *cluster) fronts() (all []string) {
	for _, n := range c.nodes {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", n.front))
	}
	return all
}

// url is the address of the Cluster for retwis.
func (c *cluster) url() string { return "redis+cluster://" + strings.Join(c.fronts(), ",") }

// migrate moves a slot with its keys to another master while both serve it.
func (c *cluster) migrate(ctx context.Context, slot int, from, to *node) (keys int, err error) {
	text := strconv.Itoa(slot)
	fromID, err1 := from.do(ctx, "CLUSTER", "MYID").ToString()
	toID, err2 := to.do(ctx, "CLUSTER", "MYID").ToString()
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	steps := []error{
		to.do(ctx, "CLUSTER", "SETSLOT", text, "IMPORTING", fromID).Error(),
		from.do(ctx, "CLUSTER", "SETSLOT", text, "MIGRATING", toID).Error(),
	}
	if err := errors.Join(steps...); err != nil {
		return 0, err
	}
	for {
		some, err := from.do(ctx, "CLUSTER", "GETKEYSINSLOT", text, "5").AsStrSlice()
		if err != nil {
			return keys, err
		}
		if len(some) == 0 {
			break
		}
		words := append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "5000", "KEYS"}, some...)
		if err := from.do(ctx, words...).Error(); err != nil {
			return keys, err
		}
		keys += len(some)
	}
	for _, n := range []*node{to, from} {
		if err := n.do(ctx, "CLUSTER", "SETSLOT", text, "NODE", toID).Error(); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// close ends everything.
func (c *cluster) close() {
	for _, n := range c.nodes {
		n.End()
	}
	c.net.Close()
	os.RemoveAll(c.dir)
}
