package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redis/script"
	"retwis/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A script runs once per call and in order on servers that have not loaded the script, both alone
// and in a pipeline.
func TestUnknownScript(t *testing.T) {
	t.Parallel()
	push := script.New("local function push(v) return redis.call('RPUSH', KEYS[1], v) end\n", "return push(ARGV[1])")
	for name, client := range map[string]rueidis.Client{
		"server":  redistest.Own(t).Client(t),
		"cluster": redistest.Cluster(t, 3).Client(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			for round := range 3 {
				key := func(i int) string { return fmt.Sprintf("%d:%d", round, i) }
				var calls []script.Call
				for i := range 40 {
					calls = append(calls, script.Call{Keys: []string{key(i % 10)}, Args: []string{fmt.Sprint(i / 10)}})
				}
				run := push
				if round == 1 {
					run = push.Retryable()
				}
				for i, r := range run.RunMany(ctx, client, calls) {
					if n, err := r.AsInt64(); err != nil || n != int64(i/10+1) {
						t.Fatalf("call %d: %d, %v; want %d", i, n, err, i/10+1)
					}
				}
				for i := range 10 {
					list, err := client.Do(ctx, client.B().Lrange().Key(key(i)).Start(0).Stop(-1).Build()).AsStrSlice()
					if err != nil || !slices.Equal(list, []string{"0", "1", "2", "3"}) {
						t.Errorf("%s: %v (%v), want [0 1 2 3]", key(i), list, err)
					}
				}
				for _, node := range client.Nodes() {
					if err := node.Do(ctx, node.B().ScriptFlush().Build()).Error(); err != nil {
						t.Fatal(err)
					}
				}
				if n, err := push.Run(ctx, client, []string{key(0)}, []string{"4"}).AsInt64(); err != nil || n != 5 {
					t.Errorf("Run after SCRIPT FLUSH: %d, %v; want 5", n, err)
				}
			}
		})
	}
}

// A pipeline with scripts runs in order, whether or not the servers have loaded the scripts. Loaded
// scripts are not sent in full.
func TestDoMulti(t *testing.T) {
	t.Parallel()
	push := script.New("return redis.call('RPUSH', KEYS[1], ARGV[1])").Retryable()
	size := script.New("return redis.call('LLEN', KEYS[1])").Retryable()
	for name, client := range map[string]rueidis.Client{
		"server":  redistest.Own(t).Client(t),
		"cluster": redistest.Cluster(t, 3).Client(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			sender := script.NewSender(client)
			for round := range 3 {
				var commands rueidis.Commands
				var keys []string
				for i := range 12 {
					keys = append(keys, fmt.Sprintf("%d:%d", round, i))
					commands = append(commands,
						client.B().Del().Key(keys[i]).Build().ToRetryable(),
						push.Command(client, keys[i:i+1], []string{"a"}),
						size.Command(client, keys[i:i+1], nil))
				}
				results := sender.DoMulti(ctx, commands...)
				for i := range keys {
					pushed, err := results[3*i+1].AsInt64()
					n, err2 := results[3*i+2].AsInt64()
					if err != nil || err2 != nil || pushed != 1 || n != 1 {
						t.Fatalf("round %d: push %d, %v; size %d, %v; want 1 and 1", round, pushed, err, n, err2)
					}
				}
				for _, node := range client.Nodes() {
					if round == 1 {
						stats, err := node.Do(ctx, node.B().Info().Section("commandstats").Build()).ToString()
						if err != nil || strings.Contains(stats, "cmdstat_eval:") {
							t.Errorf("loaded scripts were sent in full: %v", err)
						}
					}
					flush := node.B().ScriptFlush().Build()
					if round == 0 {
						flush = node.B().ConfigResetstat().Build()
					}
					if err := node.Do(ctx, flush).Error(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
