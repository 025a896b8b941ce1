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
	return c, c.join(ctx)
}

// join spreads the slots over the nodes, and waits until all know of all.
func (c *Cluster) join(ctx context.Context) error {
	masters := len(c.Clients)
	for i, node := range c.Clients {
		slots := []string{"ADDSLOTS"}
		for slot := i * clusterSlots / masters; slot < (i+1)*clusterSlots/masters; slot++ {
			slots = append(slots, fmt.Sprint(slot))
		}
		host, port, _ := strings.Cut(c.Addresses[0], ":")
		for _, words := range [][]string{slots, {"SET-CONFIG-EPOCH", fmt.Sprint(i + 1)}, {"MEET", host, port}} {
			if err := node.Do(ctx, node.B().Arbitrary("CLUSTER").Args(words...).Build()).Error(); err != nil {
				return err
			}
		}
	}
	for _, node := range c.Clients {
		for {
			info, err := node.Do(ctx, node.B().ClusterInfo().Build()).ToString()
			if err != nil {
				return err
			}
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", masters)) {
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
	for _, node := range c.Nodes {
		_ = node.Kill()
		<-node.Done()
	}
}
