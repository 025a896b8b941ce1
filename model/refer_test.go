package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type author struct {
	ID     string            `redis:",id"`
	Name   string            `redis:"name"`
	Mentor model.Ref[author] `redis:"mentor,index,clear"`
}

type post struct {
	ID      string            `redis:",id"`
	Author  model.Ref[author] `redis:"author,index,cascade"`
	Parent  model.Ref[post]   `redis:"parent,index,cascade"`
	Version int64             `redis:",version"`
	Expires time.Time         `redis:",expires"`
}

type invoice struct {
	ID      string            `redis:",id"`
	Payer   model.Ref[author] `redis:"payer,range,restrict"`
	Expires time.Time         `redis:",expires"`
}

type band struct {
	ID      string              `redis:",id"`
	Members []model.Ref[author] `redis:"members,index,clear"`
	Lead    *model.Ref[author]  `redis:"lead,index,clear"`
	Version int64               `redis:",version"`
}

// library holds all of these models.
type library struct {
	authors  *model.Store[author]
	posts    *model.Store[post]
	invoices *model.Store[invoice]
	bands    *model.Store[band]
	clients  []rueidis.Client
	invoice  string // name of its model
}

// libraryOf creates the Stores, each with its options from opt.
func libraryOf(t *testing.T, opt func(name string) (rueidis.Client, model.Options)) library {
	t.Helper()
	var l library
	set := func(name string) (rueidis.Client, model.Options) {
		client, opt := opt(name)
		opt.IDs = model.ClientAssigned
		l.clients = append(l.clients, client)
		return client, opt
	}
	client, o := set("author")
	l.authors = store[author](t, client, o)
	client, o = set("post")
	l.posts = store[post](t, client, o)
	client, o = set("invoice")
	l.invoice = o.Name
	l.invoices = store[invoice](t, client, o)
	client, o = set("band")
	l.bands = store[band](t, client, o)
	for range 2 { // repeating Relate has no effect
		checked(t, model.Relate(t.Context(), l.posts, l.authors))
		checked(t, model.Relate(t.Context(), l.invoices, l.authors))
		checked(t, model.Relate(t.Context(), l.bands, l.authors))
	}
	return l
}

// libraries calls f for all combinations of slots and databases.
func libraries(t *testing.T, f func(t *testing.T, l library)) {
	t.Helper()
	for name, options := range map[string]func(t *testing.T) func(string) (rueidis.Client, model.Options){
		"one database": func(t *testing.T) func(string) (rueidis.Client, model.Options) {
			client := redistest.DB(t).Client(t)
			return func(name string) (rueidis.Client, model.Options) { return client, model.Options{Name: name} }
		},
		"partitions": func(t *testing.T) func(string) (rueidis.Client, model.Options) {
			client := redistest.DB(t).Client(t)
			return func(name string) (rueidis.Client, model.Options) {
				return client, model.Options{Name: name, Partitions: 3}
			}
		},
		"posts elsewhere": func(t *testing.T) func(string) (rueidis.Client, model.Options) {
			client := redistest.DB(t).Client(t)
			return func(name string) (rueidis.Client, model.Options) {
				if name == "post" {
					return client, model.Options{Name: name, Partitions: 3}
				}
				return client, model.Options{Name: name}
			}
		},
		"a database each": func(t *testing.T) func(string) (rueidis.Client, model.Options) {
			return func(name string) (rueidis.Client, model.Options) {
				return redistest.DB(t).Client(t), model.Options{Name: name}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, libraryOf(t, options(t)))
		})
	}
}

func TestDeleteRules(t *testing.T) {
	t.Parallel()
	libraries(t, testRules)
}

