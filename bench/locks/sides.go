package locks

import (
	"context"
	"fmt"
	"sync"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
	"github.com/redis/rueidis/rueidislock"

	"retwis/bench/measure"
	"retwis/redlock"
)

// locker is one way to lock a name.
type locker struct {
	// lock waits for the name and returns a function that unlocks it.
	lock  func(ctx context.Context, name string) (func() error, error)
	close func()
}

// lockTTL is the same for every side.
const lockTTL = 8 * time.Second

// side is a locker that is compared with others.
type side struct {
	name string
	open func() (locker, error)
	locker
}

// openAll opens the sides, and returns a function that closes them.
func openAll(sides []side) (end func(), err error) {
	var opened []locker
	end = func() {
		for _, l := range opened {
			l.close()
		}
	}
	for i := range sides {
		if sides[i].locker, err = sides[i].open(); err != nil {
			end()
			return nil, fmt.Errorf("%s: %w", sides[i].name, err)
		}
		opened = append(opened, sides[i].locker)
	}
	return end, nil
}

// dial opens a manager of package redlock.
func dial(sockets []string, opt redlock.Options) (*redlock.Manager, error) {
	urls := make([]string, len(sockets))
	for i, socket := range sockets {
		urls[i] = "unix://" + socket
	}
	opt.TTL = lockTTL
	return redlock.Dial(urls, opt)
}

// ours locks with package redlock.
func ours(sockets []string, opt redlock.Options) (locker, error) {
	m, err := dial(sockets, opt)
	if err != nil {
		return locker{}, err
	}
	return lockerOf(m), nil
}

func lockerOf(m *redlock.Manager) locker {
	return locker{
		lock: func(ctx context.Context, name string) (func() error, error) {
			l, err := m.Lock(ctx, name)
			if err != nil {
				return nil, err
			}
			return func() error { return l.Unlock(context.Background()) }, nil
		},
		close: func() { _ = m.Close() },
	}
}

// oursShared locks through existing clients of a program.
func oursShared(sockets []string) (locker, error) {
	clients := make([]rueidis.Client, len(sockets))
	for i, socket := range sockets {
		client, err := measure.Dial(socket)
		if err != nil {
			return locker{}, err
		}
		clients[i] = client
	}
	m, err := redlock.New(clients, redlock.Options{TTL: lockTTL})
	if err != nil {
		return locker{}, err
	}
	l := lockerOf(m)
	l.close = func() {
		_ = m.Close()
		for _, client := range clients {
			client.Close()
		}
	}
	return l, nil
}

// overGoRedis locks with redsync over go-redis.
func overGoRedis(sockets []string) (locker, error) {
	var pools []redsyncredis.Pool
	var clients []*redis.Client
	for _, socket := range sockets {
		client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		clients = append(clients, client)
		pools = append(pools, redsyncgoredis.NewPool(client))
	}
	return redsyncLocker(pools, func() {
		for _, client := range clients {
			client.Close()
		}
	}), nil
}

// overRueidis locks with redsync over rueidis.
func overRueidis(sockets []string) (locker, error) {
	var pools []redsyncredis.Pool
	var clients []rueidis.Client
	for _, socket := range sockets {
		client, err := measure.Dial(socket)
		if err != nil {
			return locker{}, err
		}
		clients = append(clients, client)
		pools = append(pools, redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)))
	}
	return redsyncLocker(pools, func() {
		for _, client := range clients {
			client.Close()
		}
	}), nil
}

func redsyncLocker(pools []redsyncredis.Pool, end func()) locker {
	rs := redsync.New(pools...)
	return locker{
		lock: func(ctx context.Context, name string) (func() error, error) {
			mutex := rs.NewMutex(name, redsync.WithExpiry(lockTTL), redsync.WithTries(1000))
			if err := mutex.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error {
				_, err := mutex.UnlockContext(context.Background())
				return err
			}, nil
		},
		close: end,
	}
}

// withRueidislock locks with rueidislock, which uses one server and sets several
// keys on it, as many as there would be servers.
func withRueidislock(sockets []string, majority int32) (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: sockets[:1], DialCtxFn: measure.DialUnix, ForceSingleClient: true,
		},
		KeyMajority: majority, KeyValidity: lockTTL, NoLoopTracking: true,
	})
	if err != nil {
		return locker{}, err
	}
	return locker{
		lock: func(ctx context.Context, name string) (func() error, error) {
			_, unlock, err := l.WithContext(ctx, name)
			return func() error { unlock(); return nil }, err
		},
		close: l.Close,
	}, nil
}

// withRedislock locks with bsm/redislock, which uses one server.
func withRedislock(sockets []string) (locker, error) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: sockets[0]})
	l := bsm.New(client)
	return locker{
		lock: func(ctx context.Context, name string) (func() error, error) {
			held, err := l.Obtain(ctx, name, lockTTL, &bsm.Options{RetryStrategy: bsm.LinearBackoff(10 * time.Millisecond)})
			if err != nil {
				return nil, err
			}
			return func() error { return held.Release(context.Background()) }, nil
		},
		close: func() { client.Close() },
	}, nil
}

// inMemory is a mutex, the upper bound for locks over a network.
func inMemory() locker {
	var mu sync.Mutex
	return locker{
		lock: func(context.Context, string) (func() error, error) {
			mu.Lock()
			return func() error { mu.Unlock(); return nil }, nil
		},
		close: func() {},
	}
}
