package model_test

import (
	"errors"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

type holder struct {
	ID    string `redis:",id"`
	Email string `redis:"email"`
}

// indexedHolder is a holder with one more index.
type indexedHolder struct {
	ID    string `redis:",id"`
	Email string `redis:"email,index"`
}

type session struct {
	ID    string `redis:",id"`
	Token string `redis:"token,unique"`
}

// New refuses a model if one of its keys could be a key of another model, whichever is opened
// first.
func TestCollidingNames(t *testing.T) {
	t.Parallel()
	clientAssigned := func(name string) model.Options { return model.Options{Name: name, IDs: model.ClientAssigned} }
	for what, opts := range map[string][2]model.Options{
		"records below records":           {clientAssigned("user"), clientAssigned("user:session")},
		"records among internal keys":     {{Name: "user"}, {Name: "other", Keys: model.Keys{Record: "user.of.friends:"}}},
		"a counter among records":         {clientAssigned("user"), {Name: "other", Keys: model.Keys{Counter: "user:count"}}},
		"the same records":                {{Name: "user"}, {Name: "other", Keys: model.Keys{Record: "user:"}}},
		"a unique index is a counter":     {{Name: "user"}, {Name: "other", Keys: model.Keys{Unique: map[string]string{"token": "next_user_id"}}}},
		"partitions of the same name":     {{Name: "user", Partitions: 2}, {Name: "{user}", Partitions: 3}},
		"a partition is another model":    {{Name: "user", Partitions: 2}, {Name: "{user.1}"}},
		"records below a numbered record": {{Name: "user"}, {Name: "other", Keys: model.Keys{Record: "user:7"}}},
		"a prefix of a record prefix":     {clientAssigned("user"), {Name: "other", IDs: model.ClientAssigned, Keys: model.Keys{Record: "use"}}},
	} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			client := redistest.DB(t).Client(t)
			first, second := opts[order[0]], opts[order[1]]
			if _, err := model.New[session](t.Context(), client, first); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			_, err := model.New[session](t.Context(), client, second)
			if !errors.Is(err, model.ErrDeclaration) || !strings.Contains(err.Error(), "model "+first.Name) {
				t.Errorf("%s: %s after %s: %v", what, second.Name, first.Name, err)
			}
			if n, _ := client.Do(t.Context(), client.B().Hlen().Key("models").Build()).AsInt64(); n != 1 {
				t.Errorf("%s: %d models are listed", what, n)
			}
		}
	}
}

// Models with similar names are separate.
func TestNeighbouringNames(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, opt := range []model.Options{
		{Name: "user"},
		{Name: "user:session", IDs: model.ClientAssigned},
		{Name: "user.session"},
		{Name: "users", IDs: model.ClientAssigned},
		{Name: "user", IDs: model.Counter},
		{Name: "{user}", Partitions: 2},
		{Name: "{user}b", Partitions: 3},
		{Name: "other", IDs: model.ULID},
	} {
		checkErr(t, errOf(model.New[session](t.Context(), client, opt)))
	}
}

// Names that look like keys of a model are refused, even if that model does not exist.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	for _, opt := range []model.Options{
		{Name: "models"},
		{Name: "user.lock"},
		{Name: "user.meta"},
		{Name: "user.content"},
		{Name: "user.of.x"},
		{Name: "user.by.x"},
		{Name: "user.lock:a"},
		{Name: "user", IDs: model.ClientAssigned, Keys: model.Keys{Record: "user."}},
		{Name: "user", IDs: model.ClientAssigned, Keys: model.Keys{Record: "m"}},
		{Name: "user", IDs: model.ClientAssigned, Keys: model.Keys{Record: "u", Unique: map[string]string{"token": "users"}}},
		{Name: "user", Keys: model.Keys{Unique: map[string]string{"token": "next_user_id"}}},
	} {
		if _, err := model.New[session](t.Context(), client, opt); !errors.Is(err, model.ErrDeclaration) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
	if n, err := client.Do(t.Context(), client.B().Dbsize().Build()).AsInt64(); n != 0 || err != nil {
		t.Errorf("%d keys were written, %v", n, err)
	}
}