func testRules(t *testing.T, l library) {
	ctx := t.Context()
	for _, id := range []string{"ada", "bob", "eve"} {
		createdOf(t, l.authors, author{ID: id, Mentor: model.To[author]("ada")}) // ada is her own mentor
	}
	for id, of := range map[string]string{"1": "ada", "2": "ada", "3": "bob"} {
		createdOf(t, l.posts, post{ID: id, Author: model.To[author](of)})
	}
	for id, parent := range map[string]string{"4": "1", "5": "4", "6": "3"} {
		createdOf(t, l.posts, post{ID: id, Author: model.To[author]("eve"), Parent: model.To[post](parent)})
	}
	createdOf(t, l.invoices, invoice{ID: "i", Payer: model.To[author]("ada")})
	ada, bob := model.To[author]("ada"), model.To[author]("bob")
	createdOf(t, l.bands, band{ID: "b", Members: []model.Ref[author]{bob, ada, bob}, Lead: &ada})

	err := l.authors.Delete(ctx, "ada")
	var referred *model.ReferencedError
	if !errors.Is(err, model.ErrReferenced) || !errors.As(err, &referred) || *referred != (model.ReferencedError{Model: l.invoice, Field: "payer", ID: "i"}) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "payer of "+l.invoice+" i") {
		t.Error(err)
	}
	if there, err := l.authors.Has(ctx, "ada"); !there || err != nil {
		t.Fatal("the record is gone", err)
	}
	if posts, err := l.posts.GetMany(ctx, "1", "2", "3", "4", "5", "6"); len(posts) != 6 || err != nil {
		t.Errorf("%d posts are left (%v)", len(posts), err)
	}
	if b, err := l.bands.Get(ctx, "b"); b.Lead == nil || b.Version != 1 || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	checked(t, l.invoices.Delete(ctx, "i"))
	checked(t, l.authors.Delete(ctx, "ada"))
	require.Fails(t, model.ErrNotFound)(l.authors.Get(ctx, "ada"))
	var left []string
	for i := range 6 {
		if there, err := l.posts.Has(ctx, fmt.Sprint(i+1)); err != nil {
			t.Fatal(err)
		} else if there {
			left = append(left, fmt.Sprint(i+1))
		}
	}
	if !slices.Equal(left, []string{"3", "6"}) {
		t.Errorf("%q are left", left)
	}
	got, err := l.bands.Get(ctx, "b")
	if err != nil || !slices.Equal(got.Members, []model.Ref[author]{bob, bob}) || got.Lead != nil || got.Version < 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"bob", "eve"} {
		if a, err := l.authors.Get(ctx, id); err != nil || !a.Mentor.IsZero() {
			t.Errorf("%+v, %v", a, err)
		}
	}
	require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "ada"))
	// Then the other records can be deleted.
	for _, id := range []string{"bob", "eve"} {
		checked(t, l.authors.Delete(ctx, id))
	}
	require.Gives(t, false)(l.posts.Has(ctx, "6"))
}

// In a list behind a pointer, or in an array, the other references are kept.
func TestClearLeavesTheOthers(t *testing.T) {
	t.Parallel()
	type team struct {
		ID    string               `redis:",id"`
		Group *[]model.Ref[author] `redis:"group,index,clear"`
		Pair  [2]model.Ref[author] `redis:"pair,index,clear"`
	}
	client := redistest.DB(t).Client(t)
	authors := store[author](t, client, model.Options{Name: "author", IDs: model.ClientAssigned})
	teams := store[team](t, client, model.Options{Name: "team", IDs: model.ClientAssigned})
	checked(t, model.Relate(t.Context(), teams, authors))
	ada, bob := model.To[author]("ada"), model.To[author]("bob")
	createdOf(t, authors, author{ID: "ada"})
	createdOf(t, authors, author{ID: "bob"})
	createdOf(t, teams, team{ID: "1", Group: &[]model.Ref[author]{ada, bob}, Pair: [2]model.Ref[author]{ada, bob}})
	checked(t, authors.Delete(t.Context(), "ada"))
	got, err := teams.Get(t.Context(), "1")
	checked(t, err)
	if got.Group == nil || !slices.Equal(*got.Group, []model.Ref[author]{bob}) || got.Pair != [2]model.Ref[author]{{}, bob} {
		t.Errorf("%+v", got)
	}
}

// A reference to a missing record does not prevent a deletion.
func TestDanglingReferences(t *testing.T) {
	t.Parallel()
	libraries(t, func(t *testing.T, l library) {
		ctx := t.Context()
		nobody := model.To[author]("nobody")
		createdOf(t, l.posts, post{ID: "1", Author: nobody})
		createdOf(t, l.invoices, invoice{ID: "1", Payer: nobody})
		createdOf(t, l.bands, band{ID: "1", Members: []model.Ref[author]{nobody, {}}})
		require.Fails(t, model.ErrNotFound)(nobody.Get(ctx, l.authors))
		require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "nobody"))
		checked(t, errOf(l.invoices.Get(ctx, "1")))
		checked(t, l.invoices.Delete(ctx, "1"))
		// As after an interrupted Delete, or an expiry: the deletion continues.
		require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "nobody"))
		if there, err := l.posts.Has(ctx, "1"); there || err != nil {
			t.Error("a post of nobody is left", err)
		}
		if b, err := l.bands.Get(ctx, "1"); err != nil || !slices.Equal(b.Members, []model.Ref[author]{{}}) {
			t.Errorf("%+v, %v", b, err)
		}
		checked(t, l.bands.Delete(ctx, "1"))
	})
}

