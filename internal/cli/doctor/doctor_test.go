package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/social/storage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// statuses formats the findings as text.
func statuses(found []finding) string {
	var all []string
	for _, f := range found {
		all = append(all, string(f.Status)+" "+f.What+" "+f.Found)
		if (f.Status == Advice || f.Status == Problem) && (f.Why == "" || f.Do == "") {
			all = append(all, "(does not say why, or what to do)")
		}
	}
	return strings.Join(all, "; ")
}

func TestCluster(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 3).Client(t)
	found, err := checkCluster(t.Context(), client)
	if err != nil || len(found) != 3 {
		t.Fatalf("checkCluster = %v, %v; want 3 findings", found, err)
	}
	if f := found[0]; f.Status != OK || f.Found != "16384 of 16384" {
		t.Errorf("slots: %+v", f)
	}
	if f := found[1]; f.Status != Advice || strings.Count(f.Found, ":") != 3 || f.Do == "" {
		t.Errorf("replicas: %+v", f)
	}
	if single, err := checkCluster(t.Context(), redistest.DB(t).Client(t)); err != nil || single != nil {
		t.Errorf("checkCluster of a single server = %v, %v; want none", single, err)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	for want, shards := range map[string][]shard{
		"ok slots with an owner 16384 of 16384; ok replicas each of 2 masters has one":  {{0, 8000, "a:1", 1}, {8001, 16383, "b:1", 2}},
		"problem slots with an owner 16383 of 16384; advice replicas none for b:1":      {{0, 8000, "a:1", 1}, {8002, 16383, "b:1", 0}},
		"ok slots with an owner 16384 of 16384; advice replicas none for a:1, b:1":      {{0, 8000, "b:1", 0}, {8001, 16383, "a:1", 0}},
		"problem slots with an owner 0 of 16384; ok replicas each of 0 masters has one": nil,
		"ok slots with an owner 16384 of 16384; ok replicas each of 1 master has one":   {{0, 99, "a:1", 1}, {100, 16383, "a:1", 1}},
	} {
		if got := statuses(coverage(shards)); got != want {
			t.Errorf("%v: %s, want %s", shards, got, want)
		}
	}
}

func TestJobsGivenUp(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	if got := statuses(checkSite(t.Context(), client)); strings.Contains(got, "given up") {
		t.Errorf("findings without dead tasks: %s", got)
	}
	add := client.B().Xadd().Key(storage.DeadTasks).Id("*").FieldValue().FieldValue("job", "push:1").Build()
	if err := client.Do(t.Context(), add).Error(); err != nil {
		t.Fatal(err)
	}
	if got := statuses(checkSite(t.Context(), client)); !strings.Contains(got, "problem jobs given up 1") {
		t.Errorf("findings with a dead task: %s", got)
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	write := func(root string, files map[string]string) {
		t.Helper()
		for name, text := range files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	bad, good := t.TempDir(), t.TempDir()
	write(bad, map[string]string{"proc/sys/vm/overcommit_memory": "0\n", "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"})
	write(good, map[string]string{
		"proc/sys/vm/overcommit_memory": "1\n", "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"proc/77/comm": "valkey-server\n", "proc/78/comm": "nginx\n", "proc/sys/kernel/osrelease": "6.1.0-9\n",
	})
	for _, c := range []struct {
		root, want string
		off        bool
	}{
		{bad, "advice vm.overcommit_memory 0; advice transparent huge pages always", false},
		{bad, "advice vm.overcommit_memory 0; ok transparent huge pages always, off for the server", true},
		{good, "ok vm.overcommit_memory 1; ok transparent huge pages madvise", false},
		{t.TempDir(), "", false},
	} {
		if got := statuses(system(c.root, c.off)); got != c.want {
			t.Errorf("system(%s) = %s, want %s", c.root, got, c.want)
		}
	}
	info := func(pid, release string) string {
		return "# Server\r\nos:Linux " + release + " x86_64\r\nprocess_id:" + pid + "\r\n"
	}
	for _, c := range []struct {
		info string
		want bool
	}{{info("77", "6.1.0-9"), true}, {info("78", "6.1.0-9"), false}, {info("79", "6.1.0-9"), false}, {info("77", "5.0"), false}, {"", false}} {
		if got := isLocal(good, c.info); got != c.want {
			t.Errorf("isLocal(%q) = %t, want %t", c.info, got, c.want)
		}
	}
}

func TestBufferLimits(t *testing.T) {
	t.Parallel()
	const text = "normal 1024 512 60 slave 268435456 67108864 60 pubsub 33554432 8388608 60"
	var got []int64
	for _, class := range []string{"normal", "pubsub", "other"} {
		hard, soft := bufferLimits(text, class)
		got = append(got, hard, soft)
	}
	if want := []int64{1024, 512, 33554432, 8388608, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("limits = %v, want %v", got, want)
	}
}

func TestSlowReplicas(t *testing.T) {
	t.Parallel()
	for replica, want := range map[string]string{
		"ip=10.0.0.2,port=6379,state=online,offset=100000000,lag=1":     "",
		"ip=10.0.0.2,port=6379,state=online,offset=100000000,lag=4":     "advice replica 10.0.0.2:6379 has not answered for 4 s",
		"ip=10.0.0.2,port=6379,state=online,offset=100000000,lag=60":    "problem replica 10.0.0.2:6379 has not answered for 60 s",
		"ip=10.0.0.2,port=6379,state=online,offset=1000000,lag=0":       "advice replica 10.0.0.2:6379 lacks 94 MB of changes",
		"ip=10.0.0.2,port=6379,state=send_bulk,offset=0,lag=0":          "advice replica 10.0.0.2:6379 is loading a snapshot (send_bulk)",
		"ip=/unixsocket,port=0,state=wait_bgsave,offset=0,lag=30":       "",
		"ip=::1,port=6380,state=online,offset=100000000,lag=10,extra=1": "problem replica ::1:6380 has not answered for 10 s",
	} {
		info := "connected_slaves:1\r\nslave0:" + replica + "\r\nmaster_repl_offset:100000000\r\n"
		if got := statuses(slowReplicas(info)); got != want {
			t.Errorf("%s: %q, want %q", replica, got, want)
		}
	}
}

// A stopped replica is reported.
func TestStoppedReplica(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	replica := redistest.TCP(t, "replicaof 127.0.0.1 "+strconv.Itoa(master.Port()))
	client := master.Client(t)
	await := func(ok func(info string) bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			info, err := client.Do(t.Context(), client.B().Info().Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			if ok(info) {
				return
			}
			<-tick.C
		}
	}
	await(func(info string) bool {
		return strings.Contains(info, "state=online") && len(slowReplicas(info)) == 0
	})
	replica.Freeze(t)
	await(func(info string) bool { return strings.Contains(statuses(slowReplicas(info)), "has not answered for") })
}
