package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redis/redisserver"
)

// clusterSlots is how many hash slots a Cluster has.
const clusterSlots = 16384

// cluster is masters of a Cluster on this machine, and the programs that serve it.
type cluster struct {
	site  // of the first program; without a server
	url   string
	nodes []*redisserver.Server
	each  []rueidis.Client // of each node
	web   []*exec.Cmd
	addrs []string
}

// startCluster starts a Cluster of so many masters.
func startCluster(ctx context.Context, dir string, masters int) (*cluster, error) {
	c := &cluster{}
	if err := c.start(ctx, dir, masters); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context, dir string, masters int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var addresses []string
	for i := range masters {
		port, err := clusterPort()
		if err != nil {
			return err
		}
		server, err := redisserver.Start(ctx, redisserver.Options{
			Dir: filepath.Join(dir, fmt.Sprint("node", i)), Port: port,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Config: []string{"cluster-enabled yes", "appendonly yes", "appendfsync everysec", `save ""`, "auto-aof-rewrite-percentage 0"},
		})
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, server)
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{server.Socket()}, DialCtxFn: dialUnix, ForceSingleClient: true, PipelineMultiplex: -1,
		})
		if err != nil {
			return err
		}
		c.each = append(c.each, client)
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", port))
	}
	for i, node := range c.each {
		slots := []string{"ADDSLOTS"}
		for slot := i * clusterSlots / masters; slot < (i+1)*clusterSlots/masters; slot++ {
			slots = append(slots, fmt.Sprint(slot))
		}
		commands := [][]string{slots, {"SET-CONFIG-EPOCH", fmt.Sprint(i + 1)}}
		if i > 0 {
			host, port, _ := strings.Cut(addresses[0], ":")
			commands = append(commands, []string{"MEET", host, port})
		}
		for _, words := range commands {
			if err := node.Do(ctx, node.B().Arbitrary("CLUSTER").Args(words...).Build()).Error(); err != nil {
				return err
			}
		}
	}
	for _, node := range c.each {
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
	var err error
	c.client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: addresses, PipelineMultiplex: -1})
	c.url = "redis+cluster://" + strings.Join(addresses, ",")
	return err
}

// clusterPort returns a port that is free, and whose bus port is.
func clusterPort() (int, error) {
	for range 1000 {
		port := 10_000 + rand.IntN(12_000)
		if isFree(port) && isFree(port+10_000) {
			return port, nil
		}
	}
	return 0, errors.New("no TCP port is free")
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// serve fills the database with a program of a version, starts it n times, and logs in.
func (c *cluster) serve(ctx context.Context, binary string, n int, opt options, flags ...string) error {
	seed := exec.CommandContext(ctx, binary, "seed", "--redis", c.url, "--password", password,
		"--users", fmt.Sprint(opt.users), "--follows", fmt.Sprint(20*opt.users), "--posts", fmt.Sprint(10*opt.users))
	seed.Stderr = os.Stderr
	if err := seed.Run(); err != nil {
		return fmt.Errorf("retwis seed: %w", err)
	}
	for range n {
		if err := c.serveOne(binary, flags...); err != nil {
			return err
		}
	}
	return c.signIn(ctx)
}

func (c *cluster) serveOne(binary string, flags ...string) error {
	// Early versions have no limits.
	if help, err := exec.Command(binary, "serve", "--help").Output(); err == nil && strings.Contains(string(help), "--limit") {
		flags = append([]string{"--limit", "off"}, flags...)
	}
	cmd, addr, err := startServing(binary, append([]string{"serve", "--addr", "127.0.0.1:0", "--redis", c.url}, flags...)...)
	if cmd != nil {
		c.web = append(c.web, cmd)
	}
	if err != nil {
		return err
	}
	c.addrs = append(c.addrs, addr)
	c.addr = c.addrs[0]
	return nil
}

// spent is the processor time since the start, in µs: of each master, and of the programs.
type spent struct {
	masters []float64
	web     float64
}

func (c *cluster) spent(ctx context.Context) (spent, error) {
	var s spent
	for _, node := range c.each {
		info, err := node.Do(ctx, node.B().Info().Section("cpu").Build()).ToString()
		if err != nil {
			return s, err
		}
		sum := 0.0
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name != "used_cpu_user" && name != "used_cpu_sys" {
				continue
			}
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return s, fmt.Errorf("INFO: %q", line)
			}
			sum += seconds * 1e6
		}
		s.masters = append(s.masters, sum)
	}
	for _, program := range c.web {
		s.web += processSeconds(program) * 1e6
	}
	return s, nil
}

// since is what was spent since an earlier time.
func (s spent) since(earlier spent) spent {
	between := spent{web: s.web - earlier.web}
	for i := range s.masters {
		between.masters = append(between.masters, s.masters[i]-earlier.masters[i])
	}
	return between
}

// all is the time of all masters together.
func (s spent) all() (sum float64) {
	for _, master := range s.masters {
		sum += master
	}
	return sum
}

// idle waits until no fan-out and no task is left.
func (c *cluster) idle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		left := int64(0)
		for _, key := range []string{"fanouts", "tasks"} {
			n, err := c.client.Do(ctx, c.client.B().Zcard().Key(key).Build()).AsInt64()
			if err != nil {
				return fmt.Errorf("wait for the fan-outs: %w", err)
			}
			left += n
		}
		if left == 0 {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *cluster) stop() {
	for _, program := range c.web {
		stopServing(program)
	}
	if c.client != nil {
		c.client.Close()
	}
	for _, client := range c.each {
		client.Close()
	}
	for _, node := range c.nodes {
		_ = node.Kill()
		<-node.Done()
	}
}
