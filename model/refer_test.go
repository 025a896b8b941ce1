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

// library holds the stores of these models.
type library struct {
	authors  *model.Store[author]
	posts    *model.Store[post]
	invoices *model.Store[invoice]
	bands    *model.Store[band]
	clients  []rueidis.Client
	invoice  string // name of the model
}

// libraryOf creates the stores, with the client and options that opt returns for each name.
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
		checkErr(t, model.Relate(t.Context(), l.posts, l.authors))
		checkErr(t, model.Relate(t.Context(), l.invoices, l.authors))
		checkErr(t, model.Relate(t.Context(), l.bands, l.authors))
	}
	return l
}

// forEachLibrary runs f as a subtest with the models in one or several slots and databases.
func forEachLibrary(t *testing.T, f func(t *testing.T, l library)) {
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
	forEachLibrary(t, testRules)
}

func testRules(t *testing.T, l library) {
	ctx := t.Context()
	for _, id := range []string{"ada", "bob", "eve"} {
		mustCreate(t, l.authors, author{ID: id, Mentor: model.To[author]("ada")}) // ada is her own mentor
	}
	for id, authorID := range map[string]string{"1": "ada", "2": "ada", "3": "bob"} {
		mustCreate(t, l.posts, post{ID: id, Author: model.To[author](authorID)})
	}
	for id, parent := range map[string]string{"4": "1", "5": "4", "6": "3"} {
		mustCreate(t, l.posts, post{ID: id, Author: model.To[author]("eve"), Parent: model.To[post](parent)})
	}
	mustCreate(t, l.invoices, invoice{ID: "i", Payer: model.To[author]("ada")})
	ada, bob := model.To[author]("ada"), model.To[author]("bob")
	mustCreate(t, l.bands, band{ID: "b", Members: []model.Ref[author]{bob, ada, bob}, Lead: &ada})

	err := l.authors.Delete(ctx, "ada")
	var referenced *model.ReferencedError
	if !errors.Is(err, model.ErrReferenced) || !errors.As(err, &referenced) || *referenced != (model.ReferencedError{Model: l.invoice, Field: "payer", ID: "i"}) {
		t.Fatalf("Delete: %v; want a ReferencedError of invoice i", err)
	}
	if !strings.Contains(err.Error(), "payer of "+l.invoice+" i") {
		t.Errorf("%v; want an error that names invoice i", err)
	}
	if there, err := l.authors.Has(ctx, "ada"); !there || err != nil {
		t.Fatal("a refused Delete has deleted the record", err)
	}
	if posts, err := l.posts.GetMany(ctx, "1", "2", "3", "4", "5", "6"); len(posts) != 6 || err != nil {
		t.Errorf("%d posts are left (%v), want 6", len(posts), err)
	}
	if b, err := l.bands.Get(ctx, "b"); b.Lead == nil || b.Version != 1 || err != nil {
		t.Errorf("%+v, %v", b, err)
	}
	checkErr(t, l.invoices.Delete(ctx, "i"))
	checkErr(t, l.authors.Delete(ctx, "ada"))
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
		t.Errorf("posts %q are left, want 3 and 6", left)
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
	// The other authors can be deleted.
	for _, id := range []string{"bob", "eve"} {
		checkErr(t, l.authors.Delete(ctx, id))
	}
	require.Gives(t, false)(l.posts.Has(ctx, "6"))
}

// Delete keeps the other references in a list behind a pointer, and in an array.
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
	checkErr(t, model.Relate(t.Context(), teams, authors))
	ada, bob := model.To[author]("ada"), model.To[author]("bob")
	mustCreate(t, authors, author{ID: "ada"})
	mustCreate(t, authors, author{ID: "bob"})
	mustCreate(t, teams, team{ID: "1", Group: &[]model.Ref[author]{ada, bob}, Pair: [2]model.Ref[author]{ada, bob}})
	checkErr(t, authors.Delete(t.Context(), "ada"))
	got, err := teams.Get(t.Context(), "1")
	checkErr(t, err)
	if got.Group == nil || !slices.Equal(*got.Group, []model.Ref[author]{bob}) || got.Pair != [2]model.Ref[author]{{}, bob} {
		t.Errorf("%+v", got)
	}
}

