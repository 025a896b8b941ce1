package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/model"
)

type contact struct {
	ID   string `redis:",id"`
	Name string `redis:"name,range"`
}

type mailbox struct {
	ID    string  `redis:",id"`
	Email *string `redis:"email,unique"`
}

// Own ids beside the counter: none is given twice, and the records come
// in the order of their ids.
func TestOwnIDsBesideTheCounter(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	models := 0
	rapid.Check(t, func(rt *rapid.T) {
		models++
		ctx := t.Context()
		opt := model.Options{Name: fmt.Sprintf("n%d", models), Partitions: some(rt, "partitions", 1, 3)}
		stores := []*model.Store[mailbox]{store[mailbox](t, client, opt), store[mailbox](t, client, opt)}
		owner := map[string]string{} // id → email
		write := func(r mailbox, err error, own string) {
			var taken *model.TakenError
			switch {
			case errors.As(err, &taken) && own != "" && taken.Field == "id" && owner[own] != "":
			case err != nil:
				rt.Fatalf("own id %q: %v", own, err)
			case owner[r.ID] != "":
				rt.Fatalf("id %s was given twice", r.ID)
			case own != "" && r.ID != own:
				rt.Fatalf("id %s, not %s", r.ID, own)
			default:
				owner[r.ID] = *r.Email
			}
		}
		emails := 0
		record := func(own string) mailbox {
			emails++
			return mailbox{ID: own, Email: ptr(fmt.Sprint(emails))}
		}
		ownID := func() string {
			if rapid.Bool().Draw(rt, "own") {
				return strconv.Itoa(rapid.IntRange(0, 30).Draw(rt, "id"))
			}
			return ""
		}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			s := stores[rapid.IntRange(0, 1).Draw(rt, "store")]
			if rapid.Bool().Draw(rt, "one") {
				own := ownID()
				made, err := s.Create(ctx, record(own))
				write(made, err, own)
				continue
			}
			var some []mailbox
			for range rapid.IntRange(0, 8).Draw(rt, "many") {
				some = append(some, record(ownID()))
			}
			made, err := s.CreateMany(ctx, some)
			var failed *model.ManyError
			if err != nil && !errors.As(err, &failed) {
				rt.Fatal(err)
			}
			refused := map[int]error{}
			if failed != nil {
				for _, r := range failed.Refused {
					refused[r.Position] = r.Err
				}
			}
			for i := range made { // those that were written first: one may have the id of another
				if refused[i] == nil {
					write(made[i], nil, some[i].ID)
				}
			}
			for i, err := range refused {
				write(made[i], err, some[i].ID)
			}
		}
		var got []int
		for r, err := range stores[0].All(ctx) {
			n, _ := strconv.Atoi(r.ID)
			if err != nil || owner[r.ID] != *r.Email {
				rt.Fatal(r, err)
			}
			got = append(got, n)
		}
		if len(got) != len(owner) || !slices.IsSorted(got) {
			rt.Fatalf("%v of %v", got, owner)
		}
	})
}

// Own ids that are imported while others create records.
func TestOwnIDsConcurrently(t *testing.T) {
	t.Parallel()
	for name, opt := range refLayouts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
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
				checked(t, err)
				names[p.Name[:1]]++
			}
			if names["1"] != n || names["2"] != n {
				t.Error(names)
			}
			checkVerify(t, s)
		})
	}
}

func TestOwnIDsRefuse(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[contact](t, client, model.Options{Name: "person"})
	for _, id := range []string{"abc", "007", "-1", "1.5", "9007199254740992", "99999999999999999999999", " 1"} {
		if _, err := s.Create(t.Context(), contact{ID: id}); !errors.Is(err, model.ErrValue) || !strings.Contains(err.Error(), "9007199254740991") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if redisDo(t, client, "EXISTS", "next_person_id") != "0" {
		t.Error("a refused id raised the counter")
	}
	createdOf(t, s, contact{ID: "9007199254740991"})
	if p := createdOf(t, s, contact{}); p.ID != "9007199254740992" {
		t.Error(p)
	}
	ulids := store[contact](t, client, model.Options{Name: "ulid", IDs: model.ULID})
	if _, err := ulids.Create(t.Context(), contact{ID: "1"}); !errors.Is(err, model.ErrValue) {
		t.Error(err)
	}
}
