package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
)

// ClusterServers are the masters of a Redis Cluster.
type ClusterServers struct {
	Masters []*Server
	states  []string // state of the masters when they were new; see state
}

// slots is the number of hash slots of a Cluster.
const slots = 16384

// nodeTimeout is the cluster-node-timeout of the masters.
const nodeTimeout = 2 * time.Second

// Cluster returns an empty Cluster, ready for use, that no other test uses at the same time. Its
// servers listen on TCP ports of 127.0.0.1, as a Cluster requires. The test may stop the servers and
// change their configuration, users and slots: a Cluster that was changed is stopped after its test;
// other Clusters are emptied and reused.
func Cluster(t testing.TB, masters int) *ClusterServers {
	t.Helper()
	Require(t)
	c := idleCluster(masters)
	if c == nil {
		c = beginCluster(t, masters)
	}
	t.Cleanup(c.giveBack)
	must(t, c.checkEmpty())
	return c
}

// beginCluster starts the servers of a Cluster, and waits until it is ready.
func beginCluster(t testing.TB, masters int) *ClusterServers {
	t.Helper()
	for try := 1; ; try++ {
		c, err := startCluster(newMap(t, masters))
		if err == nil {
			return c
		}
		c.stop()
		if try == tries {
			t.Fatalf("redistest: %v", err)
		}
	}
}

// clusterMap lists the servers of a Cluster before they are started.
type clusterMap struct {
	name   string // prefix of all node IDs
	ports  []int
	shards bool // nodes.conf also contains the shard of a node
}

func newMap(t testing.TB, masters int) clusterMap {
	t.Helper()
	m := clusterMap{name: fmt.Sprintf("%016x", rand.Uint64())}
	var major, minor int
	_, err := fmt.Sscanf(Version(t), "%d.%d", &major, &minor)
	must(t, err)
	m.shards = major > 7 || major == 7 && minor >= 2
	for range masters {
		m.ports = append(m.ports, FreePort(t))
	}
	return m
}

// node returns the ID of a master.
func (m clusterMap) node(i int) string { return fmt.Sprintf("%s%024x", m.name, 0x1000+i) }

// placeholder returns the ID of the nonexistent master that a master replaces; see startCluster.
func (m clusterMap) placeholder(i int) string { return fmt.Sprintf("%s%024x", m.name, 0x2000+i) }

// conf returns the nodes.conf of a master.
func (m clusterMap) conf(myself int) string {
	var b strings.Builder
	for i, port := range m.ports {
		flags := "slave"
		if i == myself {
			flags = "myself,slave"
		}
		shard := ""
		if m.shards {
			shard = ",,shard-id=" + m.placeholder(i)
		}
		first, last := i*slots/len(m.ports), (i+1)*slots/len(m.ports)-1
		fmt.Fprintf(&b, "%s 127.0.0.1:1@1%s master - 0 0 %d connected %d-%d\n", m.placeholder(i), shard, i+1, first, last)
		fmt.Fprintf(&b, "%s 127.0.0.1:%d@%d%s %s %s 0 0 %d connected\n", m.node(i), port, port+busOffset, shard, flags, m.placeholder(i), i+1)
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", len(m.ports))
	return b.String()
}

// startCluster starts the servers of a Cluster. The servers read the nodes and slots of the Cluster
// from nodes.conf. A master waits two seconds after its start before it accepts commands, but a
// replica does not. So each server starts as the replica of a nonexistent master, and immediately
// replaces this master.
func startCluster(m clusterMap) (*ClusterServers, error) {
	c := &ClusterServers{Masters: make([]*Server, len(m.ports))}
	errs := make([]error, len(m.ports))
	var starting sync.WaitGroup
	for i := range m.ports {
		starting.Go(func() { c.Masters[i], errs[i] = m.start(i) })
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	masters, err := c.connect()
	if err != nil {
		return c, err
	}
	defer masters.close()
	if err := m.takeOver(context.Background(), masters); err != nil {
		return c, err
	}
	c.states, err = masters.each(context.Background(), state)
	return c, err
}

// takeOver makes the servers replace the nonexistent masters, one after another, so that no two
// servers get the same epoch. Otherwise, a replica that does not serve yet would become a
// master that waits. So would a master that forgets a placeholder before it knows the new owner of
// the slots.
func (m clusterMap) takeOver(ctx context.Context, servers masters) error {
	if err := servers.wait(ctx, clusterInfo, servesOrGaveUp); err != nil {
		return err
	}
	if err := servers.wait(ctx, clusterNodes, m.connected); err != nil {
		return err
	}
	for _, s := range servers {
		if err := s.Do(ctx, s.B().Arbitrary("CLUSTER", "FAILOVER", "TAKEOVER").Build()).Error(); err != nil {
			return fmt.Errorf("take over the slots: %w", err)
		}
		if err := servers.agree(ctx); err != nil {
			return err
		}
	}
	if _, err := servers.each(ctx, m.forgetPlaceholders); err != nil {
		return fmt.Errorf("forget the earlier masters: %w", err)
	}
	if err := servers.wait(ctx, clusterInfo, m.complete); err != nil {
		return err
	}
	return servers.agree(ctx)
}

// servesOrGaveUp reports whether a replica serves, or has noticed that its master does not exist.
func servesOrGaveUp(info string) bool {
	return strings.Contains(info, "cluster_state:ok\r") || !strings.Contains(info, "cluster_slots_pfail:0\r")
}

// connected reports whether a server has a connection to each of the other servers.
func (m clusterMap) connected(nodes string) bool {
	for i := range m.ports {
		_, node, _ := strings.Cut(nodes, m.node(i))
		node, _, _ = strings.Cut(node, "\n")
		if strings.Contains(node, "disconnected") {
			return false
		}
	}
	return true
}

func (m clusterMap) start(i int) (*Server, error) {
	s, err := prepare(m.ports[i], []string{
		"cluster-enabled yes",
		fmt.Sprint("cluster-node-timeout ", nodeTimeout.Milliseconds()),
		"cluster-require-full-coverage yes",
	})
	if err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "nodes.conf"), []byte(m.conf(i)), 0o600); err != nil {
		return s, err
	}
	return s, s.start()
}

