package model_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type named struct {
	ID   string `redis:",id"`
	Name string `redis:"name,unique"`
}

// No two records have the same position, even if the clock stands still or goes back.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named", IDs: model.ClientAssigned})
	const later = 4e15 // in microseconds
	require.OK(t)(client.Do(t.Context(), client.B().Zadd().Key("named.all").ScoreMember().ScoreMember(later, "z").Build()).Error())
	for _, id := range []string{"b", "a"} {
		mustCreate(t, s, named{ID: id, Name: id})
	}
	if got := zset(t, client, "named.all"); !slices.Equal(got, []string{"z", "b", "a"}) {
		t.Errorf("named.all has %q, want z, b, a", got)
	}
}

// A model does not change index entries of unique values that other programs have written, for
// records unknown to the model or for values reassigned by hand.
func TestUniqueOfOthers(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named", Keys: model.Keys{Unique: map[string]string{"name": "names"}}})
	set := func(name, id string) {
		t.Helper()
		require.OK(t)(client.Do(t.Context(), client.B().Hset().Key("names").FieldValue().FieldValue(name, id).Build()).Error())
	}
	set("old", "77")
	var taken *model.TakenError
	if _, err := s.Create(t.Context(), named{Name: "old"}); !errors.As(err, &taken) || taken.Owner != "77" {
		t.Fatalf("Create: %v; want a TakenError with owner 77", err)
	}
	n := mustCreate(t, s, named{Name: "mine"})
	set("mine", "78")
	require.OK(t)(s.Delete(t.Context(), n.ID))
	names, err := client.Do(t.Context(), client.B().Hgetall().Key("names").Build()).AsStrMap()
	if err != nil || names["mine"] != "78" || names["old"] != "77" {
		t.Errorf("names has %q, %v; want old of 77, and mine of 78", names, err)
	}
}

// A counter that was reset returns ids that are in use; Create takes the next free id.
func TestCounterFellBack(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named"})
	for i := range 3 {
		mustCreate(t, s, named{Name: fmt.Sprint(i)})
	}
	require.OK(t)(client.Do(t.Context(), client.B().Set().Key("next_named_id").Value("1").Build()).Error())
	other := store[named](t, client, model.Options{Name: "named"}) // s has reserved ids left
	if n, err := other.Create(t.Context(), named{Name: "new"}); err != nil || n.ID != "4" {
		t.Errorf("Create: %+v, %v; want id 4", n, err)
	}
	for i := range 3 {
		if n, err := s.Get(t.Context(), fmt.Sprint(i+1)); err != nil || n.Name != fmt.Sprint(i) {
			t.Errorf("record %d: %+v, %v", i+1, n, err)
		}
	}
	if n, err := client.Do(t.Context(), client.B().Exists().Key("named:5").Build()).AsInt64(); n != 0 || err != nil && !rueidis.IsRedisNil(err) {
		t.Errorf("EXISTS named:5 = %d, %v; want 0", n, err)
	}
}
