package model_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// A Store with a cache reads its own writes, for any number of connections of the client.
func TestCacheReadsOwnWrites(t *testing.T) {
	t.Parallel()
	type gauge struct {
		ID    string `redis:",id"`
		Level int    `redis:"level,range"`
	}
	server := redistest.Own(t)
	for _, multiplex := range []int{-1, 0, 2, 4} {
		for _, opt := range []model.Options{
			{Name: "gauge"}, {Name: "partgauge", Partitions: 3},
		} {
			opt.Name += fmt.Sprint(multiplex + 1)
			opt.Cache, opt.IDs = time.Minute, model.ClientAssigned
			option, err := rueidis.ParseURL(server.URL())
			require.OK(t)(err)
			option.PipelineMultiplex = multiplex
			client, err := rueidis.NewClient(option)
			require.OK(t)(err)
			t.Cleanup(client.Close)
			gauges := store[gauge](t, client, opt)
			var work sync.WaitGroup
			for w := range 4 {
				work.Go(func() {
					id := fmt.Sprint("g", w)
					require.Fails(t, model.ErrNotFound)(gauges.Get(t.Context(), id))
					checkErr(t, errOf(gauges.Create(t.Context(), gauge{ID: id})))
					for i := 1; i <= 60; i++ {
						if _, err := gauges.Update(t.Context(), id, func(g *gauge) error { g.Level = i*10 + w; return nil }); err != nil {
							t.Error(err)
						}
						// Either read may happen before the invalidation arrives.
						var many []gauge
						var err2 error
						if i%2 == 0 {
							many, err2 = gauges.GetMany(t.Context(), "g0", id)
						}
						got, err := gauges.Get(t.Context(), id)
						if i%2 == 1 {
							many, err2 = gauges.GetMany(t.Context(), "g0", id)
						}
						found, err3 := gauges.Find(model.Eq("level", i*10+w)).Slice(t.Context())
						if err := errors.Join(err, err2, err3); err != nil || got.Level != i*10+w || many[len(many)-1].Level != i*10+w || len(found) != 1 {
							t.Errorf("%s after %d updates: Get %d, GetMany %v, Find %v, %v", id, i, got.Level, many, found, err)
							return
						}
					}
					checkErr(t, gauges.Delete(t.Context(), id))
					if g, err := gauges.Get(t.Context(), id); !errors.Is(err, model.ErrNotFound) {
						t.Errorf("Get after Delete: %+v, %v; want ErrNotFound", g, err)
					}
				})
			}
			work.Wait()
		}
	}
}
