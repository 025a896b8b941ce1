package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

type (
	country struct {
		ID      string    `redis:",id"`
		Name    string    `redis:"name"`
		Expires time.Time `redis:",expires"`
	}
	// town refers to countries that must exist, with each kind of reference and rule.
	town struct {
		ID       string               `redis:",id"`
		Name     string               `redis:"name,unique"`
		Country  model.Ref[country]   `redis:"country,index,exists,restrict"`
		Part     model.Ref[country]   `redis:"part,index,exists,cascade"`
		Lost     *model.Ref[country]  `redis:"lost,range,exists,clear"`
		Borders  []model.Ref[country] `redis:"borders,index,exists,clear"`
		Visited  []model.Ref[country] `redis:"visited,exists"`
		Twin     model.Ref[town]      `redis:"twin,exists"`
		Founded  int                  `redis:"founded"`
		Language string               `redis:"language"`
	}
)

// atlas holds both models.
type atlas struct {
	countries *model.Store[country]
	towns     *model.Store[town]
	client    rueidis.Client // client of the towns
	opt       model.Options  // options of the countries
	near      bool           // both models are in one slot
}

// atlases calls test for models in the same slot, in different slots and in different
// databases.
func atlases(t *testing.T, test func(t *testing.T, a atlas)) {
	t.Helper()
	for name, layout := range map[string]struct {
		parts int
		other bool
	}{"one slot": {0, false}, "partitions": {3, false}, "two databases": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			a := atlas{opt: model.Options{Name: "country", IDs: model.ClientAssigned, Partitions: layout.parts}, near: name == "one slot"}
			a.countries = store[country](t, client, a.opt)
			if layout.other {
				client = redistest.DB(t).Client(t)
			}
			a.client = client
			a.towns = store[town](t, client, model.Options{Name: "town", Partitions: layout.parts})
			checked(t, model.Relate(t.Context(), a.towns, a.countries))
			test(t, a)
		})
	}
}

func toCountry(id string) model.Ref[country] { return model.To[country](id) }

// dangles fails the test unless an error names a reference to a missing record.
func dangles(t *testing.T, what string, err error, field, of, id string) {
	t.Helper()
	var dangling *model.DanglingError
	if !errors.Is(err, model.ErrDangling) || !errors.As(err, &dangling) || *dangling != (model.DanglingError{Field: field, Model: of, ID: id}) {
		t.Errorf("%s: %v", what, err)
	}
	if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%s refers to %s %q, which does not exist", field, of, id)) {
		t.Errorf("%s: %v", what, err)
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	atlases(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		for _, id := range []string{"it", "fr"} {
			createdOf(t, a.countries, country{ID: id})
		}
		lost := toCountry("no")
		for what, test := range map[string]struct {
			town  town
			field string
		}{
			"a Ref":         {town{Country: toCountry("no")}, "country"},
			"another one":   {town{Country: toCountry("it"), Part: toCountry("no")}, "part"},
			"a pointer":     {town{Lost: &lost}, "lost"},
			"a list":        {town{Borders: []model.Ref[country]{toCountry("it"), toCountry("no")}}, "borders"},
			"without index": {town{Visited: []model.Ref[country]{toCountry("no"), toCountry("fr")}}, "visited"},
		} {
			_, err := a.towns.Create(ctx, test.town)
			dangles(t, what, err, test.field, "country", "no")
			_, err = a.towns.CreateMany(ctx, []town{test.town})
			dangles(t, what+", many", err, test.field, "country", "no")
		}
		if n, err := a.towns.Len(ctx); n != 0 || err != nil {
			t.Error("something was written:", n, err)
		}
		italy := toCountry("it")
		rome := createdOf(t, a.towns, town{
			Name: "Rome", Country: italy, Part: italy, Lost: &italy, Borders: []model.Ref[country]{italy, toCountry("fr"), {}}, Visited: []model.Ref[country]{italy},
		})
		paris := createdOf(t, a.towns, town{Name: "Paris", Twin: model.To[town](rome.ID)})
		_, err := a.towns.Create(ctx, town{Name: "x", Twin: model.To[town]("99")})
		dangles(t, "itself", err, "twin", "town", "99")

		wrong := rome
		wrong.Country = toCountry("no")
		_, err = a.towns.Save(ctx, wrong)
		dangles(t, "Save", err, "country", "country", "no")
		_, err = a.towns.Put(ctx, wrong)
		dangles(t, "Put", err, "country", "country", "no")
		_, err = a.towns.PutMany(ctx, []town{{ID: "88", Name: "new", Part: toCountry("no")}})
		dangles(t, "PutMany of a new one", err, "part", "country", "no")
		err = errOf(a.towns.Update(ctx, rome.ID, func(r *town) error { r.Borders = append(r.Borders, toCountry("no")); return nil }))
		dangles(t, "Update", err, "borders", "country", "no")
		err = errOf(a.towns.Patch(ctx, rome.ID, map[string]any{"name": "y", "twin": "77"}))
		dangles(t, "Patch", err, "twin", "town", "77")
		if got, err := a.towns.Get(ctx, rome.ID); err != nil || got.Name != "Rome" || got.Country != italy || len(got.Borders) != 3 {
			t.Error("a refused write changed something:", got, err)
		}
		// A missing record is reported as such, whatever it refers to.
		if _, err := a.towns.Save(ctx, town{ID: "55", Name: "z", Part: toCountry("no")}); a.near && !errors.Is(err, model.ErrNotFound) {
			t.Error(err)
		}
		// A unique value claimed for a refused record is free.
		createdOf(t, a.towns, town{Name: "x"})
		// A town may refer to itself.
		checked(t, errOf(a.towns.Patch(ctx, paris.ID, map[string]any{"twin": paris.ID})))

		many, err := a.towns.CreateMany(ctx, []town{
			{Name: "a", Country: italy}, {Name: "b", Country: toCountry("no")}, {Name: "c", Borders: []model.Ref[country]{italy}}, {Name: "d", Twin: model.To[town]("98")}, {Name: "e"},
		})
		var refused *model.ManyError
		if !errors.As(err, &refused) || len(refused.Refused) != 2 || refused.Refused[0].Position != 1 || refused.Refused[1].Position != 3 {
			t.Fatal(err)
		}
		dangles(t, "CreateMany", refused.Refused[0].Err, "country", "country", "no")
		dangles(t, "CreateMany", refused.Refused[1].Err, "twin", "town", "98")
		for i, name := range []string{"a", "", "c", "", "e"} {
			if name == "" {
				continue
			}
			if got, err := a.towns.Get(ctx, many[i].ID); err != nil || got.Name != name {
				t.Error(got, err)
			}
		}
		checkVerify(t, a.towns)
	})
}

