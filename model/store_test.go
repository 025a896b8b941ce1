package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
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

// store returns a Store, and ends the test on an error.
func store[T any](t testing.TB, client rueidis.Client, opt model.Options) *model.Store[T] {
	t.Helper()
	s, err := model.New[T](t.Context(), client, opt)
	require.OK(t)(err)
	return s
}

// errOf returns the error among the results of a call.
func errOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// checkErr fails the test if err is not nil. Unlike require.OK, it lets the test continue, so any
// goroutine can call it.
func checkErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// checkEmpty checks that a call returns an empty slice.
func checkEmpty[V any](t testing.TB) func(got []V, err error) {
	return func(got []V, err error) {
		t.Helper()
		if err != nil || len(got) > 0 {
			t.Errorf("got %v, %v; want an empty slice", got, err)
		}
	}
}

// readPages reads a query page by page, and calls between with each page except the last page.
func readPages[T any](t testing.TB, q *model.Query[T], between ...func(page []T)) []T {
	t.Helper()
	var all []T
	for cursor := ""; ; {
		page, err := q.After(cursor).Page(t.Context())
		require.OK(t)(err)
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			return all
		}
		for _, f := range between {
			f(page.Items)
		}
	}
}

// checkVerify fails the test if records and indexes disagree.
func checkVerify(t testing.TB, s interface {
	Verify(ctx context.Context, opt maintain.Options) (model.Report, error)
},
) {
	t.Helper()
	if r, err := s.Verify(t.Context(), maintain.Options{Examples: 5}); err != nil || r.Problems() != 0 {
		t.Errorf("Verify: %+v, %v; want no problems", r, err)
	}
}

// Text that cannot be part of a key or of a claim is not a valid id.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	type thing struct {
		ID   string `redis:",id"`
		Mail string `redis:"mail,unique"`
	}
	ctx := t.Context()
	things := store[thing](t, redistest.DB(t).Client(t), model.Options{Name: "thing", IDs: model.ClientAssigned, Partitions: 3})
	for _, id := range []string{"", strings.Repeat("a", 257), "a\x00b"} {
		_, createErr := things.Create(ctx, thing{ID: id})
		_, saveErr := things.Save(ctx, thing{ID: id})
		_, updateErr := things.Update(ctx, id, func(*thing) error { return nil })
		_, patchErr := things.Patch(ctx, id, map[string]any{"mail": "x"})
		for what, err := range map[string]error{
			"Create": createErr, "Save": saveErr, "Delete": things.Delete(ctx, id),
			"Update": updateErr, "Patch": patchErr,
		} {
			if !errors.Is(err, model.ErrValue) {
				t.Errorf("%s of id %q: %v; want ErrValue", what, id, err)
			}
		}
		if _, err := things.Get(ctx, id); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("Get of id %q: %v; want ErrNotFound", id, err)
		}
	}
	long := strings.Repeat("a", 256)
	if got, err := things.Create(ctx, thing{ID: long, Mail: "m"}); err != nil || got.ID != long {
		t.Errorf("Create with an id of 256 bytes: id %q, %v", got.ID, err)
	}
	require.Fails(t, model.ErrTaken)(things.Create(ctx, thing{ID: "b", Mail: "m"}))
}
