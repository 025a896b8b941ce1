package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

type pet struct {
	ID   string `redis:",id"`
	Name string `redis:"name,index"`
	Legs int    `redis:"legs"`
}

type versionedPet struct {
	ID      string `redis:",id"`
	Name    string `redis:"name,unique"`
	Version int64  `redis:",version"`
}

// dumpOf returns the DUMP of a key.
func dumpOf(t *testing.T, client rueidis.Client, key string) string {
	t.Helper()
	dump, err := client.Do(t.Context(), client.B().Dump().Key(key).Build()).ToString()
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return dump
}

// Delete deletes records, but no keys of other programs that look like records.
func TestDeleteOfForeignKeys(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.DB(t).Client(t)
		opt := model.Options{Name: "pet", IDs: model.ClientAssigned, Partitions: partitions}
		pets := store[pet](t, client, opt)
		for id, test := range map[string]struct {
			command string
			want    error
			message string
		}{
			"config":       {"SET %s precious", model.ErrCorrupt, "does not hold a hash"},
			"board":        {"ZADD %s 1 x", model.ErrCorrupt, "does not hold a hash"},
			"ann:settings": {"HSET %s theme dark", model.ErrUnknown, "Options.Adopt"},
			"ann":          {"HSET %s name Ann", model.ErrUnknown, "Options.Adopt"},
		} {
			key := recordKey(opt, id)
			redisDo(t, client, strings.Fields(fmt.Sprintf(test.command, key))...)
			before := dumpOf(t, client, key)
			if err := pets.Delete(t.Context(), id); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) || !strings.Contains(err.Error(), key) {
				t.Errorf("Delete(%q): %v; want %v and %q", id, err, test.want, test.message)
			}
			if dumpOf(t, client, key) != before {
				t.Errorf("%s was changed", key)
			}
		}
		if n, err := pets.Len(t.Context()); n != 0 || err != nil {
			t.Errorf("%d records, %v; want none", n, err)
		}
		opt.Adopt = func(id string) bool { return id == "ann" }
		adopting := store[pet](t, client, opt)
		checkErr(t, adopting.Delete(t.Context(), "ann"))
		require.Fails(t, model.ErrUnknown)(adopting.Delete(t.Context(), "ann:settings"))
		require.Fails(t, model.ErrNotFound)(adopting.Delete(t.Context(), "ann"))
		// A record that has lost its content still belongs to the model.
		mustCreate(t, pets, pet{ID: "bo", Name: "Bo"})
		d := damager{t, client, opt}
		d.do("HDEL", d.keyIn("bo", "content"), "bo")
		checkErr(t, pets.Delete(t.Context(), "bo"))
		checkErr(t, errOf(pets.Repair(t.Context(), maintain.Options{})))
		checkVerify(t, pets)
	}
}

// No write changes a key of another type, or leaves index entries for it.
func TestWritesOfForeignKeys(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "pet", IDs: model.ClientAssigned}
	pets := store[pet](t, client, opt)
	opt.Name = "versioned"
	versioned := store[versionedPet](t, client, opt)
	redisDo(t, client, "SET", "pet:config", "precious")
	redisDo(t, client, "SET", "versioned:config", "precious")
	for what, write := range map[string]func() error{
		"Create": func() error { _, err := pets.Create(t.Context(), pet{ID: "config", Name: "x"}); return err },
		"Put":    func() error { _, err := pets.Put(t.Context(), pet{ID: "config", Name: "x"}); return err },
		"Save":   func() error { _, err := pets.Save(t.Context(), pet{ID: "config", Name: "x"}); return err },
		"Update": func() error {
			_, err := pets.Update(t.Context(), "config", func(p *pet) error { p.Name = "x"; return nil })
			return err
		},
		"Patch": func() error {
			_, err := pets.Patch(t.Context(), "config", map[string]any{"name": "x"})
			return err
		},
		"PutMany":       func() error { _, err := pets.PutMany(t.Context(), []pet{{ID: "config", Name: "x"}}); return err },
		"versioned Put": func() error { _, err := versioned.Put(t.Context(), versionedPet{ID: "config", Name: "x"}); return err },
		"versioned Save": func() error {
			_, err := versioned.Save(t.Context(), versionedPet{ID: "config", Name: "x"})
			return err
		},
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "config") {
			t.Errorf("%s: %v; want an error that names config", what, err)
		}
	}
	for _, key := range []string{"pet:config", "versioned:config"} {
		if text, err := client.Do(t.Context(), client.B().Get().Key(key).Build()).ToString(); text != "precious" || err != nil {
			t.Errorf("%s holds %q, %v; want precious", key, text, err)
		}
	}
	for _, name := range []string{"pet", "versioned"} {
		for _, key := range []string{".content", ".all", ".by.name", ".by.name:x"} {
			if n, err := client.Do(t.Context(), client.B().Exists().Key(name+key).Build()).AsInt64(); n != 0 || err != nil {
				t.Errorf("key %s%s was written, %v", name, key, err)
			}
		}
	}
}

