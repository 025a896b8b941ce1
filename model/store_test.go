package model_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

type user struct {
	ID      string `redis:",id"`
	Name    string `redis:"name,index"`
	Email   string `redis:"email,unique,caseinsensitive"`
	Age     int    `redis:"age,range"`
	City    string `redis:"city,range"`
	Tags    []string
	Boss    model.Ref[user] `redis:"boss,index"`
	Version int64           `redis:",version"`
	Expires time.Time       `redis:",expires"`
}

func store[T any](t testing.TB, client rueidis.Client, opt model.Options) *model.Store[T] {
	t.Helper()
	s, err := model.New[T](t.Context(), client, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// patched is the error of a Patch, whatever else it returns.
func patched(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

func TestCreateGetSaveDelete(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	users := store[user](t, client, model.Options{Name: "user"})
	want := user{
		Name: "salvatore", Email: "Anti@Rez.com", Age: 41, City: "Catania", Tags: []string{"a", "b"},
		Boss: model.To[user]("7"), Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond),
	}
	created, err := users.Create(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	want.ID, want.Version = "1", 1
	if !reflect.DeepEqual(created, want) {
		t.Fatalf("created %+v", created)
	}
	if got, err := users.Get(t.Context(), "1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = users.Create(t.Context(), user{Email: "anti@REZ.com"})
	var taken *model.TakenError
	if !errors.Is(err, model.ErrTaken) || !errors.As(err, &taken) || taken.Field != "email" || taken.Owner != "1" {
		t.Fatalf("%v", err)
	}
	created.Age = 42
	saved, err := users.Save(t.Context(), created)
	if err != nil || saved.Version != 2 {
		t.Fatal(saved, err)
	}
	if _, err := users.Save(t.Context(), created); !errors.Is(err, model.ErrConflict) {
		t.Fatal(err)
	}
	if _, err := users.Update(t.Context(), "1", func(u *user) error { u.Email, u.Tags = "new@x", nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Patch(t.Context(), "1", map[string]any{"age": int64(43), "city": nil}); err != nil {
		t.Fatal(err)
	}
	got, err := users.Get(t.Context(), "1")
	if err != nil || got.Age != 43 || got.City != "" || got.Tags != nil || got.Version != 4 || got.Email != "new@x" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := users.Create(t.Context(), user{Email: "anti@rez.com"}); err != nil {
		t.Fatal(err)
	}
	if err := users.Delete(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if err := users.Delete(t.Context(), "1"); !errors.Is(err, model.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := users.Get(t.Context(), "1"); !errors.Is(err, model.ErrNotFound) {
		t.Fatal(err)
	}
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
	t.Log(keys, err)
}

// What cannot be part of a key, or of a claim, is no id.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	type thing struct {
		ID   string `redis:",id"`
		Mail string `redis:"mail,unique"`
	}
	ctx := t.Context()
	things := store[thing](t, redistest.DB(t).Client(t), model.Options{Name: "thing", IDs: model.ClientAssigned, Partitions: 3})
	for _, id := range []string{"", strings.Repeat("a", 257), "a\x00b"} {
		_, created := things.Create(ctx, thing{ID: id})
		_, saved := things.Save(ctx, thing{ID: id})
		_, updated := things.Update(ctx, id, func(*thing) error { return nil })
		_, patched := things.Patch(ctx, id, map[string]any{"mail": "x"})
		for what, err := range map[string]error{
			"Create": created, "Save": saved, "Delete": things.Delete(ctx, id),
			"Update": updated, "Patch": patched,
		} {
			if !errors.Is(err, model.ErrValue) {
				t.Errorf("%s of id %q: %v", what, id, err)
			}
		}
		if _, err := things.Get(ctx, id); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Get of id %q: %v", id, err)
		}
	}
	long := strings.Repeat("a", 256)
	if got, err := things.Create(ctx, thing{ID: long, Mail: "m"}); err != nil || got.ID != long {
		t.Error(err)
	}
	if _, err := things.Create(ctx, thing{ID: "b", Mail: "m"}); !errors.Is(err, model.ErrTaken) {
		t.Error(err)
	}
}
