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

// TestExclusion checks that redsync and redlock exclude each other.
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
	mutex := redsync.New(pools...).NewMutex("job", redsync.WithExpiry(10*time.Second), redsync.WithTries(1))

	if err := mutex.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryLock(t.Context(), "job"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("TryLock while redsync holds the lock: %v, want ErrHeld", err)
	}
	acquired := make(chan *redlock.Lock)
	go func() { acquired <- lock(t, m, "job") }()
	waitForWaiters(t, m, "job", 1)
	if ok, err := mutex.Unlock(); !ok || err != nil {
		t.Fatalf("redsync Unlock = %v, %v; want true", ok, err)
	}
	l := <-acquired // acquired by polling, because redsync publishes no message on release
	if err := mutex.Lock(); err == nil {
		t.Error("redsync acquired a held lock")
	}
	unlock(t, l)
	wait(t, "redsync to acquire the lock", func() bool { return mutex.Lock() == nil })
	if ok, err := mutex.Unlock(); !ok || err != nil {
		t.Errorf("redsync Unlock = %v, %v; want true", ok, err)
	}
}
