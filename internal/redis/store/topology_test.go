package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"retwis/internal/redis/store"
	"retwis/internal/redistest"
)

// Open and the probes succeed although a node of the URL is dead or frozen.
func TestClusterWithoutANamedNode(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	frozen := redistest.TCP(t)
	frozen.Freeze(t)
	for name, port := range map[string]int{"dead": redistest.FreePort(t), "frozen": frozen.Port()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := strings.Replace(cluster.URL(), "//", fmt.Sprintf("//127.0.0.1:%d,", port), 1)
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					db, err := store.Open(t.Context(), url, quiet)
					if err != nil {
						t.Error(err)
						return
					}
					defer db.Close()
					for range 20 {
						for _, probe := range []error{store.ProbeRead(t.Context(), db.Client()), store.ProbeWrite(t.Context(), db.Client())} {
							if probe != nil {
								t.Error(probe)
							}
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// Probes write nothing, and ProbeRead detects that a master of a Cluster does not answer.
func TestProbe(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	db := open(t, cluster.URL())
	if err := errors.Join(store.ProbeRead(t.Context(), db.Client()), store.ProbeWrite(t.Context(), db.Client())); err != nil {
		t.Fatal(err)
	}
	for _, master := range cluster.Masters {
		c := master.Client(t)
		if n, err := c.Do(t.Context(), c.B().Dbsize().Build()).AsInt64(); err != nil || n != 0 {
			t.Errorf("%d keys after the probes (%v), want 0", n, err)
		}
	}
	cluster.Masters[2].Freeze(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := store.ProbeRead(ctx, db.Client()); !errors.Is(err, store.ErrPartly) {
		t.Errorf("ProbeRead with a frozen master: %v, want ErrPartly", err)
	}
}

// A client leaves a frozen master soon after the sentinels have announced the new master, without
// waiting for a timeout of the old master.
func TestSentinelFrozenMaster(t *testing.T) {
	t.Parallel()
	master := redistest.TCP(t)
	replica := redistest.TCP(t, fmt.Sprintf("replicaof 127.0.0.1 %d", master.Port()))
	sentinel := redistest.Sentinel(t, "main", master, "sentinel down-after-milliseconds main 500", "sentinel failover-timeout main 5000")
	db := open(t, fmt.Sprintf("redis+sentinel://127.0.0.1:%d/main", sentinel.Port()))
	set(t, db.Client(), "k", "v")
	watcher, direct := sentinel.Client(t), replica.Client(t)
	eventually(t, "the sentinel to find the replica", func() bool {
		list, err := watcher.Do(t.Context(), watcher.B().Arbitrary("SENTINEL", "REPLICAS", "main").Build()).ToArray()
		return err == nil && len(list) == 1
	})
	master.Freeze(t)
	eventually(t, "the replica to become the master", func() bool {
		role, err := direct.Do(t.Context(), direct.B().Role().Build()).ToArray()
		if err != nil || len(role) == 0 {
			return false
		}
		name, _ := role[0].ToString()
		return name == "master"
	})
	began := time.Now()
	eventually(t, "a write on the new master", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return db.Client().Do(ctx, db.Client().B().Set().Key("k").Value("new").Build()).Error() == nil
	})
	t.Logf("the client needed %s longer than the sentinel", time.Since(began))
}

// CacheBytes is a budget for all masters of a Cluster, and each master gets a share.
func TestCacheIsDivided(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3)
	for budget, want := range map[int64]bool{6 << 20: false, 60 << 20: true} {
		opt := quiet
		opt.CacheBytes = budget
		db, err := store.Open(t.Context(), cluster.URL(), opt)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		c := db.Client()
		for n := range 16 { // 4 MB on one master
			key := fmt.Sprintf("{a}%d", n)
			set(t, c, key, strings.Repeat("x", 256<<10))
			if err := c.DoCache(t.Context(), c.B().Get().Key(key).Cache(), time.Minute).Error(); err != nil {
				t.Fatal(err)
			}
		}
		res := c.DoCache(t.Context(), c.B().Get().Key("{a}0").Cache(), time.Minute)
		if res.IsCacheHit() != want {
			t.Errorf("with a cache of %d bytes: hit = %t, want %t", budget, res.IsCacheHit(), want)
		}
	}
	opt := quiet
	opt.CacheBytes = 1000
	if _, err := store.Open(t.Context(), cluster.URL(), opt); err == nil || !strings.Contains(err.Error(), "CacheBytes") {
		t.Errorf("Open with a small cache: %v, want an error about CacheBytes", err)
	}
}
