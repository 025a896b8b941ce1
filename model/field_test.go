package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

func TestFields(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	users := store[user](t, client, model.Options{Name: "user", Cache: time.Minute})
	ctx := t.Context()
	a := mustCreate(t, users, user{Name: "a", Email: "a@x", Age: 3})
	b := mustCreate(t, users, user{Name: "b", Email: "b@x", Age: 2})
	redisDo(t, client, "HSET", "user:9", "other", "1") // a record without the declared fields
	redisDo(t, client, "HSET", "user:"+b.ID, "version", "old")
	if name, err := model.Field[string](ctx, users, b.ID, "name"); name != "b" || err != nil {
		t.Error("an unreadable field hides another:", name, err)
	}
	require.Gives(t, "")(model.Field[string](ctx, users, "9", "name"))
	var ages []int
	for age, err := range model.Pluck[int](ctx, users.Find().OrderBy("age"), "age") {
		require.OK(t)(err)
		ages = append(ages, age)
	}
	if !slices.Equal(ages, []int{2, 3}) {
		t.Errorf("ages %v, want [2 3]", ages)
	}
	var versions []string
	for v, err := range model.Pluck[int64](ctx, users.Find().OrderBy("age"), "version") {
		versions = append(versions, fmt.Sprint(v, err != nil))
	}
	if !slices.Equal(versions, []string{"0 true", "1 false"}) {
		t.Errorf("versions and errors %q; want an error, then version 1", versions)
	}
	fieldErr := func(id, name string) error { _, err := model.Field[string](ctx, users, id, name); return err }
	pluckErr := func(q *model.Query[user], name string) error {
		for _, err := range model.Pluck[string](ctx, q, name) {
			return err
		}
		return nil
	}
	getErr := func(q *model.Query[user], id string) error { _, err := q.Get(ctx, id); return err }
	for what, test := range map[string]struct {
		err, want error
		text      string
	}{
		"no record":     {fieldErr("77", "name"), model.ErrNotFound, "77"},
		"no id":         {fieldErr("", "name"), model.ErrValue, "empty"},
		"unknown":       {fieldErr(a.ID, "nam"), model.ErrValue, `no field is called "nam"`},
		"other type":    {fieldErr(a.ID, "age"), model.ErrValue, "field age is int, not string"},
		"id":            {fieldErr(a.ID, "id"), model.ErrValue, "it is the id"},
		"pluck unknown": {pluckErr(users.Find(), "nam"), model.ErrValue, "no field is called"},
		"pluck query":   {pluckErr(users.Find(model.Eq("nam", "x")), "name"), model.ErrValue, "no field is called"},
		"get query":     {getErr(users.Find(model.Eq("nam", "x")), a.ID), model.ErrValue, "no field is called"},
		"get id":        {getErr(users.Find(), ""), model.ErrValue, "empty"},
		"get other":     {getErr(users.Find(model.Eq("name", "b")), a.ID), model.ErrNotFound, "does not match"},
		"damaged":       {getErr(users.Find(), b.ID), model.ErrCorrupt, "version"},
	} {
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v; want %v and %q", what, test.err, test.want, test.text)
		}
	}
	require.Fails(t, model.ErrCorrupt)(users.Find(model.Eq("name", "b")).Has(ctx, b.ID))
	// A cached record that no longer matches the condition is read again.
	other := store[user](t, client, model.Options{Name: "user"})
	require.OK(t)(users.Get(ctx, a.ID))
	require.OK(t)(other.Patch(ctx, a.ID, map[string]any{"name": "new"}))
	require.Gives(t, true)(users.Find(model.Eq("name", "new")).Has(ctx, a.ID))
}

// Pluck reads only the field, not the whole record.
func TestPluckReadsLittle(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t) // not shared: the server counts the bytes of all clients
	users := store[user](t, client, model.Options{Name: "user"})
	for range 10 {
		mustCreate(t, users, user{Name: strings.Repeat("n", 20_000), Email: fmt.Sprint(time.Now().UnixNano()), Age: 1})
	}
	sent := func() int64 {
		info, err := client.Do(t.Context(), client.B().Info().Section("stats").Build()).ToString()
		require.OK(t)(err)
		_, value, _ := strings.Cut(info, "total_net_output_bytes:")
		var n int64
		_, _ = fmt.Sscan(value, &n)
		return n
	}
	before := sent()
	n := 0
	for _, err := range model.Pluck[int](t.Context(), users.Find(model.AtLeast("age", 1)), "age") {
		require.OK(t)(err)
		n++
	}
	if used := sent() - before; n != 10 || used > 100_000 {
		t.Errorf("%d values and %d bytes; want 10 values and at most 100000 bytes", n, used)
	}
}
