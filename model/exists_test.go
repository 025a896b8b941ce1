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
	// town has references that must exist, of each kind and with each rule.
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

// atlas holds the stores of countries and towns.
type atlas struct {
	countries *model.Store[country]
	towns     *model.Store[town]
	client    rueidis.Client // client of the towns
	opt       model.Options  // options of the countries
	sameSlot  bool           // both models are in one slot
}

// forEachAtlas runs test as a subtest with both models in the same slot, in different slots and
// in different databases.
func forEachAtlas(t *testing.T, test func(t *testing.T, a atlas)) {
	t.Helper()
	for name, layout := range map[string]struct {
		parts   int
		otherDB bool
	}{"one slot": {0, false}, "partitions": {3, false}, "two databases": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			a := atlas{opt: model.Options{Name: "country", IDs: model.ClientAssigned, Partitions: layout.parts}, sameSlot: name == "one slot"}
			a.countries = store[country](t, client, a.opt)
			if layout.otherDB {
				client = redistest.DB(t).Client(t)
			}
			a.client = client
			a.towns = store[town](t, client, model.Options{Name: "town", Partitions: layout.parts})
			checkErr(t, model.Relate(t.Context(), a.towns, a.countries))
			test(t, a)
		})
	}
}

func toCountry(id string) model.Ref[country] { return model.To[country](id) }

// checkDangling fails the test unless err is a DanglingError with this field, model and id.
func checkDangling(t *testing.T, what string, err error, field, modelName, id string) {
	t.Helper()
	var dangling *model.DanglingError
	if !errors.Is(err, model.ErrDangling) || !errors.As(err, &dangling) || *dangling != (model.DanglingError{Field: field, Model: modelName, ID: id}) {
		t.Errorf("%s: %v; want field %s, model %s, id %s", what, err, field, modelName, id)
	}
	if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%s refers to %s %q, which does not exist", field, modelName, id)) {
		t.Errorf("%s: the text of the error is wrong: %v", what, err)
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	forEachAtlas(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		for _, id := range []string{"it", "fr"} {
			mustCreate(t, a.countries, country{ID: id})
		}
		lost := toCountry("no")
		for what, test := range map[string]struct {
			town  town
			field string
		}{
			"a Ref":         {town{Country: toCountry("no")}, "country"},
			"a second Ref":  {town{Country: toCountry("it"), Part: toCountry("no")}, "part"},
			"a pointer":     {town{Lost: &lost}, "lost"},
			"a list":        {town{Borders: []model.Ref[country]{toCountry("it"), toCountry("no")}}, "borders"},
			"without index": {town{Visited: []model.Ref[country]{toCountry("no"), toCountry("fr")}}, "visited"},
		} {
			_, err := a.towns.Create(ctx, test.town)
			checkDangling(t, what, err, test.field, "country", "no")
			_, err = a.towns.CreateMany(ctx, []town{test.town})
			checkDangling(t, what+", many", err, test.field, "country", "no")
		}
		if n, err := a.towns.Len(ctx); n != 0 || err != nil {
			t.Error("a refused town was written:", n, err)
		}
		italy := toCountry("it")
		rome := mustCreate(t, a.towns, town{
			Name: "Rome", Country: italy, Part: italy, Lost: &italy, Borders: []model.Ref[country]{italy, toCountry("fr"), {}}, Visited: []model.Ref[country]{italy},
		})
		paris := mustCreate(t, a.towns, town{Name: "Paris", Twin: model.To[town](rome.ID)})
		_, err := a.towns.Create(ctx, town{Name: "x", Twin: model.To[town]("99")})
		checkDangling(t, "a Ref to the own model", err, "twin", "town", "99")

		wrong := rome
		wrong.Country = toCountry("no")
		_, err = a.towns.Save(ctx, wrong)
		checkDangling(t, "Save", err, "country", "country", "no")
		_, err = a.towns.Put(ctx, wrong)
		checkDangling(t, "Put", err, "country", "country", "no")
		_, err = a.towns.PutMany(ctx, []town{{ID: "88", Name: "new", Part: toCountry("no")}})
		checkDangling(t, "PutMany of a new record", err, "part", "country", "no")
		err = errOf(a.towns.Update(ctx, rome.ID, func(r *town) error { r.Borders = append(r.Borders, toCountry("no")); return nil }))
		checkDangling(t, "Update", err, "borders", "country", "no")
		err = errOf(a.towns.Patch(ctx, rome.ID, map[string]any{"name": "y", "twin": "77"}))
		checkDangling(t, "Patch", err, "twin", "town", "77")
		if got, err := a.towns.Get(ctx, rome.ID); err != nil || got.Name != "Rome" || got.Country != italy || len(got.Borders) != 3 {
			t.Error("a refused write changed something:", got, err)
		}
		// Save of a missing record returns ErrNotFound, whatever the record refers to.
		if _, err := a.towns.Save(ctx, town{ID: "55", Name: "z", Part: toCountry("no")}); a.sameSlot && !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Save of a missing record: %v; want ErrNotFound", err)
		}
		// A unique value claimed for a refused record is free.
		mustCreate(t, a.towns, town{Name: "x"})
		// A town may refer to itself.
		checkErr(t, errOf(a.towns.Patch(ctx, paris.ID, map[string]any{"twin": paris.ID})))

		many, err := a.towns.CreateMany(ctx, []town{
			{Name: "a", Country: italy}, {Name: "b", Country: toCountry("no")}, {Name: "c", Borders: []model.Ref[country]{italy}}, {Name: "d", Twin: model.To[town]("98")}, {Name: "e"},
		})
		var refused *model.ManyError
		if !errors.As(err, &refused) || len(refused.Refused) != 2 || refused.Refused[0].Position != 1 || refused.Refused[1].Position != 3 {
			t.Fatal(err)
		}
		checkDangling(t, "CreateMany", refused.Refused[0].Err, "country", "country", "no")
		checkDangling(t, "CreateMany", refused.Refused[1].Err, "twin", "town", "98")
		for i, name := range []string{"a", "", "c", "", "e"} {
			if name == "" {
				continue
			}
			if got, err := a.towns.Get(ctx, many[i].ID); err != nil || got.Name != name {
				t.Errorf("Get of %s: %+v, %v", name, got, err)
			}
		}
		checkVerify(t, a.towns)
	})
}

