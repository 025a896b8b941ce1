package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/model"
)

// A query finds a record by its id exactly where it finds the record at all, and reads of
// one field what whole records have.
func TestOneOfAQueryProperty(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	models := 0
	rapid.Check(t, func(rt *rapid.T) {
		models++
		opt := model.Options{Name: fmt.Sprintf("thing%d", models), Partitions: some(rt, "partitions", 1, 3)}
		f := fill(t.Context(), rt, client, opt, rapid.IntRange(0, 12).Draw(rt, "records"))
		for range 4 {
			f.askOne(t.Context(), rt)
		}
	})
}

func (f *filled) askOne(ctx context.Context, t *rapid.T) {
	what := drawTest(t, 2)
	q := f.find(what.cond)
	for i := range f.records {
		x := &f.records[i]
		has, err := q.Has(ctx, x.ID)
		if err != nil || has != what.fits(x) {
			t.Fatalf("%s: %v, %v", x.ID, has, err)
		}
		got, err := q.Limit(1).Get(ctx, x.ID)
		if has && (err != nil || got.ID != x.ID) || !has && !errors.Is(err, model.ErrNotFound) {
			t.Fatalf("%s: %v, %v", x.ID, got, err)
		}
	}
	if has, err := q.Has(ctx, "99"); has || err != nil {
		t.Fatal("a record that does not exist is found", err)
	}
	o := some(t, "order", orders()...)
	all, err := q.OrderBy(o.fields...).Slice(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range all {
		want = append(want, all[i].ID+" "+all[i].Long)
	}
	var longs []string
	for long, err := range model.Pluck[string](ctx, q.OrderBy(o.fields...), "long") {
		if err != nil {
			t.Fatal(err)
		}
		longs = append(longs, long)
	}
	for i := range longs {
		got = append(got, all[min(i, len(all)-1)].ID+" "+longs[i])
	}
	if !slices.Equal(got, want) && len(o.fields) > 0 || len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range all {
		if score, err := model.Field[*float64](ctx, f.things, all[i].ID, "score"); err != nil || (score == nil) != (all[i].Score == nil) {
			t.Fatal(score, err)
		}
		if born, err := model.Field[time.Time](ctx, f.things, all[i].ID, "born"); err != nil || !born.Equal(all[i].Born) {
			t.Fatal(born, err)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	users := store[user](t, client, model.Options{Name: "user", Cache: time.Minute})
	ctx := t.Context()
	a := createdOf(t, users, user{Name: "a", Email: "a@x", Age: 3})
	b := createdOf(t, users, user{Name: "b", Email: "b@x", Age: 2})
	redisDo(t, client, "HSET", "user:9", "other", "1") // a record with none of the fields
	redisDo(t, client, "HSET", "user:"+b.ID, "version", "old")
	if name, err := model.Field[string](ctx, users, b.ID, "name"); name != "b" || err != nil {
		t.Error("an unreadable field hides another:", name, err)
	}
	if name, err := model.Field[string](ctx, users, "9", "name"); name != "" || err != nil {
		t.Error(name, err)
	}
	var ages []int
	for age, err := range model.Pluck[int](ctx, users.Find().OrderBy("age"), "age") {
		if err != nil {
			t.Fatal(err)
		}
		ages = append(ages, age)
	}
	if !slices.Equal(ages, []int{2, 3}) {
		t.Error(ages)
	}
	var versions []string
	for v, err := range model.Pluck[int64](ctx, users.Find().OrderBy("age"), "version") {
		versions = append(versions, fmt.Sprint(v, err != nil))
	}
	if !slices.Equal(versions, []string{"0 true", "1 false"}) {
		t.Error(versions)
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
		says      string
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
		"get other":     {getErr(users.Find(model.Eq("name", "b")), a.ID), model.ErrNotFound, "fit"},
		"damaged":       {getErr(users.Find(), b.ID), model.ErrCorrupt, "version"},
	} {
		if !errors.Is(test.err, test.want) || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v", what, test.err)
		}
	}
	if _, err := users.Find(model.Eq("name", "b")).Has(ctx, b.ID); !errors.Is(err, model.ErrCorrupt) {
		t.Error(err)
	}
	// A cached record that is older than the condition is read again.
	other := store[user](t, client, model.Options{Name: "user"})
	if _, err := users.Get(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Patch(ctx, a.ID, map[string]any{"name": "new"}); err != nil {
		t.Fatal(err)
	}
	if has, err := users.Find(model.Eq("name", "new")).Has(ctx, a.ID); !has || err != nil {
		t.Error(has, err)
	}
}

// Pluck asks the server for the field, and not for the whole record.
func TestPluckReadsLittle(t *testing.T) {
	t.Parallel()
	client := redistest.Own(t).Client(t) // it counts the bytes of all
	users := store[user](t, client, model.Options{Name: "user"})
	for range 10 {
		createdOf(t, users, user{Name: strings.Repeat("n", 20_000), Email: fmt.Sprint(time.Now().UnixNano()), Age: 1})
	}
	sent := func() int64 {
		info, err := client.Do(t.Context(), client.B().Info().Section("stats").Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(info, "total_net_output_bytes:")
		var n int64
		_, _ = fmt.Sscan(rest, &n)
		return n
	}
	before := sent()
	n := 0
	for _, err := range model.Pluck[int](t.Context(), users.Find(model.AtLeast("age", 1)), "age") {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if used := sent() - before; n != 10 || used > 100_000 {
		t.Errorf("%d records, %d bytes", n, used)
	}
}