// An existing reference to an expired record stays, and does not prevent other changes.
func TestExistsAfterExpiry(t *testing.T) {
	t.Parallel()
	atlases(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		createdOf(t, a.countries, country{ID: "fr"})
		createdOf(t, a.countries, country{ID: "su", Expires: time.Now().Add(time.Hour)})
		su, fr := toCountry("su"), toCountry("fr")
		minsk := createdOf(t, a.towns, town{Name: "Minsk", Country: su, Borders: []model.Ref[country]{su}, Visited: []model.Ref[country]{su, fr}, Lost: &su})
		checked(t, errOf(a.countries.Patch(ctx, "su", map[string]any{"expires": time.Now().Add(-time.Second)})))

		_, err := a.towns.Create(ctx, town{Name: "x", Country: su})
		dangles(t, "an expired record", err, "country", "country", "su")
		checked(t, errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"founded": 1067})))
		minsk, err = a.towns.Get(ctx, minsk.ID)
		checked(t, err)
		minsk.Language = "Belarusian"
		minsk, err = a.towns.Save(ctx, minsk)
		checked(t, err)
		checked(t, errOf(a.towns.Update(ctx, minsk.ID, func(m *town) error { m.Visited = append(m.Visited, fr, su); return nil })))
		minsk.Part = su
		_, err = a.towns.Save(ctx, minsk)
		dangles(t, "a new reference", err, "part", "country", "su")
		checked(t, errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"country": nil})))
		err = errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"country": su}))
		dangles(t, "once more", err, "country", "country", "su")
		// An unreadable field refers to nothing.
		redisDo(t, a.client, "HSET", a.keyOfTown(minsk.ID), "visited", "[1,")
		err = errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"visited": []model.Ref[country]{su}}))
		dangles(t, "damaged", err, "visited", "country", "su")
	})
}

// keyOfTown returns the key of a town.
func (a *atlas) keyOfTown(id string) string {
	opt := a.opt
	opt.Name = "town"
	return recordKey(opt, id)
}

