package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisserver"
)

// clusterSlots is how many hash slots a Cluster has.
const clusterSlots = 16384

// Cluster is masters of a Cluster on this machine.
type Cluster struct {
	Nodes     []*redisserver.Server
	Clients   []rueidis.Client // of each node
	Addresses []string
}

// StartCluster starts masters and joins them. The caller stops what it returns, also with an
// error.
func StartCluster(ctx context.Context, dir string, masters int, config ...string) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := &Cluster{}
	for i := range masters {
		port, err := FreePort()
		if err != nil {
			return c, err
		}
		node, err := StartServer(ctx, filepath.Join(dir, fmt.Sprint("node", i)), port, append(config, "cluster-enabled yes")...)
		if err != nil {
			return c, err
		}
		c.Nodes = append(c.Nodes, node)
		client, err := Dial(node.Socket())
		if err != nil {
			return c, err
		}
		c.Clients = append(c.Clients, client)
		c.Addresses = append(c.Addresses, fmt.Sprint("127.0.0.1:", port))
	}
	host, port, _ := strings.Cut(c.Addresses[0], ":")
	if err := Join(ctx, c.Clients, masters, host, port); err != nil {
		return c, err
	}
	return c, c.known(ctx)
}

// Join gives the slots to the first nodes, and introduces all of them to the first one, whose
// address is words of CLUSTER MEET.
func Join(ctx context.Context, nodes []rueidis.Client, masters int, first ...string) error {
	for i, node := range nodes {
		commands := [][]string{{"SET-CONFIG-EPOCH", fmt.Sprint(i + 1)}, append([]string{"MEET"}, first...)}
		if i < masters {
			slots := []string{"ADDSLOTS"}
			for slot := i * clusterSlots / masters; slot < (i+1)*clusterSlots/masters; slot++ {
				slots = append(slots, fmt.Sprint(slot))
			}
			commands = append(commands, slots)
		}
		for _, words := range commands {
			if err := node.Do(ctx, node.B().Arbitrary("CLUSTER").Args(words...).Build()).Error(); err != nil {
				return err
			}
		}
	}
	return nil
}

// known waits until all nodes know of all.
func (c *Cluster) known(ctx context.Context) error {
	for _, node := range c.Clients {
		for {
			info, err := node.Do(ctx, node.B().ClusterInfo().Build()).ToString()
			if err != nil {
				return err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", len(c.Clients))) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// Stop stops the nodes.
func (c *Cluster) Stop() {
	for _, client := range c.Clients {
		client.Close()
	}
	StopServers(c.Nodes...)
}