// A model whose ids are numbers or ULIDs does not treat keys of other models as records, such as
// those of a model called pet:tag.
func TestIDsOfOtherModels(t *testing.T) {
	t.Parallel()
	for _, ids := range []model.IDs{model.Counter, model.ULID} {
		client := redistest.DB(t).Client(t)
		pets := store[pet](t, client, model.Options{Name: "pet", IDs: ids})
		tags := store[pet](t, client, model.Options{Name: "pet:tag", IDs: model.ClientAssigned})
		mustCreate(t, tags, pet{ID: "x", Name: "tag"})
		before := dumpOf(t, client, "pet:tag:x")
		for what, use := range map[string]func(id string) error{
			"Get":    func(id string) error { _, err := pets.Get(t.Context(), id); return err },
			"Delete": func(id string) error { return pets.Delete(t.Context(), id) },
			"Save":   func(id string) error { _, err := pets.Save(t.Context(), pet{ID: id}); return err },
			"Update": func(id string) error {
				_, err := pets.Update(t.Context(), id, func(p *pet) error { p.Legs = 4; return nil })
				return err
			},
			"Patch": func(id string) error {
				_, err := pets.Patch(t.Context(), id, map[string]any{"legs": 4})
				return err
			},
			"Field": func(id string) error { _, err := model.Field[string](t.Context(), pets, id, "name"); return err },
			"Query": func(id string) error { _, err := pets.Find().Get(t.Context(), id); return err },
		} {
			for _, id := range []string{"tag:x", "x", "01"} {
				if err := use(id); !errors.Is(err, model.ErrNotFound) {
					t.Errorf("%s, %s of %q: %v; want ErrNotFound", ids, what, id, err)
				}
			}
		}
		require.Gives(t, false)(pets.Has(t.Context(), "tag:x"))
		checkEmpty[pet](t)(pets.GetMany(t.Context(), "tag:x"))
		if dumpOf(t, client, "pet:tag:x") != before {
			t.Error("pet:tag:x was changed")
		}
	}
}

// Migrate adopts records of other programs even if no index must be built.
func TestMigrateAdopts(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		client := redistest.DB(t).Client(t)
		opt := model.Options{Name: "pet", IDs: model.ClientAssigned, Partitions: partitions}
		for i := range 250 {
			redisDo(t, client, "HSET", recordKey(opt, fmt.Sprint("p", i)), "name", fmt.Sprint(i%2))
		}
		redisDo(t, client, "HSET", recordKey(opt, "settings"), "theme", "dark")
		store[pet](t, client, opt)
		opt.Adopt = func(id string) bool { return strings.HasPrefix(id, "p") }
		pets := store[pet](t, client, opt)
		if r, err := pets.Migrate(t.Context(), maintain.Options{}); err != nil || r.Unknown != 1 || r.Problems() != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if n, err := pets.Count(t.Context(), model.Eq("name", "1")); n != 125 || err != nil {
			t.Fatalf("%d records, %v", n, err)
		}
		checkVerify(t, pets)
		if r, err := pets.Migrate(t.Context(), maintain.Options{}); err != nil || r.Unknown != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		opt.Adopt = func(string) bool { return true }
		m, err := model.Open(t.Context(), client, "pet")
		require.OK(t)(err)
		m.Adopt = opt.Adopt
		if r, err := m.Migrate(t.Context(), maintain.Options{}); err != nil || r.Unknown != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if n, err := pets.Len(t.Context()); n != 251 || err != nil {
			t.Fatalf("%d records, %v", n, err)
		}
	}
}
