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
		createdOf(t, s, named{ID: id, Name: id})
	}
	if got := zset(t, client, "named.all"); !slices.Equal(got, []string{"z", "b", "a"}) {
		t.Errorf("%v", got)
	}
}

// Entries of unique values written by other programs are not changed: for records unknown to
// the model, and for values reassigned by hand.
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
		t.Fatalf("%v", err)
	}
	n := createdOf(t, s, named{Name: "mine"})
	set("mine", "78")
	require.OK(t)(s.Delete(t.Context(), n.ID))
	names, err := client.Do(t.Context(), client.B().Hgetall().Key("names").Build()).AsStrMap()
	if err != nil || names["mine"] != "78" || names["old"] != "77" {
		t.Errorf("%v, %v", names, err)
	}
}

// A counter that was reset returns ids that are in use; Create takes the next free one.
func TestCounterFellBack(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := store[named](t, client, model.Options{Name: "named"})
	for i := range 3 {
		createdOf(t, s, named{Name: fmt.Sprint(i)})
	}
	require.OK(t)(client.Do(t.Context(), client.B().Set().Key("next_named_id").Value("1").Build()).Error())
	other := store[named](t, client, model.Options{Name: "named"}) // s has reserved ids left
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
