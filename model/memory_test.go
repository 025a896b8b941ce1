package model_test

import (
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// A server that is out of memory can still be read, even through the client-side cache, whether
// or not records expire.
func TestCachedReadsOutOfMemory(t *testing.T) {
	t.Parallel()
	type visit struct {
		ID  string    `redis:",id"`
		End time.Time `redis:"end,expires"`
	}
	server := redistest.Own(t)
	citizens := store[citizen](t, server.Client(t), model.Options{Name: "citizen", Cache: time.Minute})
	c := mustCreate(t, citizens, citizen{Email: "a@x"})
	visits := store[visit](t, server.Client(t), model.Options{Name: "visit", Cache: time.Minute})
	v := mustCreate(t, visits, visit{End: time.Now().Add(time.Hour)})
	// Another client has an empty cache, so each read is its first of a record.
	client := server.Client(t)
	one := store[citizen](t, client, model.Options{Name: "citizen", Cache: time.Minute})
	many := store[citizen](t, server.Client(t), model.Options{Name: "citizen", Cache: time.Minute})
	oneVisit := store[visit](t, client, model.Options{Name: "visit", Cache: time.Minute})
	manyVisits := store[visit](t, server.Client(t), model.Options{Name: "visit", Cache: time.Minute})
	require.OK(t)(client.Do(t.Context(), client.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
	if got, err := one.Get(t.Context(), c.ID); err != nil || got.Email != "a@x" {
		t.Error(got, err)
	}
	if got, err := many.GetMany(t.Context(), c.ID, "99"); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	if got, err := oneVisit.Get(t.Context(), v.ID); err != nil || got.ID != v.ID {
		t.Error(got, err)
	}
	if got, err := manyVisits.GetMany(t.Context(), v.ID, "99"); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	if _, err := citizens.Create(t.Context(), citizen{Email: "b@x"}); err == nil {
		t.Error("a record was written")
	}
}
