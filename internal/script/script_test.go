package script_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/script"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A script runs on servers that do not know it, once a call and in order, alone and in a
// pipeline.
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
						t.Fatalf("call %d: %d, %v", i, n, err)
					}
				}
				for i := range 10 {
					list, err := client.Do(ctx, client.B().Lrange().Key(key(i)).Start(0).Stop(-1).Build()).AsStrSlice()
					if err != nil || !slices.Equal(list, []string{"0", "1", "2", "3"}) {
						t.Errorf("%s: %v (%v)", key(i), list, err)
					}
				}
				for _, node := range client.Nodes() {
					if err := node.Do(ctx, node.B().ScriptFlush().Build()).Error(); err != nil {
						t.Fatal(err)
					}
				}
				if n, err := push.Run(ctx, client, []string{key(0)}, []string{"4"}).AsInt64(); err != nil || n != 5 {
					t.Errorf("alone: %d, %v", n, err)
				}
			}
		})
	}
}
