package script_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/redistest"
)

// migration is a slot of a Cluster that is being moved key by key.
type migration struct {
	t              *testing.T
	source, target rueidis.Client
	slot, port     string
	sourceID       string
	targetID       string
}

// migrate starts moving the slot of two keys and moves the first key.
func migrate(t *testing.T, c *redistest.ClusterServers, first, second string) *migration {
	t.Helper()
	client := c.Masters[0].Client(t)
	slot, err := client.Do(t.Context(), client.B().ClusterKeyslot().Key(first).Build()).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	at := int(slot) * len(c.Masters) / 16384
	to := c.Masters[(at+1)%len(c.Masters)]
	m := &migration{t: t, source: c.Masters[at].Client(t), target: to.Client(t), slot: strconv.FormatInt(slot, 10), port: strconv.Itoa(to.Port())}
	m.sourceID, m.targetID = m.do(m.source, "CLUSTER", "MYID"), m.do(m.target, "CLUSTER", "MYID")
	m.do(m.source, "MSET", first, "10", second, "20")
	m.do(m.target, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.sourceID)
	m.do(m.source, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.targetID)
	m.move(first)
	return m
}

func (m *migration) do(c rueidis.Client, words ...string) string {
	m.t.Helper()
	s, err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).ToString()
	if err != nil {
		m.t.Fatalf("%v: %v", words, err)
	}
	return s
}

func (m *migration) move(key string) {
	m.t.Helper()
	m.do(m.source, "MIGRATE", "127.0.0.1", m.port, key, "0", "5000")
}

func (m *migration) finish() {
	m.t.Helper()
	m.do(m.target, "CLUSTER", "SETSLOT", m.slot, "NODE", m.targetID)
	m.do(m.source, "CLUSTER", "SETSLOT", m.slot, "NODE", m.targetID)
}

// waitRefused waits until a server has rejected a script with TRYAGAIN.
func (m *migration) waitRefused() {
	m.t.Helper()
	for m.t.Context().Err() == nil {
		for _, c := range []rueidis.Client{m.source, m.target} {
			if strings.Contains(m.do(c, "INFO", "errorstats"), "errorstat_TRYAGAIN:") {
				return
			}
		}
	}
	m.t.Error("no script was rejected with TRYAGAIN")
}

// A script waits while its keys are on two servers of a Cluster, and then runs once.
func TestMigration(t *testing.T) {
	t.Parallel()
	both := script.New("return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])")
	for name, run := range map[string]func(ctx context.Context, client rueidis.Client, keys []string) []rueidis.RedisResult{
		"Run": func(ctx context.Context, client rueidis.Client, keys []string) []rueidis.RedisResult {
			return []rueidis.RedisResult{both.Run(ctx, client, keys, nil)}
		},
		"RunFenced": func(ctx context.Context, client rueidis.Client, keys []string) []rueidis.RedisResult {
			return []rueidis.RedisResult{both.RunFenced(ctx, client, keys, nil)}
		},
		"RunMany": func(ctx context.Context, client rueidis.Client, keys []string) []rueidis.RedisResult {
			return both.RunMany(ctx, client, []script.Call{{Keys: []string{"{c}x", "{c}y"}}, {Keys: keys}, {Keys: []string{"{c}x", "{c}y"}}})[1:2]
		},
		"Sender": func(ctx context.Context, client rueidis.Client, keys []string) []rueidis.RedisResult {
			return script.NewSender(client).DoMulti(ctx, both.Command(client, keys, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.Cluster(t, 2)
			client := c.Client(t)
			keys := []string{"{a}1", "{a}2"}
			m := migrate(t, c, keys[0], keys[1])
			done := make(chan []rueidis.RedisResult, 1)
			go func() { done <- run(t.Context(), client, keys) }()
			m.waitRefused()
			m.move(keys[1])
			if n, err := (<-done)[0].AsInt64(); err != nil || n != 32 {
				t.Errorf("during the migration: %d, %v; want 32", n, err)
			}
			m.finish()
			if n, err := run(t.Context(), client, keys)[0].AsInt64(); err != nil || n != 34 {
				t.Errorf("after the migration: %d, %v; want 34", n, err)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		c := redistest.Cluster(t, 2)
		client := c.Client(t)
		m := migrate(t, c, "{a}1", "{a}2")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- both.Run(ctx, client, []string{"{a}1", "{a}2"}, nil).Error() }()
		m.waitRefused()
		cancel()
		if err := <-done; err == nil || !errors.Is(err, context.Canceled) && !strings.HasPrefix(err.Error(), "TRYAGAIN") {
			t.Errorf("canceled script: %v, want Canceled or TRYAGAIN", err)
		}
	})
}