// A reference to a missing record does not prevent a deletion.
func TestDanglingReferences(t *testing.T) {
	t.Parallel()
	forEachLibrary(t, func(t *testing.T, l library) {
		ctx := t.Context()
		nobody := model.To[author]("nobody")
		mustCreate(t, l.posts, post{ID: "1", Author: nobody})
		mustCreate(t, l.invoices, invoice{ID: "1", Payer: nobody})
		mustCreate(t, l.bands, band{ID: "1", Members: []model.Ref[author]{nobody, {}}})
		require.Fails(t, model.ErrNotFound)(nobody.Get(ctx, l.authors))
		require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "nobody"))
		checkErr(t, errOf(l.invoices.Get(ctx, "1")))
		checkErr(t, l.invoices.Delete(ctx, "1"))
		// Delete of a missing record still applies the rules, as after an interrupted Delete or an
		// expiry.
		require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "nobody"))
		if there, err := l.posts.Has(ctx, "1"); there || err != nil {
			t.Error("the post of the missing author is left", err)
		}
		if b, err := l.bands.Get(ctx, "1"); err != nil || !slices.Equal(b.Members, []model.Ref[author]{{}}) {
			t.Errorf("%+v, %v", b, err)
		}
		checkErr(t, l.bands.Delete(ctx, "1"))
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

// Delete does not use an index that does not yet contain all references.
func TestDeleteWaitsForMigrate(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	type before struct {
		ID    string            `redis:",id"`
		Payer model.Ref[author] `redis:"payer"`
	}
	authors := store[author](t, client, model.Options{Name: "author"})
	old := store[before](t, client, model.Options{Name: "invoice"})
	a := mustCreate(t, authors, author{})
	mustCreate(t, old, before{Payer: model.To[author](a.ID)})
	invoices := store[invoice](t, client, model.Options{Name: "invoice"})
	checkErr(t, model.Relate(t.Context(), invoices, authors))
	require.Fails(t, model.ErrSchema, "Migrate")(authors.Delete(t.Context(), a.ID))
}

// Delete notices that another process has migrated the referring model to other indexes.
func TestDeleteNoticesMigrations(t *testing.T) {
	t.Parallel()
	forEachLibrary(t, func(t *testing.T, l library) {
		a := mustCreate(t, l.authors, author{ID: "ada"})
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

// Index entries of expired records, and of records deleted by other programs, do not prevent a
// deletion. Delete reports records that other programs have changed.
func TestDeleteAmongDamage(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	l := libraryOf(t, func(name string) (rueidis.Client, model.Options) { return client, model.Options{Name: name} })
	ctx := t.Context()
	ada := mustCreate(t, l.authors, author{ID: "ada"})
	ref := model.To[author]("ada")
	mustCreate(t, l.invoices, invoice{ID: "deleted", Payer: ref})
	redisDo(t, client, "DEL", "invoice:deleted")
	mustCreate(t, l.invoices, invoice{ID: "expired", Payer: ref, Expires: time.Now().Add(-time.Hour)})
	mustCreate(t, l.posts, post{ID: "deleted", Author: ref})
	redisDo(t, client, "DEL", "post:deleted")
	mustCreate(t, l.bands, band{ID: "deleted", Lead: &ref})
	redisDo(t, client, "DEL", "band:deleted")
	redisDo(t, client, "ZADD", "invoice.by.payer", "0", "ada\x00\x01orphan")
	for _, key := range []string{"post.by.author:ada", "band.by.lead:ada"} {
		redisDo(t, client, "ZADD", key, "0", "orphan")
	}
	mustCreate(t, l.posts, post{ID: "other", Author: model.To[author]("eve")})
	redisDo(t, client, "ZADD", "post.by.author:ada", "0", "other") // does not refer to ada
	mustCreate(t, l.bands, band{ID: "changed", Lead: &ref})
	redisDo(t, client, "HSET", "band:changed", "lead", "bob") // bypassing the model
	if err := l.authors.Delete(ctx, "ada"); !errors.Is(err, model.ErrCorrupt) || !strings.Contains(err.Error(), "changed") || !strings.Contains(err.Error(), "Repair") {
		t.Errorf("Delete: %v; want ErrCorrupt that names band changed", err)
	}
	_, err := l.bands.Update(ctx, "changed", func(b *band) error { b.Lead = nil; return nil })
	checkErr(t, err)
	checkErr(t, l.authors.Delete(ctx, ada.ID))
	if there, err := l.posts.Has(ctx, "other"); !there || err != nil {
		t.Error("a record that does not refer was deleted", err)
	}
	for key, want := range map[string]string{"invoice.by.payer": "0", "post.by.author:ada": "0", "post.by.author": "1", "band.by.lead": "0", "invoice.all": "0", "band.all": "1"} {
		if got := redisDo(t, client, "ZCARD", key); got != want {
			t.Errorf("%s has %s members, want %s", key, got, want)
		}
	}
	// Delete removes the index entries of a record that another program has deleted.
	mustCreate(t, l.authors, author{ID: "bob", Mentor: model.To[author]("eve")})
	mustCreate(t, l.invoices, invoice{ID: "bob's", Payer: model.To[author]("bob")})
	redisDo(t, client, "DEL", "author:bob")
	require.Fails(t, model.ErrNotFound)(l.authors.Delete(ctx, "bob"))
	if got := redisDo(t, client, "EXISTS", "author.by.mentor", "author.by.mentor:eve"); got != "0" {
		t.Error("index entries of a deleted record are left")
	}
}
