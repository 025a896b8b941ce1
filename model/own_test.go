package model_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type contact struct {
	ID   string `redis:",id"`
	Name string `redis:"name,range"`
}

// Records with given ids can be imported while other writers create records.
func TestOwnIDsConcurrently(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "m", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		const n = 200
		var work sync.WaitGroup
		for w := range 3 {
			s := store[contact](t, client, opt)
			work.Go(func() {
				for i := range n {
					p := contact{Name: fmt.Sprint(w, " ", i)}
					if w == 0 {
						p.ID = strconv.Itoa(1000 + i*3)
					}
					if _, err := s.Create(ctx, p); err != nil && !(w == 0 && errors.Is(err, model.ErrTaken)) {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		s := store[contact](t, client, opt)
		names := map[string]int{}
		for p, err := range s.All(ctx) {
			checkErr(t, err)
			names[p.Name[:1]]++
		}
		if names["1"] != n || names["2"] != n {
			t.Errorf("records of each writer: %v; want %d of writers 1 and 2", names, n)
		}
		checkVerify(t, s)
	})
}

func TestOwnIDsRefuse(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[contact](t, client, model.Options{Name: "person"})
	for _, id := range []string{"abc", "007", "-1", "1.5", "9007199254740992", "99999999999999999999999", " 1"} {
		if _, err := s.Create(t.Context(), contact{ID: id}); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), "9007199254740991") {
			t.Errorf("Create with id %q: %v; want ErrValue that names the largest id", id, err)
		}
	}
	if redisDo(t, client, "EXISTS", "next_person_id") != "0" {
		t.Error("a refused id raised the counter")
	}
	mustCreate(t, s, contact{ID: "9007199254740991"})
	if p := mustCreate(t, s, contact{}); p.ID != "9007199254740992" {
		t.Errorf("created %+v, want id 9007199254740992", p)
	}
	ulids := store[contact](t, client, model.Options{Name: "ulid", IDs: model.ULID})
	require.Fails(t, model.ErrValue)(ulids.Create(t.Context(), contact{ID: "1"}))
}
