package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

type textMail struct {
	ID   string `redis:",id"`
	Mail string `redis:"mail,index"`
	Note string `redis:"note"`
}

type numberMail struct {
	ID   string `redis:",id"`
	Mail int    `redis:"mail,index"`
	Note string `redis:"note"`
}

type numberNote struct {
	ID   string `redis:",id"`
	Mail string `redis:"mail,index"`
	Note int    `redis:"note"`
}

type unrelated struct {
	ID    string `redis:",id"`
	Other string `redis:"other,range"`
}

// Pending lists a changed kind of a field. Migrate refuses the change, before it writes anything,
// if all records would become unreadable.
func TestFieldOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.DB(t).Client(t)
		opt := model.Options{Name: "letter", Partitions: partitions}
		texts := store[textMail](t, client, opt)
		for range 5 {
			mustCreate(t, texts, textMail{Mail: "a@x", Note: "n"})
		}
		checkRefused := func(want string, pending []string, err error, migrate func() error) {
			t.Helper()
			if err != nil || !slices.Contains(pending, want) {
				t.Errorf("Pending = %q, %v; want %q", pending, err, want)
			}
			if err := migrate(); !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("Migrate: %v; want ErrCorrupt and %q", err, want)
			}
			if all, err := texts.Find(model.Eq("mail", "a@x")).Slice(t.Context()); len(all) < 5 || err != nil {
				t.Errorf("%d records, %v; want at least 5", len(all), err)
			}
			mustCreate(t, texts, textMail{Mail: "a@x", Note: "n"})
		}
		numbers := store[numberMail](t, client, opt)
		pending, err := numbers.Pending(t.Context())
		checkRefused("change mail from string to int", pending, err, func() error { _, err := numbers.Migrate(t.Context(), maintain.Options{}); return err })
		notes := store[numberNote](t, client, opt) // no index has changed
		pending, err = notes.Pending(t.Context())
		checkRefused("change note from string to int", pending, err, func() error { _, err := notes.Migrate(t.Context(), maintain.Options{}); return err })

		// Migrate accepts the change if at least one record is readable.
		mustCreate(t, texts, textMail{Mail: "a@x", Note: "7"})
		checkErr(t, errOf(notes.Migrate(t.Context(), maintain.Options{})))
		checkEmpty[string](t)(notes.Pending(t.Context()))
	}
}

// New refuses a type that has no field in common with the records of the model.
func TestUnrelatedTypeOfOneName(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.DB(t).Client(t)
		opt := model.Options{Name: "letter", Partitions: partitions}
		texts := store[textMail](t, client, opt)
		store[unrelated](t, client, opt) // there are no records yet
		for range 10 {
			mustCreate(t, texts, textMail{Mail: "a@x"})
		}
		_, err := model.New[unrelated](t.Context(), client, opt)
		if !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), "mail, note") || !strings.Contains(err.Error(), "unrelated") {
			t.Errorf("New: %v; want ErrDeclaration that names both types of fields", err)
		}
		checkEmpty[string](t)(texts.Pending(t.Context()))
		mustCreate(t, texts, textMail{Mail: "a@x"})
		require.Gives(t, 11)(texts.Count(t.Context(), model.Eq("mail", "a@x")))
		require.OK(t)(texts.Drop(t.Context(), maintain.Options{}))
		store[unrelated](t, client, opt)
	}
}