// A model does not treat keys of another model as its own, even if the other model is not in the
// list of models.
func TestForeignKeysStay(t *testing.T) {
	t.Parallel()
	for _, adopt := range []func(string) bool{nil, adoptAll} {
		client := redistest.DB(t).Client(t)
		opt := model.Options{Name: "user", IDs: model.ClientAssigned, Adopt: adopt}
		sessions := store[session](t, client, model.Options{Name: "user:session", IDs: model.ClientAssigned})
		mustCreate(t, sessions, session{ID: "ann", Token: "t"})
		d := damager{t, client, opt}
		d.do("DEL", "models")
		users := store[holder](t, client, opt)
		mustCreate(t, users, holder{ID: "ann", Email: "e"})
		now := store[indexedHolder](t, client, opt)
		if r, err := now.Migrate(t.Context(), maintain.Options{}); err != nil || r.Problems() != 0 || r.Unknown != 0 {
			t.Fatalf("Migrate: %+v, %v; want no problems and no unknown keys", r, err)
		}
		for _, run := range []func() (model.Report, error){
			func() (model.Report, error) { return now.Verify(t.Context(), maintain.Options{}) },
			func() (model.Report, error) { return now.Repair(t.Context(), maintain.Options{}) },
		} {
			if r, err := run(); err != nil || r.Problems() != 0 || r.Unknown != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		require.Gives(t, 1)(now.Count(t.Context()))
		for a, err := range now.All(t.Context()) { // clean up
			require.OK(t)(errors.Join(err, now.Delete(t.Context(), a.ID)))
		}
		if s, err := sessions.Get(t.Context(), "ann"); err != nil || s.Token != "t" {
			t.Fatalf("the session of the other model is %+v, %v; want token t", s, err)
		}
		mustCreate(t, sessions, session{ID: "bob", Token: "u"})
	}
}

// Repair reports keys of other programs with the prefix of a model. Options.Adopt decides which
// of these keys are records.
func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "user", IDs: model.ClientAssigned}
	d := damager{t, client, opt}
	users := store[indexedHolder](t, client, opt)
	mustCreate(t, users, indexedHolder{ID: "ann"})
	d.do("HSET", "user:ann:settings", "theme", "dark")
	d.do("HSET", "user:bob", "email", "b")
	r, err := users.Repair(t.Context(), maintain.Options{})
	if err != nil || r.Problems() != 0 || r.Unknown != 2 || len(r.UnknownKeys) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	opt.Adopt = func(id string) bool { return !strings.Contains(id, ":") }
	users = store[indexedHolder](t, client, opt)
	if r, err = users.Verify(t.Context(), maintain.Options{}); err != nil || r.Missing != 1 || r.Unknown != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = users.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 1 || r.Unknown != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	found, err := users.Find(model.Eq("email", "b")).IDs(t.Context())
	if n, err2 := users.Count(t.Context()); err != nil || err2 != nil || n != 2 || len(found) != 1 {
		t.Fatalf("found %q, %v; counted %d, %v; want 1 found, 2 records", found, err, n, err2)
	}
	require.Gives(t, "dark")(d.do("HGET", "user:ann:settings", "theme").ToString())
}

// The first migration of existing keys fails until Options.Adopt decides which keys are records.
func TestOlderLayoutNeedsAdopt(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "user"}
	d := damager{t, client, opt}
	d.do("HSET", "user:1", "email", "a")
	d.do("SET", "next_user_id", "1")
	users := store[indexedHolder](t, client, opt)
	require.Fails(t, model.ErrSchema)(users.Find(model.Eq("email", "a")).Slice(t.Context()))
	for range 2 {
		if r, err := users.Migrate(t.Context(), maintain.Options{}); !errors.Is(err, model.ErrUnknown) || r.Unknown != 1 {
			t.Fatalf("Migrate: %+v, %v; want ErrUnknown and 1 unknown key", r, err)
		}
	}
	none := func(string) bool { return false }
	for i, adopt := range []func(string) bool{adoptAll, none} {
		opt.Adopt = adopt
		users := store[indexedHolder](t, client, opt)
		require.OK(t)(users.Migrate(t.Context(), maintain.Options{}))
		if found, err := users.Find(model.Eq("email", "a")).Slice(t.Context()); err != nil || len(found) != 1-i {
			t.Fatalf("found %v, %v; want %d records", found, err, 1-i)
		}
		// Start from scratch.
		for _, key := range []string{"user.meta", "user.all", "user.content", "user.by.email"} {
			d.do("DEL", key)
		}
	}
}