// An existing reference to an expired record stays, and does not prevent other changes.
func TestExistsAfterExpiry(t *testing.T) {
	t.Parallel()
	forEachAtlas(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		mustCreate(t, a.countries, country{ID: "fr"})
		mustCreate(t, a.countries, country{ID: "su", Expires: time.Now().Add(time.Hour)})
		su, fr := toCountry("su"), toCountry("fr")
		minsk := mustCreate(t, a.towns, town{Name: "Minsk", Country: su, Borders: []model.Ref[country]{su}, Visited: []model.Ref[country]{su, fr}, Lost: &su})
		checkErr(t, errOf(a.countries.Patch(ctx, "su", map[string]any{"expires": time.Now().Add(-time.Second)})))

		_, err := a.towns.Create(ctx, town{Name: "x", Country: su})
		checkDangling(t, "an expired record", err, "country", "country", "su")
		checkErr(t, errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"founded": 1067})))
		minsk, err = a.towns.Get(ctx, minsk.ID)
		checkErr(t, err)
		minsk.Language = "Belarusian"
		minsk, err = a.towns.Save(ctx, minsk)
		checkErr(t, err)
		checkErr(t, errOf(a.towns.Update(ctx, minsk.ID, func(m *town) error { m.Visited = append(m.Visited, fr, su); return nil })))
		minsk.Part = su
		_, err = a.towns.Save(ctx, minsk)
		checkDangling(t, "a new reference", err, "part", "country", "su")
		checkErr(t, errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"country": nil})))
		err = errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"country": su}))
		checkDangling(t, "the removed reference again", err, "country", "country", "su")
		// References in an unreadable field do not count as existing references.
		redisDo(t, a.client, "HSET", a.keyOfTown(minsk.ID), "visited", "[1,")
		err = errOf(a.towns.Patch(ctx, minsk.ID, map[string]any{"visited": []model.Ref[country]{su}}))
		checkDangling(t, "an unreadable field", err, "visited", "country", "su")
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
	forEachAtlas(t, func(t *testing.T, a atlas) {
		ctx := t.Context()
		var last atomic.Int64 // the newest country; ids are never reused
		var work, countryWriter sync.WaitGroup
		done := make(chan struct{})
		countryWriter.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n := last.Add(1)
				mustCreate(t, a.countries, country{ID: fmt.Sprint(n)})
				if err := a.countries.Delete(ctx, fmt.Sprint(n-1)); err != nil && !errors.Is(err, model.ErrNotFound) && !errors.Is(err, model.ErrReferenced) {
					t.Error(err)
				}
			}
		})
		for w := range 3 {
			work.Go(func() { a.foundTowns(ctx, t, rand.New(rand.NewPCG(uint64(w), 1)), &last) })
		}
		work.Wait()
		close(done)
		countryWriter.Wait()
		if !a.sameSlot { // a reference can be written after the check of its record, and claims can be left
			_, err := a.towns.Repair(ctx, maintain.Options{})
			checkErr(t, err)
			checkVerify(t, a.towns)
			return
		}
		written := 0
		for c, err := range a.towns.All(ctx) {
			checkErr(t, err)
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
					t.Errorf("town %s refers to country %s, which does not exist: %+v (%v)", c.ID, ref.ID, c, err)
				}
			}
		}
		if written == 0 {
			t.Error("no town was written")
		}
		checkVerify(t, a.towns)
	})
}

// foundTowns writes towns that refer to countries that may exist.
func (a *atlas) foundTowns(ctx context.Context, t *testing.T, random *rand.Rand, last *atomic.Int64) {
	randomRef := func() model.Ref[country] {
		if random.IntN(3) == 0 {
			return model.Ref[country]{}
		}
		return toCountry(fmt.Sprint(max(last.Load()-int64(random.IntN(2)), 1)))
	}
	for i := range 150 {
		lost := randomRef()
		c := town{Name: fmt.Sprintf("%d-%d", random.Uint64(), i), Part: randomRef(), Lost: &lost, Borders: []model.Ref[country]{randomRef(), randomRef()}}
		if i%20 == 0 {
			c.Country = randomRef()
		}
		made, err := a.towns.Create(ctx, c)
		if err == nil && i%2 == 0 {
			_, err = a.towns.Save(ctx, made)
		}
		if err == nil && i%3 == 0 {
			err = errOf(a.towns.Update(ctx, made.ID, func(c *town) error { c.Borders = append(c.Borders, randomRef()); return nil }))
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
	mustCreate(t, towns, town{}) // no references
	checkErr(t, model.Relate(t.Context(), towns, countries))
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
	colonies := store[country](t, client, model.Options{Name: "colony", IDs: model.ClientAssigned})
	checkErr(t, model.Relate(t.Context(), towns, colonies))
	mustCreate(t, colonies, country{ID: "nz"})
	mustCreate(t, towns, town{Name: "Auckland", Country: toCountry("nz")})
	_, err = towns.Create(ctx, town{Name: "y", Country: toCountry("no")})
	checkDangling(t, "two models", err, "country", "country or colony", "no")
}
