package site

import (
	"context"
	"os/exec"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bench/measure"
)

// cluster is a Cluster, and the programs that serve it.
type cluster struct {
	site  // of the first program; without a server
	nodes *measure.Cluster
	url   string
	web   []*exec.Cmd
	addrs []string
}

// startCluster starts a Cluster of so many masters. The caller stops what it returns, also
// with an error.
func startCluster(ctx context.Context, dir string, masters int) (c *cluster, err error) {
	c = &cluster{}
	if c.nodes, err = measure.StartCluster(ctx, dir, masters, appendOnly...); err != nil {
		return c, err
	}
	c.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: c.nodes.Addresses, PipelineMultiplex: -1})
	c.url = "redis+cluster://" + strings.Join(c.nodes.Addresses, ",")
	return c, err
}

// version is a program, which is served with flags.
type version struct {
	name, binary string
	flags        []string
}

// serve fills the database with a program, starts it n times, and logs in.
func (c *cluster) serve(ctx context.Context, v version, n int, opt measure.Options) error {
	if err := seed(ctx, v.binary, c.url, opt); err != nil {
		return err
	}
	flags := v.flags
	// Early versions have no limits.
	if help, err := exec.Command(v.binary, "serve", "--help").Output(); err == nil && strings.Contains(string(help), "--limit") {
		flags = append([]string{"--limit", "off"}, flags...)
	}
	for range n {
		cmd, addr, err := startServing(v.binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--redis", c.url}, flags...)...)
		if cmd != nil {
			c.web = append(c.web, cmd)
		}
		if err != nil {
			return err
		}
		c.addrs = append(c.addrs, addr)
	}
	c.addr = c.addrs[0]
	return c.signIn(ctx, connections)
}

// spent is the processor time since the start, in µs: of each master, and of the programs.
type spent struct {
	masters []float64
	web     float64
}

func (c *cluster) spent(ctx context.Context) (spent, error) {
	var s spent
	for _, node := range c.nodes.Clients {
		seconds, err := measure.ServerSeconds(ctx, node)
		if err != nil {
			return s, err
		}
		s.masters = append(s.masters, seconds*1e6)
	}
	for _, program := range c.web {
		s.web += measure.ProcessSeconds(program.Process.Pid) * 1e6
	}
	return s, nil
}

// spending is what a run spends.
func (c *cluster) spending(ctx context.Context, run func() error) (spent, error) {
	before, err := c.spent(ctx)
	if err != nil {
		return spent{}, err
	}
	if err := run(); err != nil {
		return spent{}, err
	}
	after, err := c.spent(ctx)
	if err != nil {
		return spent{}, err
	}
	for i := range after.masters {
		after.masters[i] -= before.masters[i]
	}
	after.web -= before.web
	return after, nil
}

// all is the time of all masters together.
func (s spent) all() (sum float64) {
	for _, master := range s.masters {
		sum += master
	}
	return sum
}

func (c *cluster) stop() {
	for _, program := range c.web {
		stopServing(program)
	}
	if c.client != nil {
		c.client.Close()
	}
	c.nodes.Stop()
}