func TestReferRefuses(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	authors := store[author](t, client, model.Options{Name: "author"})
	posts := store[post](t, client, model.Options{Name: "post"})
	require.Fails(t, model.ErrDeclaration, "model.Ref[model_test.post]")(model.Relate(t.Context(), authors, posts))
	type plain struct {
		ID string            `redis:",id"`
		A  model.Ref[author] `redis:"a,index"`
	}
	plains := store[plain](t, client, model.Options{Name: "plain"})
	require.Fails(t, model.ErrDeclaration)(model.Relate(t.Context(), plains, authors))
	type folded struct {
		ID string            `redis:",id"`
		A  model.Ref[author] `redis:"a,index,cascade,caseinsensitive"`
	}
	require.Fails(t, model.ErrDeclaration, "fold")(model.New[folded](t.Context(), client, model.Options{Name: "folded"}))
}

// An index that does not contain all references yet is not used.
func TestDeleteWaitsForMigrate(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	type before struct {
		ID    string            `redis:",id"`
		Payer model.Ref[author] `redis:"payer"`
	}
	authors := store[author](t, client, model.Options{Name: "author"})
	old := store[before](t, client, model.Options{Name: "invoice"})
	a := createdOf(t, authors, author{})
	createdOf(t, old, before{Payer: model.To[author](a.ID)})
	invoices := store[invoice](t, client, model.Options{Name: "invoice"})
	checked(t, model.Relate(t.Context(), invoices, authors))
	require.Fails(t, model.ErrSchema, "Migrate")(authors.Delete(t.Context(), a.ID))
}

// Another process has migrated the referring model, which now has other indexes.
func TestDeleteNoticesMigrations(t *testing.T) {
	t.Parallel()
	libraries(t, func(t *testing.T, l library) {
		a := createdOf(t, l.authors, author{ID: "ada"})
		for _, client := range l.clients {
			for _, key := range []string{"post.meta", "{post.0}.meta", "{post.1}.meta", "{post.2}.meta"} {
				if redisDo(t, client, "EXISTS", key) == "1" {
					redisDo(t, client, "HSET", key, "digest", "another")
					redisDo(t, client, "HDEL", key, "also")
				}
			}
		}
		require.Fails(t, model.ErrSchema, "post")(l.authors.Delete(t.Context(), a.ID))
	})
}

// Entries of expired records, and of records deleted by other programs, do not prevent a
// deletion; changes by other programs are reported.
func TestDeleteAmongDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := libraryOf(t, func(name string) (rueidis.Client, model.Options) { return client, model.Options{Name: name} })
	ctx := t.Context()
	ada := createdOf(t, l.authors, author{ID: "ada"})
	ref := model.To[author]("ada")
	createdOf(t, l.invoices, invoice{ID: "deleted", Payer: ref})
	redisDo(t, client, "DEL", "invoice:deleted")
	createdOf(t, l.invoices, invoice{ID: "expired", Payer: ref, Expires: time.Now().Add(-time.Hour)})
	createdOf(t, l.posts, post{ID: "deleted", Author: ref})
	redisDo(t, client, "DEL", "post:deleted")
	createdOf(t, l.bands, band{ID: "deleted", Lead: &ref})
	redisDo(t, client, "DEL", "band:deleted")
	redisDo(t, client, "ZADD", "invoice.by.payer", "0", "ada\x00\x01orphan")
	for _, key := range []string{"post.by.author:ada", "band.by.lead:ada"} {
		redisDo(t, client, "ZADD", key, "0", "orphan")
	}
	createdOf(t, l.posts, post{ID: "other", Author: model.To[author]("eve")})
	redisDo(t, client, "ZADD", "post.by.author:ada", "0", "other") // does not refer
	createdOf(t, l.bands, band{ID: "changed", Lead: &ref})
	redisDo(t, client, "HSET", "band:changed", "lead", "bob") // bypassing the model
	if err := l.authors.Delete(ctx, "ada"); !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), "changed") || !strings.Contains(err.Error(), "Repair") {
		t.Error(err)
	}
	_, err := l.bands.Update(ctx, "changed", func(b *band) error { b.Lead = nil; return nil })
	checked(t, err)
	checked(t, l.authors.Delete(ctx, ada.ID))
	if there, err := l.posts.Has(ctx, "other"); !there || err != nil {
		t.Error("a record that does not refer was deleted", err)
	}
	for key, want := range map[string]string{"invoice.by.payer": "0", "post.by.author:ada": "0", "post.by.author": "1", "band.by.lead": "0", "invoice.all": "0", "band.all": "1"} {
		if got := redisDo(t, client, "ZCARD", key); got != want {
			t.Errorf("%s has %s members", key, got)
		}
	}
	// Records deleted by other programs are removed from the indexes, whichever model refers.
	createdOf(t, l.authors, author{ID: "bob", Mentor: model.To[author]("eve")})
	createdOf(t, l.invoices, invoice{ID: "bob's", Payer: model.To[author]("bob")})
	redisDo(t, client, "DEL", "author:bob")
	require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "bob"))
	if got := redisDo(t, client, "EXISTS", "author.by.mentor", "author.by.mentor:eve"); got != "0" {
		t.Error("what is left of a record stays in an index")
	}
}
