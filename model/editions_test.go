package model_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/maintain"
	"retwis/model"
)

// bareCitizen is the first declaration of a citizen, without indexes.
type bareCitizen struct {
	ID      string             `redis:",id"`
	Name    string             `redis:"name"`
	Email   string             `redis:"email"`
	Phone   *string            `redis:"phone"`
	Age     int                `redis:"age"`
	City    string             `redis:"city"`
	Tags    []string           `redis:"tags"`
	Boss    model.Ref[citizen] `redis:"boss"`
	Notes   map[string]int     `redis:"notes"`
	Version int64              `redis:",version"`
	Expires time.Time          `redis:"expires"`
}

// otherCitizen has some of the indexes of a citizen, and some that are declared differently.
type otherCitizen struct {
	ID      string             `redis:",id"`
	Name    string             `redis:"name,range"`
	Email   string             `redis:"email,unique"`
	Phone   *string            `redis:"phone,range"`
	Age     int                `redis:"age,range"`
	City    string             `redis:"city,index"`
	Tags    []string           `redis:"tags"`
	Boss    model.Ref[citizen] `redis:"boss,range"`
	Notes   map[string]int     `redis:"notes"`
	Version int64              `redis:",version"`
	Expires time.Time          `redis:",expires"`
}

func (otherCitizen) Indexes() []model.Index[otherCitizen] {
	return []model.Index[otherCitizen]{
		model.Computed("domain", func(c otherCitizen) []string { return strings.Split(c.Email, "@") }),
		model.Composite[otherCitizen]("age", "city"),
	}
}

// moreCitizen has all the indexes of a citizen, and more.
type moreCitizen struct {
	ID      string             `redis:",id"`
	Name    string             `redis:"name,index"`
	Email   string             `redis:"email,unique,caseinsensitive"`
	Phone   *string            `redis:"phone,unique"`
	Age     int                `redis:"age,range"`
	City    string             `redis:"city,range,caseinsensitive"`
	Tags    []string           `redis:"tags,index"`
	Boss    model.Ref[citizen] `redis:"boss,index"`
	Notes   map[string]int     `redis:"notes"`
	Version int64              `redis:",version"`
	Expires time.Time          `redis:",expires"`
}

func (moreCitizen) Indexes() []model.Index[moreCitizen] {
	return []model.Index[moreCitizen]{
		model.Computed("domain", func(c moreCitizen) string { return c.Email[strings.IndexByte(c.Email, '@')+1:] }),
		model.Composite[moreCitizen]("city", "age desc"),
		model.Composite[moreCitizen]("name", "city"),
		model.Computed("initial", func(c moreCitizen) string { return c.Name[:min(1, len(c.Name))] }),
	}
}

// edition wraps a Store of one of these types.
type edition struct {
	store interface {
		Pending(ctx context.Context) ([]string, error)
		Migrate(ctx context.Context, opt maintain.Options) (model.Report, error)
		Verify(ctx context.Context, opt maintain.Options) (model.Report, error)
		Repair(ctx context.Context, opt maintain.Options) (model.Report, error)
		Delete(ctx context.Context, id string) error
	}
	patch  func(ctx context.Context, id string, values map[string]any) error
	create func(ctx context.Context, c citizen) (id string, err error)
}

// editionOf opens the model with the declaration of T.
func editionOf[T any](t testing.TB, client rueidis.Client, opt model.Options) edition {
	t.Helper()
	s := store[T](t, client, opt)
	patch := func(ctx context.Context, id string, values map[string]any) error {
		_, err := s.Patch(ctx, id, values)
		return err
	}
	return edition{s, patch, func(ctx context.Context, c citizen) (string, error) {
		made, err := s.Create(ctx, reflect.ValueOf(c).Convert(reflect.TypeFor[T]()).Interface().(T))
		return reflect.ValueOf(made).FieldByName("ID").String(), err
	}}
}

// editions returns editionOf for each type.
func editions() []func(testing.TB, rueidis.Client, model.Options) edition {
	return []func(testing.TB, rueidis.Client, model.Options) edition{
		editionOf[bareCitizen], editionOf[otherCitizen], editionOf[moreCitizen], editionOf[citizen],
	}
}

// randomCitizen returns a citizen whose email address is rarely that of another citizen.
func randomCitizen(random *rand.Rand) citizen {
	c := citizen{
		Name: string(rune('a' + random.IntN(3))), Email: string(rune('a'+random.IntN(26))) + string(rune('a'+random.IntN(26))) + "@" + string(rune('x'+random.IntN(3))),
		Age: random.IntN(5), City: []string{"Bari", "bar", ""}[random.IntN(3)],
		Tags: []string{"t", string(rune('a' + random.IntN(3)))}, Boss: model.To[citizen]([]string{"", "1", "2"}[random.IntN(3)]),
	}
	if random.IntN(3) == 0 {
		c.Phone = ptr(c.Email[:2])
	}
	if random.IntN(4) == 0 {
		c.Expires = time.UnixMilli(4_000_000_000_000).UTC()
	}
	return c
}

// randomWrite performs a random write through an edition. It ignores expected errors.
func (e *edition) randomWrite(ctx context.Context, random *rand.Rand, records int) error {
	c := randomCitizen(random)
	id := string(rune('0' + random.IntN(10)))
	if tens := random.IntN(max(records/10, 1)); tens > 0 {
		id = string(rune('0'+tens)) + id
	}
	var err error
	switch random.IntN(6) {
	case 0, 1:
		_, err = e.create(ctx, c)
	case 2:
		err = e.patch(ctx, id, map[string]any{"name": c.Name, "city": c.City, "expires": c.Expires})
	case 3:
		err = e.patch(ctx, id, map[string]any{"email": c.Email, "phone": nil})
	case 4:
		err = e.patch(ctx, id, map[string]any{"age": c.Age, "tags": c.Tags, "boss": c.Boss})
	case 5:
		err = e.store.Delete(ctx, id)
	}
	if errors.Is(err, model.ErrTaken) || errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}
