package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// Drop leaves nothing of a model, even after an interruption, and programs start with
// an empty one.
func TestDrop(t *testing.T) {
	t.Parallel()
	type fan struct {
		ID      string `redis:",id"`
		Name    string `redis:"name,range"`
		Email   string `redis:"email,unique"`
		Friends model.Set
	}
	layouts(t, "fan", func(t *testing.T, client rueidis.Client, opt model.Options) {
		fans := store[fan](t, client, opt)
		for i := range 250 {
			f, err := fans.Create(t.Context(), fan{Name: "n", Email: fmt.Sprint(i)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fans.Set("friends", f.ID).Put(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}
		cut := &failing{Client: client}
		cut.left.Store(1 << 40)
		short := store[fan](t, cut, opt)
		if _, err := short.Drop(t.Context(), maintain.Options{Progress: func(maintain.Progress) { cut.left.Store(0) }}); err == nil {
			t.Fatal("it was not cut short")
		}
		if _, err := fans.Create(t.Context(), fan{Email: "new"}); !errors.Is(err, model.ErrSchema) {
			t.Fatal(err)
		}
		m, err := model.Open(t.Context(), client, opt.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Drop(t.Context(), maintain.Options{}); err != nil {
			t.Fatal(err)
		}
		keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
		if err != nil || len(keys) != 0 {
			t.Fatalf("%q, %v", keys, err)
		}
		if f, err := fans.Create(t.Context(), fan{Email: "1"}); err != nil {
			t.Fatal(f, err)
		}
		if n, err := fans.Len(t.Context()); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	})
}

// A model is dropped from a server whose memory is full, and writers are refused meanwhile.
func TestDropFreesFullMemory(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.Own(t).Client(t)
		citizens := store[citizen](t, client, model.Options{Name: "citizen", Partitions: partitions})
		for i := range 150 {
			createdOf(t, citizens, citizen{Name: "n", Email: fmt.Sprint(i), Tags: []string{"a", "b"}})
		}
		redisDo(t, client, "CONFIG", "SET", "maxmemory", "1")
		if r, err := citizens.Drop(t.Context(), maintain.Options{Progress: func(maintain.Progress) {
			if _, err := citizens.Create(t.Context(), citizen{Email: "new"}); err == nil {
				t.Error("a record was written")
			}
		}}); err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if keys := redisDo(t, client, "DBSIZE"); keys != "0" {
			t.Errorf("%s keys are left", keys)
		}
		redisDo(t, client, "CONFIG", "SET", "maxmemory", "0")
		createdOf(t, citizens, citizen{Email: "new"})
		checkVerify(t, citizens)
	}
}
