package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// holdEnv makes this test binary start a server, print the directory and socket of the server, and
// wait to be killed.
const holdEnv = "REDISTEST_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		hold()
	}
	Parallel(8) // starting a Cluster is mostly waiting
	Main(m)
}

func hold() {
	s, err := begin(0, nil)
	if err == nil && os.Getenv(holdEnv) == "frozen" {
		err = s.Server.Freeze()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.dir, s.Socket())
	select {}
}

func set(t *testing.T, c rueidis.Client, value string) {
	t.Helper()
	if err := c.Do(t.Context(), c.B().Set().Key("k").Value(value).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// get returns the value of k, or "" if it is missing.
func get(t *testing.T, c rueidis.Client) string {
	t.Helper()
	value, err := c.Do(t.Context(), c.B().Get().Key("k").Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(err)
	}
	return value
}

// A hundred tests share one server, and no test reads the writes of another test.
func TestDatabasesAreIsolated(t *testing.T) {
	t.Parallel()
	pid := One(t).Pid()
	var mu sync.Mutex
	seen := map[string]bool{}
	for n := range 100 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			db := DB(t)
			if One(t).Pid() != pid {
				t.Error("One started a second shared server")
			}
			mu.Lock()
			seen[db.URL()] = true
			mu.Unlock()
			c := db.Client(t)
			if got := get(t, c); got != "" {
				t.Errorf("the database is not empty: k = %q", got)
			}
			set(t, c, fmt.Sprint(n))
			if got := get(t, c); got != fmt.Sprint(n) {
				t.Errorf("GET k = %q, want %d", got, n)
			}
		})
	}
}

func TestNodesAreIndependent(t *testing.T) {
	t.Parallel()
	for i, node := range Nodes(t, 3) {
		c := node.Client(t)
		if got := get(t, c); got != "" {
			t.Errorf("node %d has the data of another node: %q", i, got)
		}
		set(t, c, "v")
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	s := Own(t, "appendonly yes", "appendfsync always")
	c := s.Client(t)
	set(t, c, "v")
	s.Restart(t, true)
	if got := get(t, c); got != "v" {
		t.Errorf("GET k = %q after a restart that keeps the data, want %q", got, "v")
	}
	s.Restart(t, false)
	if got := get(t, c); got != "" {
		t.Errorf("GET k = %q after a restart that deletes the data, want %q", got, "")
	}
	s.Stop(t)
	s.Restart(t, true)
	set(t, s.Client(t), "w")
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	s := Own(t)
	c := s.Client(t)
	set(t, c, "v")
	s.Freeze(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Do(ctx, c.B().Ping().Build()).Error(); err == nil {
		t.Error("a frozen server answered")
	}
	s.Thaw(t)
	if got := get(t, c); got != "v" {
		t.Errorf("GET k = %q after Thaw, want %q", got, "v")
	}
	s.Freeze(t)
	s.Kill(t) // works even if the server is frozen
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := Cluster(t, 3)
	c := cluster.Client(t)
	if mode := c.Mode(); mode != rueidis.ClientModeCluster {
		t.Fatalf("the mode of the client is %s, want %s", mode, rueidis.ClientModeCluster)
	}
	for n := range 50 {
		if err := c.Do(t.Context(), c.B().Set().Key(fmt.Sprint(n)).Value("v").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range cluster.Masters {
		master := s.Client(t)
		if n, err := master.Do(t.Context(), master.B().Dbsize().Build()).AsInt64(); err != nil || n == 0 {
			t.Errorf("master %d has %d keys (%v)", i, n, err)
		}
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 20 {
		port := FreePort(t)
		if seen[port] {
			t.Errorf("FreePort returned port %d twice", port)
		}
		seen[port] = true
	}
}

// Without a server, a test is skipped, or fails if REDISTEST_REQUIRE is 1.
func TestNoServer(t *testing.T) {
	t.Parallel()
	for required, want := range map[string]string{"": "SKIPPED, NOT PROVED", "1": "REDISTEST_REQUIRE=1, and no server"} {
		child := exec.Command(os.Args[0], "-test.run=^TestFreeze$", "-test.v")
		child.Env = append(os.Environ(), "PATH=", "RETWIS_REDIS_SERVER=", "REDISTEST_REQUIRE="+required)
		out, err := child.CombinedOutput()
		if failed := err != nil; failed != (required == "1") || !strings.Contains(string(out), want) {
			t.Errorf("REDISTEST_REQUIRE=%q: %v, %s", required, err, out)
		}
	}
}