// If both models are in one slot, no town refers to a missing country while countries are
// created and deleted.
func TestExistsConcurrently(t *testing.T) {
	t.Parallel()
	atlases(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		var last atomic.Int64 // the newest country; ids are never reused
		var work, wars sync.WaitGroup
		done := make(chan struct{})
		wars.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n := last.Add(1)
				createdOf(t, a.countries, country{ID: fmt.Sprint(n)})
				if err := a.countries.Delete(ctx, fmt.Sprint(n-1)); err != nil && !errors.Is(err, model.ErrNotFound) && !errors.Is(err, model.ErrReferenced) {
					t.Error(err)
				}
			}
		})
		for w := range 3 {
			work.Go(func() { a.found(ctx, t, rand.New(rand.NewPCG(uint64(w), 1)), &last) })
		}
		work.Wait()
		close(done)
		wars.Wait()
		if !a.near { // a reference can be written after the check, and claims can be left
			_, err := a.towns.Repair(ctx, maintain.Options{})
			checked(t, err)
			checkVerify(t, a.towns)
			return
		}
		written := 0
		for c, err := range a.towns.All(ctx) {
			checked(t, err)
			written++
			refs := append([]model.Ref[country]{c.Country, c.Part}, c.Borders...)
			if c.Lost != nil {
				refs = append(refs, *c.Lost)
			}
			for _, ref := range refs {
				if ref.IsZero() {
					continue
				}
				if there, err := a.countries.Has(ctx, ref.ID); !there || err != nil {
					t.Errorf("town %s refers to country %s, which is gone: %+v (%v)", c.ID, ref.ID, c, err)
				}
			}
		}
		if written == 0 {
			t.Error("no town was written")
		}
		checkVerify(t, a.towns)
	})
}

// found writes towns that refer to countries that may exist.
func (a *atlas) found(ctx context.Context, t *testing.T, random *rand.Rand, last *atomic.Int64) {
	some := func() model.Ref[country] {
		if random.IntN(3) == 0 {
			return model.Ref[country]{}
		}
		return toCountry(fmt.Sprint(max(last.Load()-int64(random.IntN(2)), 1)))
	}
	for i := range 150 {
		lost := some()
		c := town{Name: fmt.Sprintf("%d-%d", random.Uint64(), i), Part: some(), Lost: &lost, Borders: []model.Ref[country]{some(), some()}}
		if i%20 == 0 {
			c.Country = some()
		}
		made, err := a.towns.Create(ctx, c)
		if err == nil && i%2 == 0 {
			_, err = a.towns.Save(ctx, made)
		}
		if err == nil && i%3 == 0 {
			err = errOf(a.towns.Update(ctx, made.ID, func(c *town) error { c.Borders = append(c.Borders, some()); return nil }))
		}
		if err != nil && !errors.Is(err, model.ErrDangling) && !errors.Is(err, model.ErrNotFound) {
			t.Error(err)
		}
	}
}

func TestExistsRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	ctx := t.Context()
	countries := store[country](t, client, model.Options{Name: "country", IDs: model.ClientAssigned})
	towns := store[town](t, client, model.Options{Name: "town"})
	_, err := towns.Create(ctx, town{Country: toCountry("it")})
	if !errors.Is(err, model.ErrNotRelated) || !strings.Contains(err.Error(), "model.Relate") {
		t.Error(err)
	}
	createdOf(t, towns, town{}) // no references
	checked(t, model.Relate(t.Context(), towns, countries))
	many := slices.Repeat([]model.Ref[country]{{ID: "it"}}, 1)
	for i := range 1000 {
		many = append(many, toCountry(fmt.Sprint(i)))
	}
	require.Fails(t, model.ErrValue, "1001 references")(towns.Create(ctx, town{Name: "x", Visited: many}))
	type noRef struct {
		ID   string `redis:",id"`
		Name string `redis:"name,exists"`
	}
	require.Fails(t, model.ErrDeclaration, "exists is for a model.Ref")(model.New[noRef](t.Context(), client, model.Options{Name: "no"}))
	type needsRef struct {
		ID   string             `redis:",id"`
		Home model.Ref[country] `redis:"home,index,clear,required"`
	}
	require.Fails(t, model.ErrDeclaration, "use restrict or cascade")(model.New[needsRef](t.Context(), client, model.Options{Name: "no"}))
	// If two models have the same type, a record of either satisfies exists.
	more := store[country](t, client, model.Options{Name: "colony", IDs: model.ClientAssigned})
	checked(t, model.Relate(t.Context(), towns, more))
	createdOf(t, more, country{ID: "nz"})
	createdOf(t, towns, town{Name: "Auckland", Country: toCountry("nz")})
	_, err = towns.Create(ctx, town{Name: "y", Country: toCountry("no")})
	dangles(t, "two models", err, "country", "country or colony", "no")
}
