package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

type named struct {
	ID   string `redis:",id"`
	Name string `redis:"name,unique"`
}

// A record keeps its place in the order of creation, whatever its kind of id and
// whatever is written to it later.
func TestOrderOfCreation(t *testing.T) {
	t.Parallel()
	for _, ids := range []model.IDs{model.Counter, model.ULID, model.ClientAssigned} {
		t.Run(string(ids), func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			s := store[named](t, client, model.Options{Name: "named", IDs: ids})
			var want []string
			for i := range 30 {
				n := named{Name: fmt.Sprint(i)}
				if ids == model.ClientAssigned {
					n.ID = strconv.Itoa(100 - i)
				}
				n, err := s.Create(t.Context(), n)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, n.ID)
			}
			for i, id := range want[:10] {
				if _, err := s.Patch(t.Context(), id, map[string]any{"name": fmt.Sprint("new", i)}); err != nil {
					t.Fatal(err)
				}
			}
			if got := zset(t, client, "named.all"); !slices.Equal(got, want) {
				t.Errorf("%v, expected %v", got, want)
			}
		})
	}
}

// No two records have the same place, though the clock should stand still or go
// back.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named", IDs: model.ClientAssigned})
	const later = 4e15 // in microseconds
	if err := client.Do(t.Context(), client.B().Zadd().Key("named.all").ScoreMember().ScoreMember(later, "z").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"b", "a"} {
		if _, err := s.Create(t.Context(), named{ID: id, Name: id}); err != nil {
			t.Fatal(err)
		}
	}
	if got := zset(t, client, "named.all"); !slices.Equal(got, []string{"z", "b", "a"}) {
		t.Errorf("%v", got)
	}
}

// What another program says of a unique value is not changed: of a record that
// the model does not know, and after the value was given to another by hand.
func TestUniqueOfOthers(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named", Keys: model.Keys{Unique: map[string]string{"name": "names"}}})
	set := func(name, id string) {
		t.Helper()
		if err := client.Do(t.Context(), client.B().Hset().Key("names").FieldValue().FieldValue(name, id).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	set("old", "77")
	var taken *model.TakenError
	if _, err := s.Create(t.Context(), named{Name: "old"}); !errors.As(err, &taken) || taken.Owner != "77" {
		t.Fatalf("%v", err)
	}
	n, err := s.Create(t.Context(), named{Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	set("mine", "78")
	if err := s.Delete(t.Context(), n.ID); err != nil {
		t.Fatal(err)
	}
	names, err := client.Do(t.Context(), client.B().Hgetall().Key("names").Build()).AsStrMap()
	if err != nil || names["mine"] != "78" || names["old"] != "77" {
		t.Errorf("%v, %v", names, err)
	}
}

// A counter that fell back gives ids that are in use; the next one is taken.
func TestCounterFellBack(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named"})
	for i := range 3 {
		if _, err := s.Create(t.Context(), named{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Do(t.Context(), client.B().Set().Key("next_named_id").Value("1").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	other := store[named](t, client, model.Options{Name: "named"}) // s has ids left
	if n, err := other.Create(t.Context(), named{Name: "new"}); err != nil || n.ID != "4" {
		t.Errorf("%+v, %v", n, err)
	}
	for i := range 3 {
		if n, err := s.Get(t.Context(), fmt.Sprint(i+1)); err != nil || n.Name != fmt.Sprint(i) {
			t.Errorf("%+v, %v", n, err)
		}
	}
	if n, err := client.Do(t.Context(), client.B().Exists().Key("named:5").Build()).AsInt64(); n != 0 || err != nil && !rueidis.IsRedisNil(err) {
		t.Error(n, err)
	}
}