// forgetPlaceholders makes a master forget the nonexistent masters.
func (m clusterMap) forgetPlaceholders(ctx context.Context, client rueidis.Client) (string, error) {
	for i := range m.ports {
		err := client.Do(ctx, client.B().Arbitrary("CLUSTER", "FORGET").Args(m.placeholder(i)).Build()).Error()
		if err != nil && !strings.Contains(err.Error(), "Unknown node") { // another master has already made it forget the node
			return "", err
		}
	}
	return "", nil
}

// complete reports whether a master serves, and knows exactly the masters of the Cluster.
func (m clusterMap) complete(info string) bool {
	return strings.Contains(info, "cluster_state:ok\r") &&
		strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(m.ports))) &&
		strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", len(m.ports)))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// URL returns the URL of the Cluster for internal/redis/store.
func (c *ClusterServers) URL() string {
	return "redis+cluster://" + strings.Join(c.addresses(), ",")
}

func (c *ClusterServers) addresses() []string {
	var addresses []string
	for _, s := range c.Masters {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", s.Port()))
	}
	return addresses
}

// Client returns a client of the Cluster. It is closed when the test ends.
func (c *ClusterServers) Client(t testing.TB) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.addresses(), PipelineMultiplex: -1, RetryDelay: redisurl.RetryDelay})
	if err != nil {
		t.Fatalf("redistest: connect to the Cluster: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// MoveSlot moves a slot from one master to another, a few keys at a time, while both are in use.
func (c *ClusterServers) MoveSlot(ctx context.Context, slot, from, to int) error {
	n, port := strconv.Itoa(slot), strconv.Itoa(c.Masters[to].Port())
	clients, err := c.connect()
	if err != nil {
		return err
	}
	defer clients.close()
	do := func(i int, words ...string) (r rueidis.RedisResult) {
		if err == nil {
			r = clients[i].Do(ctx, clients[i].B().Arbitrary(words...).Build())
			err = r.Error()
		}
		return r
	}
	source, _ := do(from, "CLUSTER", "MYID").ToString()
	target, _ := do(to, "CLUSTER", "MYID").ToString()
	do(to, "CLUSTER", "SETSLOT", n, "IMPORTING", source)
	do(from, "CLUSTER", "SETSLOT", n, "MIGRATING", target)
	for err == nil {
		keys, _ := do(from, "CLUSTER", "GETKEYSINSLOT", n, "3").AsStrSlice()
		if len(keys) == 0 {
			break
		}
		do(from, append([]string{"MIGRATE", "127.0.0.1", port, "", "0", "3600000", "KEYS"}, keys...)...)
	}
	// An older message of the previous owner can give the slot back to that owner, possibly after the
	// next move.
	if err == nil {
		err = clients.agreeOn(ctx, func() error {
			do(to, "CLUSTER", "SETSLOT", n, "NODE", target)
			do(from, "CLUSTER", "SETSLOT", n, "NODE", target)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("redistest: move slot %d: %w", slot, err)
	}
	return nil
}
