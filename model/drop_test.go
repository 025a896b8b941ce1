package model_test

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// Drop removes all keys of a model, even after an interrupted Drop, and programs continue with
// an empty model.
func TestDrop(t *testing.T) {
	t.Parallel()
	type fan struct {
		ID      string `redis:",id"`
		Name    string `redis:"name,range"`
		Email   string `redis:"email,unique"`
		Friends model.Set
	}
	forEachLayout(t, "fan", func(t *testing.T, client rueidis.Client, opt model.Options) {
		fans := store[fan](t, client, opt)
		for i := range 250 {
			f := mustCreate(t, fans, fan{Name: "n", Email: fmt.Sprint(i)})
			require.OK(t)(fans.Set("friends", f.ID).Put(t.Context(), "a"))
		}
		cut := &failing{Client: client}
		cut.left.Store(1 << 40)
		interrupted := store[fan](t, cut, opt)
		if _, err := interrupted.Drop(t.Context(), maintain.Options{Progress: func(maintain.Progress) { cut.left.Store(0) }}); err == nil {
			t.Fatal("Drop was not interrupted")
		}
		require.Fails(t, model.ErrSchema)(fans.Create(t.Context(), fan{Email: "new"}))
		m, err := model.Open(t.Context(), client, opt.Name)
		require.OK(t)(err)
		require.OK(t)(m.Drop(t.Context(), maintain.Options{}))
		keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil || len(keys) != 0 {
			t.Fatalf("keys %q are left, %v", keys, err)
		}
		require.OK(t)(fans.Create(t.Context(), fan{Email: "1"}))
		require.Gives(t, 1)(fans.Len(t.Context()))
	})
}

// Drop works on a server whose memory is full, and writes are refused while it runs.
func TestDropFreesFullMemory(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.Own(t).Client(t)
		citizens := store[citizen](t, client, model.Options{Name: "citizen", Partitions: partitions})
		for i := range 150 {
			mustCreate(t, citizens, citizen{Name: "n", Email: fmt.Sprint(i), Tags: []string{"a", "b"}})
		}
		redisDo(t, client, "CONFIG", "SET", "maxmemory", "1")
		if r, err := citizens.Drop(t.Context(), maintain.Options{Progress: func(maintain.Progress) {
			if _, err := citizens.Create(t.Context(), citizen{Email: "new"}); err == nil {
				t.Error("a record was written")
			}
		}}); err != nil {
			t.Fatalf("Drop: %+v, %v", r, err)
		}
		if keys := redisDo(t, client, "DBSIZE"); keys != "0" {
			t.Errorf("%s keys are left", keys)
		}
		redisDo(t, client, "CONFIG", "SET", "maxmemory", "0")
		mustCreate(t, citizens, citizen{Email: "new"})
		checkVerify(t, citizens)
	}
}
