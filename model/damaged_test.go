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

// An unreadable record does not hide other records, and Patch can overwrite an unreadable field.
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
			p := mustCreate(t, patients, patient{Name: fmt.Sprint("n", i), Age: i})
			ids = append(ids, p.ID)
		}
		d := damager{t, client, opt}
		d.do("HSET", "patient:1", "age", "abc")
		check := func(what string, n int, err error) {
			t.Helper()
			var damage *model.RecordError
			if n != 4 || !errors.Is(err, model.ErrCorrupt) || !errors.As(err, &damage) || damage.ID != "1" || damage.Field != "age" {
				t.Errorf("%+v: %s: %d records, %v; want 4, and a RecordError of record 1, field age", opt, what, n, err)
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
			check("streaming "+what, n, damaged)
		}
		some, err := patients.GetMany(t.Context(), ids...)
		check("GetMany", len(some), err)
		if p, err := patients.Find().OrderBy("name").First(t.Context()); p.Name != "n1" || !errors.Is(err, model.ErrCorrupt) {
			t.Errorf("First: %+v, %v; want n1 and ErrCorrupt", p, err)
		}
		require.Fails(t, model.ErrCorrupt)(patients.Patch(t.Context(), "1", map[string]any{"name": "x"}))
		checkErr(t, errOf(patients.Patch(t.Context(), "1", map[string]any{"age": 3})))
		if p, err := patients.Get(t.Context(), "1"); err != nil || p.Age != 3 || p.Name != "n0" || p.Version != 2 {
			t.Errorf("after Patch: %+v, %v; want age 3, name n0, version 2", p, err)
		}
		checkVerify(t, patients)
	}
}

type buyer struct {
	ID   string `redis:",id"`
	Name string `redis:"name"`
}

type purchase struct {
	ID    string           `redis:",id"`
	Buyer model.Ref[buyer] `redis:"buyer,index,restrict"`
}

// A program that has not called Relate cannot delete records that others refer to.
func TestRulesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "buyer", func(t *testing.T, client rueidis.Client, opt model.Options) {
		// One program declares orders, another program only buyers.
		order := opt
		order.Name = "order"
		orders := store[purchase](t, client, order)
		buyers := store[buyer](t, client, opt)
		b := mustCreate(t, buyers, buyer{})
		mustCreate(t, orders, purchase{Buyer: model.To[buyer](b.ID)})
		require.Fails(t, model.ErrNotRelated, "field buyer of model order has the rule restrict")(buyers.Delete(t.Context(), b.ID))
		require.OK(t)(buyers.Get(t.Context(), b.ID))
		require.OK(t)(model.Relate(t.Context(), orders, buyers))
		require.Fails(t, model.ErrReferenced)(buyers.Delete(t.Context(), b.ID))
		// Relate ties the field to the model buyer, not to other models of the same type.
		opt.Name = "supplier"
		suppliers := store[buyer](t, client, opt)
		if s, err := suppliers.Create(t.Context(), buyer{}); err != nil || suppliers.Delete(t.Context(), s.ID) != nil {
			t.Fatalf("creating and deleting a supplier failed: %v", err)
		}
		opt.Name = "buyer"
		again := store[buyer](t, client, opt)
		require.Fails(t, model.ErrNotRelated)(again.Delete(t.Context(), b.ID))
	})
}
