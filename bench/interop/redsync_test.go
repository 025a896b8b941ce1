package interop

import (
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// TestExclusion checks that redsync and this package exclude each other.
func TestExclusion(t *testing.T) {
	t.Parallel()
	servers := redistest.Nodes(t, 3)
	m := dial(t, servers, redlock.Options{})
	var pools []redsyncredis.Pool
	for _, s := range servers {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket()})
		t.Cleanup(func() { _ = client.Close() })
		pools = append(pools, goredis.NewPool(client))
	}
	theirs := redsync.New(pools...).NewMutex("job", redsync.WithExpiry(10*time.Second), redsync.WithTries(1))

	if err := theirs.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("TryLock while redsync holds the name: %v; want ErrHeld", err)
	}
	got := make(chan *redlock.Lock)
	go func() { got <- lock(t, m, "job") }()
	waitForWaiters(t, m, "job", 1)
	if ok, err := theirs.Unlock(); !ok || err != nil {
		t.Fatalf("redsync: %v %v", ok, err)
	}
	l := <-got // by polling: redsync publishes no message on release
	if err := theirs.Lock(); err == nil {
		t.Error("redsync acquired a held lock")
	}
	unlock(t, l)
	wait(t, "redsync to acquire the lock", func() bool { return theirs.Lock() == nil })
	if ok, err := theirs.Unlock(); !ok || err != nil {
		t.Errorf("redsync: %v %v", ok, err)
	}
}
