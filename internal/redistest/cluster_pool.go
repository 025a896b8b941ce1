package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// idleCluster returns a Cluster that another test has given back, or nil if there is none.
func idleCluster(masters int) *ClusterServers {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for i, c := range shared.clusters {
		if len(c.Masters) == masters {
			shared.clusters = slices.Delete(shared.clusters, i, i+1)
			return c
		}
	}
	return nil
}

// giveBack empties a Cluster for the next test, or stops it if it was changed.
func (c *ClusterServers) giveBack() {
	if !c.reset() {
		c.stop()
		return
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.clusters = append(shared.clusters, c)
}

// reset empties a Cluster and reports whether the test has changed nothing else.
func (c *ClusterServers) reset() bool {
	for _, s := range c.Masters {
		if s.Server.Thaw() != nil {
			return false
		}
	}
	states, err := c.each(reset)
	return err == nil && len(states) > 0 && slices.Equal(states, c.states)
}

// checkEmpty returns an error if a process of an earlier test still writes to the Cluster.
func (c *ClusterServers) checkEmpty() error {
	sizes, err := c.each(func(ctx context.Context, client rueidis.Client) (string, error) {
		size, err := client.Do(ctx, client.B().Dbsize().Build()).AsInt64()
		return fmt.Sprint(size), err
	})
	if err != nil {
		return err
	}
	for i, size := range sizes {
		if size != "0" {
			return fmt.Errorf("an earlier test still writes to its Cluster: master %d has %s keys", i, size)
		}
	}
	return nil
}

func (c *ClusterServers) stop() {
	for _, s := range c.Masters {
		s.end()
	}
}

// reset empties a master and returns its state.
func reset(ctx context.Context, client rueidis.Client) (string, error) {
	for _, command := range []string{"CLIENT UNPAUSE", "FLUSHALL", "SCRIPT FLUSH", "CONFIG RESETSTAT", "SLOWLOG RESET"} {
		words := strings.Fields(command)
		if err := client.Do(ctx, client.B().Arbitrary(words...).Build()).Error(); err != nil {
			return "", err
		}
	}
	return state(ctx, client)
}

// state returns what a test can change in a master besides its data: the process, the
// configuration, the users, and the nodes and slots of the Cluster.
func state(ctx context.Context, client rueidis.Client) (string, error) {
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "", err
	}
	_, process, _ := strings.Cut(info, "run_id:")
	process, _, _ = strings.Cut(process, "\r\n")
	config, err := client.Do(ctx, client.B().ConfigGet().Parameter("*").Build()).AsStrMap()
	if err != nil {
		return "", err
	}
	users, err := client.Do(ctx, client.B().AclList().Build()).AsStrSlice()
	if err != nil {
		return "", err
	}
	nodes, err := client.Do(ctx, client.B().ClusterNodes().Build()).ToString()
	return fmt.Sprint(process, config, users, stable(nodes, false)), err
}

// stable returns the parts of a CLUSTER NODES reply that do not change in an idle Cluster: the ID,
// the flags and the slots of each node and, if requested, its config epoch.
func stable(nodes string, epochs bool) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(nodes, "txt:")) { // added by the server in RESP3
		if fields := strings.Fields(line); len(fields) >= 8 {
			flags := strings.TrimPrefix(fields[2], "myself,")
			line := fmt.Sprint(fields[0], flags, fields[8:])
			if epochs {
				line += " " + fields[6]
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
