package model_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// A release of a program makes e-mail addresses unique, and some records have the same.
type (
	inviteeBefore struct {
		ID    string `redis:",id"`
		Email string `redis:"email"`
	}
	invitee struct {
		ID    string `redis:",id"`
		Email string `redis:"email,unique"`
	}
)

// pairs creates n pairs of guests with the same address.
func pairs(t *testing.T, client rueidis.Client, opt model.Options, n int) {
	t.Helper()
	all := make([]inviteeBefore, 2*n)
	for i := range all {
		all[i] = inviteeBefore{ID: fmt.Sprint(1 + i), Email: fmt.Sprint("a", i%n)}
	}
	if _, err := store[inviteeBefore](t, client, opt).CreateMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// meddling is a client that does something before the first command of some kind.
type meddling struct {
	rueidis.Client
	before func(words []string) bool
	once   *sync.Once
	do     func()
}

// waits reports whether a command has the key of the records that wait for values.
func waits(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasSuffix(word, ".waiting") })
}

func (m meddling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if m.before(cmd.Commands()) {
		m.once.Do(m.do)
	}
	return m.Client.Do(ctx, cmd)
}

// A value that its owner leaves while another record begins to wait for it is handed over.
func TestValueIsLeftBeforeOneWaits(t *testing.T) {
	t.Parallel()
	layouts(t, "guest", func(t *testing.T, client rueidis.Client, opt model.Options) {
		pairs(t, client, opt, 1)
		others := store[invitee](t, client, opt)
		owner := ""
		guests := store[invitee](t, meddling{client, waits, new(sync.Once), func() {
			owner = ownerOf(t, client, opt, "email", "a0")
			if _, err := others.Patch(t.Context(), owner, map[string]any{"email": "b"}); err != nil {
				t.Error(err)
			}
		}}, opt)
		if r, err := guests.Migrate(t.Context(), maintain.Options{}); err != nil || r.Invalid != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if id := ownerOf(t, client, opt, "email", "a0"); owner == "" || id == owner || id == "" {
			t.Errorf("%q has it after %q", id, owner)
		}
	})
}

// cutting is a client that calls a function after a command that removes a record from
// those that wait for values.
type cutting struct {
	rueidis.Client
	cut func()
}

func (c cutting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	isRemoval := cmd.Commands()[0] == "ZREM" && strings.HasSuffix(cmd.Commands()[1], ".waiting")
	res := c.Client.Do(ctx, cmd)
	if isRemoval {
		c.cut()
	}
	return res
}

// A record still waits after a caller has given up in the middle of handing it the value.
func TestHandingOverIsCutShort(t *testing.T) {
	t.Parallel()
	layouts(t, "guest", func(t *testing.T, client rueidis.Client, opt model.Options) {
		pairs(t, client, opt, 1)
		guests := store[invitee](t, client, opt)
		if r, err := guests.Migrate(t.Context(), maintain.Options{}); err != nil || r.Invalid != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		owner := ownerOf(t, client, opt, "email", "a0")
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = store[invitee](t, cutting{client, cancel}, opt).Patch(ctx, owner, map[string]any{"email": "b"})
		if ctx.Err() == nil || ownerOf(t, client, opt, "email", "a0") != "" {
			t.Fatal("the call was not cut short")
		}
		other, err := guests.Create(t.Context(), invitee{Email: "a0"})
		if err != nil {
			t.Fatal(err)
		}
		if err := guests.Delete(t.Context(), other.ID); err != nil {
			t.Fatal(err)
		}
		if id := ownerOf(t, client, opt, "email", "a0"); id == "" || id == owner || id == other.ID {
			t.Errorf("%q has the value after %q and %q", id, owner, other.ID)
		}
	})
}

// lodgerBefore and lodger have two unique fields, one of them later, and an end.
type (
	lodgerBefore struct {
		ID    string    `redis:",id"`
		Name  string    `redis:"name,unique"`
		Email string    `redis:"email"`
		Until time.Time `redis:"until,expires"`
	}
	lodger struct {
		ID    string    `redis:",id"`
		Name  string    `redis:"name,unique"`
		Email string    `redis:"email,unique"`
		Until time.Time `redis:"until,expires"`
	}
)

// A record that gets one value of an expired record frees its other ones, too.
func TestExpiredOwnerHandsOver(t *testing.T) {
	t.Parallel()
	client, opt := redistest.DB(t).Client(t), model.Options{Name: "guest"}
	ctx := t.Context()
	if _, err := store[lodgerBefore](t, client, opt).CreateMany(ctx, []lodgerBefore{{Name: "ada", Email: "a@x"}, {Name: "bob", Email: "a@x"}}); err != nil {
		t.Fatal(err)
	}
	lodgers := store[lodger](t, client, opt)
	if r, err := lodgers.Migrate(ctx, maintain.Options{}); err != nil || r.Invalid != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	owner, err := lodgers.GetBy(ctx, "email", "a@x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lodgers.Update(ctx, owner.ID, func(one *lodger) error { one.Until = time.Unix(1, 0); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := lodgers.Create(ctx, lodger{Name: owner.Name, Email: "b@x"}); err != nil {
		t.Fatal(err)
	}
	if got, err := lodgers.GetBy(ctx, "email", "a@x"); err != nil || got.ID == owner.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

// A value that a record no longer has by the hand of another program is handed over by the
// first Repair, in whatever order it checks the records.
func TestRepairHandsValuesOver(t *testing.T) {
	t.Parallel()
	for what, command := range map[string][]string{"deleted": {"DEL"}, "changed": {"HSET", "email", ""}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			opt := model.Options{Name: "guest"}
			const n = 300
			pairs(t, client, opt, n)
			guests := store[invitee](t, client, opt)
			if r, err := guests.Migrate(t.Context(), maintain.Options{}); err != nil || r.Invalid != n {
				t.Fatalf("%+v, %v", r, err)
			}
			for i := range n {
				words := append([]string{command[0], fmt.Sprint("guest:", 1+i)}, command[1:]...)
				if len(words) > 3 {
					words[3] = fmt.Sprint("b", i)
				}
				redisDo(t, client, words...)
			}
			if _, err := guests.Repair(t.Context(), maintain.Options{}); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if g, err := guests.GetBy(t.Context(), "email", fmt.Sprint("a", i)); err != nil || g.ID != fmt.Sprint(1+n+i) {
					t.Fatalf("a%d: %+v, %v", i, g, err)
				}
			}
			if r, err := guests.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
