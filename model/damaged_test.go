package model_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// An unreadable record does not hide others, and the old values of fields that Patch overwrites
// need not be readable.
func TestOneDamagedRecord(t *testing.T) {
	t.Parallel()
	type patient struct {
		ID      string `redis:",id"`
		Name    string `redis:"name,range"`
		Age     int    `redis:"age,range"`
		Version int64  `redis:",version"`
	}
	for _, opt := range []model.Options{{Name: "patient"}, {Name: "patient", Cache: 1e9}} {
		client := redistest.DB(t).Client(t)
		patients := store[patient](t, client, opt)
		var ids []string
		for i := range 5 {
			p := createdOf(t, patients, patient{Name: fmt.Sprint("n", i), Age: i})
			ids = append(ids, p.ID)
		}
		d := damaging{t, client, opt}
		d.do("HSET", "patient:1", "age", "abc")
		check := func(what string, n int, err error) {
			t.Helper()
			var of *model.RecordError
			if n != 4 || !errors.Is(err, model.ErrCorrupt) || !errors.As(err, &of) || of.ID != "1" || of.Field != "age" {
				t.Errorf("%+v: %s: %d records, %v", opt, what, n, err)
			}
		}
		for what, q := range map[string]*model.Query[patient]{
			"All": patients.Find(), "Find": patients.Find(model.Prefix("name", "n")), "OrderBy": patients.Find().OrderBy("name"),
		} {
			all, err := q.Slice(t.Context())
			check(what, len(all), err)
			page, err := q.Limit(4).Page(t.Context())
			check("a page of "+what, len(page.Items), err)
			n := 0
			var damaged error
			for p, err := range q.All(t.Context()) {
				if damaged = errors.Join(damaged, err); err == nil && p.ID != "" {
					n++
				}
			}
			check("Iter of "+what, n, damaged)
		}
		some, err := patients.GetMany(t.Context(), ids...)
		check("GetMany", len(some), err)
		if p, err := patients.Find().OrderBy("name").First(t.Context()); p.Name != "n1" || !errors.Is(err, model.ErrCorrupt) {
			t.Error(p, err)
		}
		require.Fails(t, model.ErrCorrupt)(patients.Patch(t.Context(), "1", map[string]any{"name": "x"}))
		checked(t, errOf(patients.Patch(t.Context(), "1", map[string]any{"age": 3})))
		if p, err := patients.Get(t.Context(), "1"); err != nil || p.Age != 3 || p.Name != "n0" || p.Version != 2 {
			t.Error(p, err)
		}
		checkVerify(t, patients)
	}
}

type buyer struct {
	ID   string `redis:",id"`
	Name string `redis:"name"`
}

type order2 struct {
	ID    string           `redis:",id"`
	Buyer model.Ref[buyer] `redis:"buyer,index,restrict"`
}

// A program that has not called Relate cannot delete records that others refer to.
func TestRulesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	layouts(t, "buyer", func(t *testing.T, client rueidis.Client, opt model.Options) {
		// One program has orders, and another one only knows buyers.
		order := opt
		order.Name = "order"
		orders := store[order2](t, client, order)
		buyers := store[buyer](t, client, opt)
		b := createdOf(t, buyers, buyer{})
		createdOf(t, orders, order2{Buyer: model.To[buyer](b.ID)})
		require.Fails(t, model.ErrNotRelated, "field buyer of model order has the rule restrict")(buyers.Delete(t.Context(), b.ID))
		require.OK(t)(buyers.Get(t.Context(), b.ID))
		require.OK(t)(model.Relate(t.Context(), orders, buyers))
		require.Fails(t, model.ErrReferenced)(buyers.Delete(t.Context(), b.ID))
		// The field refers to this model, not to other models of the same type.
		opt.Name = "supplier"
		others := store[buyer](t, client, opt)
		if o, err := others.Create(t.Context(), buyer{}); err != nil || others.Delete(t.Context(), o.ID) != nil {
			t.Fatal(err)
		}
		opt.Name = "buyer"
		again := store[buyer](t, client, opt)
		require.Fails(t, model.ErrNotRelated)(again.Delete(t.Context(), b.ID))
	})
}
