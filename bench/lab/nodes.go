package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"retwis/bench/lab/network"
	"retwis/bench/measure"
	"retwis/internal/redis/redisserver"
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
	name       string
	dir        string
	port       int
	front, bus int // the ports of its proxies, which it announces
	id         string
	server     *redisserver.Server
	client     rueidis.Client // over the socket, without a proxy
	config     []string
}

// cluster is three masters with a replica each.
type cluster struct {
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
		"save \"\"",
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
	c := &cluster{net: network.New()}
	for i := range nodeCount {
		n := &node{name: fmt.Sprintf("redis%d", i), dir: filepath.Join(dir, fmt.Sprintf("n%d", i)), config: nodeConfig(minReplicas)}
		for _, port := range []*int{&n.port, &n.front, &n.bus} {
			var err error
			if *port, err = measure.FreePort(); err != nil {
				return c, err
			}
		}
		n.config = append(n.config, "cluster-announce-ip 127.0.0.1",
			fmt.Sprintf("cluster-announce-port %d", n.front), fmt.Sprintf("cluster-announce-bus-port %d", n.bus))
		c.nodes = append(c.nodes, n)
		for front, to := range map[int]int{n.front: n.port, n.bus: n.port + 10_000} {
			if _, err := c.net.Listen(n.name, front, fmt.Sprintf("127.0.0.1:%d", to)); err != nil {
				return c, err
			}
		}
	}
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = c.start(ctx, n) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	return c, c.join(ctx)
}

// start starts a node, for the first time or again.
func (c *cluster) start(ctx context.Context, n *node) (err error) {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	n.server, err = redisserver.Start(ctx, redisserver.Options{
		Dir: n.dir, Port: n.port, Config: n.config, DeathSignal: syscall.SIGKILL,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err == nil && n.client == nil {
		n.client, err = measure.Dial(n.server.Socket())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	c.net.Process(n.name, n.server.Pid())
	return nil
}

func (n *node) do(ctx context.Context, words ...string) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return n.client.Do(ctx, n.client.B().Arbitrary(words[0]).Args(words[1:]...).Build())
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
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimPrefix(line, "txt:"), field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

// wait polls until something is so.
func wait(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// join gives the slots to the masters, introduces the nodes, and appoints the replicas.
func (c *cluster) join(ctx context.Context) error {
	var clients []rueidis.Client
	for _, n := range c.nodes {
		var err error
		if n.id, err = n.do(ctx, "CLUSTER", "MYID").ToString(); err != nil {
			return err
		}
		clients = append(clients, n.client)
	}
	first := c.nodes[0]
	if err := measure.Join(ctx, clients, masters, "127.0.0.1", fmt.Sprint(first.front), fmt.Sprint(first.bus)); err != nil {
		return err
	}
	for i, n := range c.nodes[masters:] {
		err := wait(ctx, n.name+" to become a replica", func() bool {
			return n.do(ctx, "CLUSTER", "REPLICATE", c.nodes[i].id).Error() == nil
		})
		if err != nil {
			return err
		}
	}
	return c.whole(ctx)
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
	for _, n := range c.nodes {
		known, err := n.do(ctx, "CLUSTER", "NODES").ToString()
		if err != nil {
			continue
		}
		byID := map[string]*node{}
		for _, n := range c.nodes {
			byID[n.id] = n
		}
		for line := range strings.Lines(known) {
			fields := strings.Fields(line)
			if len(fields) < 8 || !strings.Contains(fields[2], "slave") {
				continue
			}
			if replica, master := byID[fields[0]], byID[fields[3]]; replica != nil && master != nil {
				if i == 0 {
					return master, replica, nil
				}
				i--
			}
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

// url is the address of the Cluster for retwis.
func (c *cluster) url() string {
	var at []string
	for _, n := range c.nodes {
		at = append(at, fmt.Sprintf("127.0.0.1:%d", n.front))
	}
	return "redis+cluster://" + strings.Join(at, ",")
}

// migrate moves a slot with its keys to another master while both serve it.
func (c *cluster) migrate(ctx context.Context, slot int, from, to *node) (keys int, err error) {
	text := strconv.Itoa(slot)
	steps := []error{
		to.do(ctx, "CLUSTER", "SETSLOT", text, "IMPORTING", from.id).Error(),
		from.do(ctx, "CLUSTER", "SETSLOT", text, "MIGRATING", to.id).Error(),
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
		if err := n.do(ctx, "CLUSTER", "SETSLOT", text, "NODE", to.id).Error(); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// close ends everything.
func (c *cluster) close() {
	for _, n := range c.nodes {
		if n.server != nil {
			_ = n.server.Kill()
			<-n.server.Done()
		}
		if n.client != nil {
			n.client.Close()
		}
	}
	c.net.Close()
	for _, n := range c.nodes {
		os.RemoveAll(n.dir)
	}
}
