package redistest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisurl"
)

// ClusterServers are the masters of a Redis Cluster.
type ClusterServers struct {
	Masters []*Server
	states  []string // of the masters when they were new; see state
}

// slots is how many hash slots a Cluster has.
const slots = 16384

// nodeTimeout is how long the masters of a Cluster wait for each other.
const nodeTimeout = 2 * time.Second

// Cluster returns an empty Cluster, ready for use, that no other test uses at the same time. Its
// servers listen on TCP ports of 127.0.0.1, as a Cluster requires. The test may stop them and
// change their configuration, users and slots: a Cluster that is not as it was ends with its
// test, and others are emptied and used again.
func Cluster(t testing.TB, masters int) *ClusterServers {
	t.Helper()
	Require(t)
	c := idleCluster(masters)
	if c == nil {
		c = &ClusterServers{}
		t.Cleanup(c.giveBack)
		c.begin(t, masters)
		return c
	}
	t.Cleanup(c.giveBack)
	must(t, c.empty())
	return c
}

// begin starts the servers and makes them a Cluster.
func (c *ClusterServers) begin(t testing.TB, masters int) {
	t.Helper()
	for range masters {
		c.Masters = append(c.Masters, beginTCP(t,
			"cluster-enabled yes",
			fmt.Sprint("cluster-node-timeout ", nodeTimeout.Milliseconds()),
			"cluster-require-full-coverage yes",
		))
	}
	c.join(t)
	var err error
	c.states, err = c.each(state)
	must(t, err)
}

// join assigns the slots and introduces the servers to each other.
func (c *ClusterServers) join(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for i, s := range c.Masters {
		client := s.Client(t)
		var owned []string
		for slot := i * slots / len(c.Masters); slot < (i+1)*slots/len(c.Masters); slot++ {
			owned = append(owned, fmt.Sprint(slot))
		}
		must(t, client.Do(ctx, client.B().Arbitrary("CLUSTER", "ADDSLOTS").Args(owned...).Build()).Error())
		must(t, client.Do(ctx, client.B().Arbitrary("CLUSTER", "SET-CONFIG-EPOCH").Args(fmt.Sprint(i+1)).Build()).Error())
	}
	// A server forgets one that has not answered within its timeout, so they meet again.
	meet := func() {
		first := c.Masters[0].Client(t)
		for _, s := range c.Masters[1:] {
			other := s.Client(t)
			must(t, other.Do(ctx, other.B().ClusterMeet().Ip("127.0.0.1").Port(int64(c.Masters[0].Port())).Build()).Error())
			must(t, first.Do(ctx, first.B().ClusterMeet().Ip("127.0.0.1").Port(int64(s.Port())).Build()).Error())
		}
	}
	meet()
	tick, again := time.NewTicker(10*time.Millisecond), time.NewTicker(nodeTimeout)
	defer tick.Stop()
	defer again.Stop()
	for _, s := range c.Masters {
		client := s.Client(t)
		for {
			info, err := client.Do(ctx, client.B().ClusterInfo().Build()).ToString()
			must(t, err)
			if strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_size:%d", len(c.Masters))) {
				break
			}
			select {
			case <-tick.C:
			case <-again.C:
				meet()
			case <-ctx.Done():
				t.Fatalf("redistest: the Cluster does not come up:\n%s", info)
			}
		}
	}
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

// Client returns a client of the Cluster, closed when the test ends.
func (c *ClusterServers) Client(t testing.TB) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.addresses(), PipelineMultiplex: -1, RetryDelay: redisurl.RetryDelay})
	if err != nil {
		t.Fatalf("redistest: connect to the Cluster: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// MoveSlot moves a slot from one master to another, a few keys at a time, while both serve.
func (c *ClusterServers) MoveSlot(ctx context.Context, slot, from, to int) error {
	n, port := strconv.Itoa(slot), strconv.Itoa(c.Masters[to].Port())
	clients := make([]rueidis.Client, len(c.Masters))
	for i, s := range c.Masters {
		client, err := dial(s.URL())
		if err != nil {
			return err
		}
		defer client.Close()
		clients[i] = client
	}
	var err error
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
		some, _ := do(from, "CLUSTER", "GETKEYSINSLOT", n, "3").AsStrSlice()
		if len(some) == 0 {
			break
		}
		do(from, append([]string{"MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS"}, some...)...)
	}
	do(to, "CLUSTER", "SETSLOT", n, "NODE", target)
	do(from, "CLUSTER", "SETSLOT", n, "NODE", target)
	if err == nil {
		err = c.agree(ctx)
	}
	if err != nil {
		return fmt.Errorf("redistest: move slot %d: %w", slot, err)
	}
	return nil
}

// agree waits until all masters have heard of the last move: an older message of a master that had
// the slot could take it back after the next one.
func (c *ClusterServers) agree(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		views, err := c.each(func(ctx context.Context, client rueidis.Client) (string, error) {
			nodes, err := client.Do(ctx, client.B().ClusterNodes().Build()).ToString()
			return fmt.Sprint(stable(nodes, true)), err
		})
		if err != nil || len(slices.Compact(views)) == 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the masters do not agree: %q: %w", views, ctx.Err())
		}
	}
}
