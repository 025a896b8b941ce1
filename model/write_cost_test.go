package model_test

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

var calledCommand = regexp.MustCompile(`cmdstat_([a-z|]+):calls=([0-9]+)`)

// A write executes the commands for its changes, and a few to check that nothing else has
// changed.
func TestWriteCommands(t *testing.T) {
	t.Parallel()
	client, ctx := redistest.Own(t).Client(t), t.Context()
	flats := store[flat](t, client, model.Options{Name: "flat"})
	for i := range 20 {
		mustCreate(t, flats, flat{City: fmt.Sprint(i % 2), Kind: fmt.Sprint(i % 3), Lang: "l", Size: i, Code: fmt.Sprint("c", i)})
	}
	saved, err := flats.Get(ctx, "7")
	if err == nil {
		saved, err = flats.Save(ctx, saved) // loads the script
	}
	require.OK(t)(err)
	for _, test := range []struct {
		name string
		do   func() error
		want map[string]int
	}{
		{"create", func() error {
			_, err := flats.Create(ctx, flat{City: "1", Kind: "1", Lang: "l", Size: 9, Code: "new"})
			return err
		}, map[string]int{
			"evalsha": 1, "hmget": 1, "exists": 2, "hsetnx": 2, "zadd": 6, "hset": 1, "incrby": 1, // the first id of a reserved block
		}},
		{"save what is stored", func() error { _, err := flats.Save(ctx, saved); return err }, map[string]int{
			"evalsha": 1, "hmget": 1, "hget": 1, "hlen": 1, "hset": 1,
		}},
		{"patch of an index", func() error {
			_, err := flats.Patch(ctx, "7", map[string]any{"city": "1"})
			return err
		}, map[string]int{
			"evalsha": 1, "hmget": 2, "hget": 1, "hlen": 1, "exists": 1, "hset": 2, "zcard": 1, "zscore": 1, "zrem": 1, "zadd": 1,
		}},
		{"save with another city", func() error {
			saved.City = "0"
			_, err := flats.Save(ctx, saved)
			return err
		}, map[string]int{
			"evalsha": 2, "hmget": 2, "hget": 2, "hlen": 2, "exists": 1, "hset": 2, "zcard": 1, "zscore": 1, "zrem": 1, "zadd": 1,
		}},
		{"patch of a range", func() error {
			_, err := flats.Patch(ctx, "7", map[string]any{"size": 77})
			return err
		}, map[string]int{
			"evalsha": 1, "hmget": 2, "hget": 1, "hlen": 1, "hset": 2, "zscore": 1, "zrem": 1, "zadd": 1,
		}},
	} {
		stats := commandStats(t, client, func() {
			if err := test.do(); err != nil {
				t.Fatal(test.name, err)
			}
		})
		got := map[string]int{}
		for _, match := range calledCommand.FindAllStringSubmatch(stats, -1) {
			if n, _ := strconv.Atoi(match[2]); !strings.HasPrefix(match[1], "config") && match[1] != "info" {
				got[match[1]] = n
			}
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
