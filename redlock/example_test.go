package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/redlock"
)

// exampleManager returns a manager on new servers, and a function that stops both. It skips the
// quarantine; servers in production have been up for a while. The TTL is long and locks are
// extended often, so that the output is the same on a machine that stalls.
func exampleManager(opt redlock.Options) (*redlock.Manager, func()) {
	urls, stop := redistest.Example(3)
	opt.TTL, opt.NodeTimeout, opt.ExtendEvery = time.Hour, time.Minute, 100*time.Millisecond
	m, err := redlock.Dial(urls, opt)
	if err != nil {
		panic(err)
	}
	if err := m.SkipQuarantine(context.Background()); err != nil {
		panic(err)
	}
	return m, func() { _ = m.Close(); stop() }
}

// Do runs work that must not run twice at the same time.
func ExampleManager_Do() {
	m, stop := exampleManager(redlock.Options{})
	defer stop()

	err := m.Do(context.Background(), "invoice:42", func(ctx context.Context, l *redlock.Lock) error {
		// The lock is extended while this function runs. ctx ends as soon as the lock cannot be
		// shown to be held: pass it to everything you call.
		fmt.Println("billing under", l.Name())
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// billing under invoice:42
	// <nil>
}

// TryLock lets one of many processes do a job while the others move on.
func ExampleManager_TryLock() {
	m, stop := exampleManager(redlock.Options{})
	defer stop()
	ctx := context.Background()

	l, err := m.TryLock(ctx, "nightly-report")
	if err != nil {
		panic(err)
	}
	_, err = m.TryLock(ctx, "nightly-report")
	fmt.Println(errors.Is(err, redlock.ErrHeld))
	fmt.Println(l.Unlock(ctx))
	// Output:
	// true
	// <nil>
}

// The protected resource rejects a holder that was paused for too long.
func ExampleLock_Token() {
	m, stop := exampleManager(redlock.Options{Fencing: true})
	defer stop()
	ctx := context.Background()
	storage, stopStorage := exampleStorage()
	defer stopStorage()

	// write stores text in a hash, unless a later holder has written there. The check and the
	// write are one atomic step.
	write := rueidis.NewLuaScript(`
		local seen = tonumber(redis.call('HGET', KEYS[1], 'token') or 0)
		if tonumber(ARGV[1]) < seen then
			return 0
		end
		redis.call('HSET', KEYS[1], 'token', ARGV[1], 'text', ARGV[2])
		return 1`)
	store := func(l *redlock.Lock, text string) bool {
		done, err := write.Exec(ctx, storage, []string{"report"}, []string{fmt.Sprint(l.Token()), text}).AsBool()
		return err == nil && done
	}

	slow, err := m.Lock(ctx, "report")
	if err != nil {
		panic(err)
	}
	// Unlock simulates a pause for longer than the lock lives: another client gets the lock.
	if err := slow.Unlock(ctx); err != nil {
		panic(err)
	}
	quick, err := m.Lock(ctx, "report")
	if err != nil {
		panic(err)
	}
	fmt.Println("greater:", quick.Token() > slow.Token())
	fmt.Println("the holder writes:", store(quick, "new"))
	fmt.Println("the paused holder writes:", store(slow, "old"))
	// Output:
	// greater: true
	// the holder writes: true
	// the paused holder writes: false
}

// Leader election: each process runs this loop, and one of them leads. The context of a leader
// that is cut off ends before the next leader is elected; the old leader must stop then. Writes
// that must never overlap need a fencing token as well.
func ExampleManager_Do_leader() {
	m, stop := exampleManager(redlock.Options{Owner: "web-1"}) // Status shows who leads
	defer stop()
	ctx, resign := context.WithCancel(context.Background())
	terms := 0
	onElected := func(ctx context.Context) error {
		terms++
		fmt.Println("elected: term", terms)
		if terms == 2 {
			resign() // the process is asked to stop
			<-ctx.Done()
			return ctx.Err()
		}
		// The leader works until ctx ends. An operator breaks the lock of this leader.
		_, _ = m.Break(ctx, "leader")
		<-ctx.Done()
		return context.Cause(ctx)
	}
	onLost := func(err error) { fmt.Println("lost:", errors.Is(err, redlock.ErrLost)) }

	for ctx.Err() == nil {
		elected := false
		err := m.Do(ctx, "leader", func(ctx context.Context, _ *redlock.Lock) error {
			elected = true
			return onElected(ctx)
		}, redlock.LockOptions{TTL: 30 * time.Minute}) // the longest time without a leader after a crash
		if elected {
			onLost(err)
		}
	}
	// Output:
	// elected: term 1
	// lost: true
	// elected: term 2
	// lost: false
}

// exampleStorage returns a client of a new server, and a function that stops both.
func exampleStorage() (rueidis.Client, func()) {
	urls, stop := redistest.Example(1)
	client, err := rueidis.NewClient(rueidis.MustParseURL(urls[0]))
	if err != nil {
		panic(err)
	}
	return client, func() { client.Close(); stop() }
}
