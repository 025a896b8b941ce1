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
	// nodeTimeout is cluster-node-timeout. It is short, so that a run has many failovers, but long
	// enough for a busy machine.
	nodeTimeout = 4 * time.Second
	// maxLag is min-replicas-max-lag: a master refuses writes if its last acknowledgement from a
	// replica is older.
	maxLag = 3 * time.Second
	// clusterTimeout limits each wait for the Cluster.
	clusterTimeout = 90 * time.Second
)

// node is a server of the Cluster. Only the lab connects to the server directly; all other
// processes use its proxy.
type node struct {
	*measure.Server
	name      string
	port      int
	proxyPort int // the port that the node announces
}

// cluster is a Cluster of three masters with a replica each.
type cluster struct {
	dir   string
	net   *network.Network
	nodes []*node
}

// nodeConfig returns the configuration of each node. docs/operations.md explains the settings that
// determine which writes can be lost.
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

// startCluster starts the nodes and creates the Cluster.
func startCluster(ctx context.Context, dir string, minReplicas int) (*cluster, error) {
	c := &cluster{dir: filepath.Join(dir, "nodes"), net: network.New()}
	for i := range nodeCount {
		n := &node{name: fmt.Sprintf("redis%d", i)}
		var bus int
		for _, port := range []*int{&n.port, &n.proxyPort, &bus} {
			var err error
			if *port, err = measure.FreePort(); err != nil {
				return c, err
			}
		}
		n.Server = measure.NewServer(filepath.Join(c.dir, fmt.Sprint(i)), n.port, append(nodeConfig(minReplicas), "cluster-announce-ip 127.0.0.1",
			fmt.Sprintf("cluster-announce-port %d", n.proxyPort), fmt.Sprintf("cluster-announce-bus-port %d", bus))...)
		c.nodes = append(c.nodes, n)
		for proxyPort, to := range map[int]int{n.proxyPort: n.port, bus: n.port + 10_000} {
			if _, err := c.net.Listen(n.name, proxyPort, fmt.Sprintf("127.0.0.1:%d", to)); err != nil {
				return c, err
			}
		}
	}
	if err := measure.Concurrently(nodeCount, nodeCount, func(i int) error { return c.start(ctx, c.nodes[i]) }); err != nil {
		return c, err
	}
	if err := measure.CreateCluster(ctx, 1, c.proxyAddrs()); err != nil {
		return c, err
	}
	return c, c.waitHealthy(ctx)
}

// start starts or restarts a node.
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

// field returns a field of INFO, or of CLUSTER INFO for the section "cluster".
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

// wait polls a condition until it holds.
func wait(ctx context.Context, what string, condition func() bool) error {
	return measure.Wait(ctx, clusterTimeout, what, condition)
}

// waitHealthy waits until every node is up and each master has a replica that is in sync.
func (c *cluster) waitHealthy(ctx context.Context) error {
	var problem string
	err := wait(ctx, "a healthy Cluster", func() bool { problem = c.problem(ctx); return problem == "" })
	if err != nil {
		return fmt.Errorf("%w: %s", err, problem)
	}
	return nil
}

// problem describes a problem of the Cluster. It returns "" if the Cluster is healthy.
func (c *cluster) problem(ctx context.Context) string {
	found := 0
	for _, n := range c.nodes {
		state, err := n.field(ctx, "cluster", "cluster_state")
		if err != nil || state != "ok" {
			return fmt.Sprintf("%s: state %q, %v", n.name, state, err)
		}
		if known, _ := n.do(ctx, "CLUSTER", "NODES").ToString(); strings.Contains(known, "fail") || strings.Count(known, "connected") < nodeCount {
			return fmt.Sprintf("%s: CLUSTER NODES: %s", n.name, known)
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
				return n.name + " has no replica in sync"
			}
			found++
		default:
			if link, _ := n.field(ctx, "replication", "master_link_status"); link != "up" {
				return n.name + " is not in sync"
			}
		}
	}
	if found != masters {
		return fmt.Sprintf("%d masters", found)
	}
	return ""
}

// epoch returns the current epoch of the Cluster, which changes with every failover.
func (c *cluster) epoch(ctx context.Context) string {
	for _, n := range c.nodes {
		if epoch, err := n.field(ctx, "cluster", "cluster_current_epoch"); err == nil && epoch != "" {
			return epoch
		}
	}
	return ""
}

// shard returns master i and its replica.
func (c *cluster) shard(ctx context.Context, i int) (master, replica *node, err error) {
	for _, replica := range c.nodes {
		port, err := replica.field(ctx, "replication", "master_port") // only replicas have it
		if err != nil || port == "" {
			continue
		}
		for _, master := range c.nodes {
			if strconv.Itoa(master.proxyPort) != port {
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

// promotionTimeout limits the wait for the promotion of a replica.
const promotionTimeout = 40 * time.Second

// promoted waits until a replica is promoted, and reports whether it was. The promotion needs the
// votes of the other masters, which a busy machine can delay.
func (c *cluster) promoted(ctx context.Context, n *node) bool {
	ctx, cancel := context.WithTimeout(ctx, promotionTimeout)
	defer cancel()
	return wait(ctx, n.name+" to be promoted", func() bool {
		role, _ := n.field(ctx, "replication", "role")
		return role == "master"
	}) == nil
}

// proxyAddrs returns the addresses of the proxies.
func (c *cluster) proxyAddrs() (all []string) {
	for _, n := range c.nodes {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", n.proxyPort))
	}
	return all
}

// url returns the address of the Cluster for retwis.
func (c *cluster) url() string { return "redis+cluster://" + strings.Join(c.proxyAddrs(), ",") }

// migrate moves a slot with its keys to another master while both masters serve requests, and
// returns the number of keys.
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
		batch, err := from.do(ctx, "CLUSTER", "GETKEYSINSLOT", text, "5").AsStrSlice()
		if err != nil {
			return keys, err
		}
		if len(batch) == 0 {
			break
		}
		words := append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(to.port), "", "0", "5000", "KEYS"}, batch...)
		if err := from.do(ctx, words...).Error(); err != nil {
			return keys, err
		}
		keys += len(batch)
	}
	for _, n := range []*node{to, from} {
		if err := n.do(ctx, "CLUSTER", "SETSLOT", text, "NODE", toID).Error(); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// close kills the nodes, closes the proxies and deletes the data.
func (c *cluster) close() {
	for _, n := range c.nodes {
		n.End()
	}
	c.net.Close()
	os.RemoveAll(c.dir)
}
