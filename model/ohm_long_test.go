//go:build long

package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/model"
)

// The test cases of Ohm (github.com/soveran/ohm, test/*.rb), by name. The page docs/ohm.md
// lists all of them.

// ohmCase runs one case in a database of its own.
type ohmCase struct {
	*testing.T
	ctx    context.Context
	client rueidis.Client
}

func ohmStore[T any](c *ohmCase, name string) *model.Store[T] {
	c.Helper()
	return store[T](c, c.client, model.Options{Name: name})
}

// ok fails the test if there is an error.
func (c *ohmCase) ok(errs ...error) {
	c.Helper()
	for _, err := range errs {
		if err != nil {
			c.Fatal(err)
		}
	}
}

// redis runs a command and returns its reply as text.
func (c *ohmCase) redis(args ...string) string {
	c.Helper()
	return redisDo(c.T, c.client, args...)
}

func equal[V any](c *ohmCase, got, want V) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Errorf("got %v, want %v", got, want)
	}
}

// value returns the value of a call that must not fail.
func value[V any](c *ohmCase) func(v V, err error) V {
	return func(v V, err error) V {
		c.Helper()
		c.ok(err)
		return v
	}
}

// found returns the sorted ids of the results of a query.
func found[T any](c *ohmCase, q *model.Query[T]) []string {
	c.Helper()
	ids, err := q.IDs(c.ctx)
	c.ok(err)
	slices.Sort(ids)
	return ids
}

// ohmCases returns all cases by name.
func ohmCases() map[string]func(c *ohmCase) {
	all := map[string]func(c *ohmCase){}
	for _, group := range []map[string]func(c *ohmCase){
		ohmSmallCases(), ohmFilteringCases(), ohmIndexCases(), ohmListCases(), ohmUniqueCases(),
		ohmModelCases(), ohmSavingCases(), ohmSortingCases(), ohmSetCases(), ohmDatabaseCases(),
	} {
		for name, f := range group {
			if all[name] != nil {
				panic(name + " is defined twice")
			}
			all[name] = f
		}
	}
	return all
}

// ohmSmallCases returns the cases of association.rb, connection.rb, core.rb, counters.rb,
// enumerable.rb, json.rb and set.rb.
func ohmSmallCases() map[string]func(c *ohmCase) {
	return map[string]func(c *ohmCase){
		"association: basic shake and bake": func(c *ohmCase) {
			authors, one, _ := ohmBooks(c)
			equal(c, found(c, authors.Refs("book", one.ID)), []string{"1", "2"})
			author := value[ohmAuthor](c)(authors.Get(c.ctx, "1"))
			equal(c, value[ohmBook](c)(author.Book.Get(c.ctx, ohmStore[ohmBook](c, "book"))), one)
		},
		"connection: model inherits Ohm.redis connection by default": func(c *ohmCase) {
			mustCreate(c, ohmStore[ohmBook](c, "book"), ohmBook{})
			equal(c, c.redis("EXISTS", "book:1"), "1")
		},
		"connection: model can define its own connection": func(c *ohmCase) {
			other := redistest.DB(c).Client(c)
			mustCreate(c, store[ohmBook](c, other, model.Options{Name: "book"}), ohmBook{})
			equal(c, c.redis("EXISTS", "book:1"), "0")
		},
		"core: assign attributes from the hash": func(c *ohmCase) {
			equal(c, *ohmEvent{Name: ptr("Ruby Tuesday")}.Name, "Ruby Tuesday")
		},
		"core: assign an ID and save the object": ohmIDs,
		"core: save the attributes in UTF8":      ohmUTF8,
		"counters: counters aren't overwritten by competing saves": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{})
			c.ok(errOf(events.Incr(c.ctx, event.ID, "votes", 1)))
			read := value[ohmEvent](c)(events.Get(c.ctx, event.ID))
			c.ok(errOf(events.Incr(c.ctx, event.ID, "votes", 2)))
			equal(c, value[ohmEvent](c)(events.Save(c.ctx, read)).Votes, 3)
		},
		"counters: you can increment counters even when attributes is empty": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			equal(c, value[int64](c)(events.Incr(c.ctx, mustCreate(c, events, ohmEvent{}).ID, "votes", 1)), 1)
		},
		"counters: an attribute gets saved properly": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{Name: ptr("foo")})
			equal(c, value[int64](c)(events.Incr(c.ctx, event.ID, "votes", 10)), 10)
			event = value[ohmEvent](c)(events.Save(c.ctx, value[ohmEvent](c)(events.Get(c.ctx, event.ID))))
			equal(c, *event.Name, "foo")
			c.ok(errOf(events.Incr(c.ctx, event.ID, "votes", 5)))
			equal(c, value[ohmEvent](c)(events.Save(c.ctx, event)).Votes, 15)
		},
		"enumerable: Set#size doesn't do each": func(c *ohmCase) {
			users, _, _ := ohmJohnAndJane(c)
			equal(c, value[int64](c)(users.Len(c.ctx)), 2)
		},
		"enumerable: Set#each as an Enumerator": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			var got []ohmUser
			for u, err := range users.All(c.ctx) {
				c.ok(err)
				got = append(got, u)
			}
			equal(c, got, []ohmUser{john, jane})
		},
		"enumerable: select": func(c *ohmCase) {
			users, john, _ := ohmJohnAndJane(c)
			var got []ohmUser
			for u, err := range users.All(c.ctx) {
				c.ok(err)
				if u.ID == john.ID {
					got = append(got, u)
				}
			}
			equal(c, got, []ohmUser{john})
		},
		"enumerable: List#select": func(c *ohmCase) {
			posts, _, comments, ids := ohmComments(c)
			var got []string
			for p, err := range posts.Records(c.ctx, comments.All(c.ctx)) {
				c.ok(err)
				if p.ID == ids[0] {
					got = append(got, p.ID)
				}
			}
			equal(c, got, ids[:1])
		},
		"enumerable: List#each as Enumerator": func(c *ohmCase) {
			posts, _, comments, ids := ohmComments(c)
			var got []string
			for p, err := range posts.Records(c.ctx, comments.All(c.ctx)) {
				c.ok(err)
				got = append(got, p.ID)
			}
			equal(c, got, ids)
		},
		"enumerable: List#size doesn't do each": func(c *ohmCase) {
			_, _, comments, _ := ohmComments(c)
			equal(c, value[int64](c)(comments.Len(c.ctx)), 3)
		},
		"json: exports model.to_hash to json": func(c *ohmCase) {
			book := mustCreate(c, ohmStore[ohmBook](c, "book"), ohmBook{Name: "foo"})
			text, err := json.Marshal(book)
			c.ok(err)
			equal(c, string(text), `{"ID":"1","Name":"foo"}`)
		},
		"json: exports a set to json": func(c *ohmCase) {
			users, _, _ := ohmJohnAndJane(c)
			text, err := json.Marshal(value[[]ohmUser](c)(users.Find().Slice(c.ctx)))
			c.ok(err)
			equal(c, strings.Count(string(text), `"Lname":"Doe"`), 2)
		},
		"json: exports a multiset to json": func(c *ohmCase) {
			users, _, _ := ohmJohnAndJane(c)
			text, err := json.Marshal(value[[]ohmUser](c)(users.Find(model.In("fname", "John", "Jane")).Slice(c.ctx)))
			c.ok(err)
			equal(c, strings.Count(string(text), `"Lname":"Doe"`), 2)
		},
		"json: exports a list to json": func(c *ohmCase) {
			posts, _, comments, ids := ohmComments(c)
			page := value[[]string](c)(comments.Range(c.ctx, 0, -1))
			text, err := json.Marshal(value[[]ohmPost](c)(posts.GetMany(c.ctx, page...)))
			c.ok(err)
			equal(c, strings.Count(string(text), `"ID"`), len(ids))
		},
		"set: #exists? returns false if the given id is not included in the set": func(c *ohmCase) {
			posts, post, _, _ := ohmComments(c)
			equal(c, value[bool](c)(posts.Set("posts", post.ID).Has(c.ctx, "nonexistent")), false)
		},
		"set: #exists? returns true if the given id is included in the set": func(c *ohmCase) {
			posts, post, _, ids := ohmComments(c)
			c.ok(errOf(posts.Set("posts", post.ID).Put(c.ctx, ids[0])))
			equal(c, value[bool](c)(posts.Set("posts", post.ID).Has(c.ctx, ids[0])), true)
		},
		"set: #ids returns an array with the ids": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			equal(c, found(c, users.Find()), []string{john.ID, jane.ID})
			equal(c, found(c, users.Find(model.Or(model.Eq("fname", "John"), model.Eq("fname", "Jane")))), []string{john.ID, jane.ID})
		},
	}
}

func ohmIDs(c *ohmCase) {
	events := ohmStore[ohmEvent](c, "event")
	equal(c, mustCreate(c, events, ohmEvent{Name: ptr("Ruby Tuesday")}).ID, "1")
	equal(c, mustCreate(c, events, ohmEvent{Name: ptr("Ruby Meetup")}).ID, "2")
}

func ohmUTF8(c *ohmCase) {
	events := ohmStore[ohmEvent](c, "event")
	event := mustCreate(c, events, ohmEvent{Name: ptr("32° Kisei-sen")})
	equal(c, *value[ohmEvent](c)(events.Get(c.ctx, event.ID)).Name, "32° Kisei-sen")
}

// ohmFilteringCases returns the cases of filtering.rb.
func ohmFilteringCases() map[string]func(c *ohmCase) {
	doe, active := model.Eq("lname", "Doe"), model.Eq("status", "active")
	happy, sad := model.Eq("mood", "happy"), model.Eq("mood", "sad")
	ofBook := func(book ohmBook) model.Cond { return model.Eq("book", book.ID) }
	return map[string]func(c *ohmCase){
		"filtering: findability": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			equal(c, found(c, users.Find(doe, model.Eq("fname", "John"))), []string{john.ID})
			equal(c, found(c, users.Find(doe, model.Eq("fname", "Jane"))), []string{jane.ID})
		},
		"filtering: #first": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			q := users.Find(doe, active).OrderBy("fname")
			equal(c, value[ohmUser](c)(q.First(c.ctx)), jane)
			equal(c, value[ohmUser](c)(q.Reverse().First(c.ctx)), john)
			for name, err := range model.Pluck[string](c.ctx, q.Limit(1), "fname") {
				c.ok(err)
				equal(c, name, "Jane")
			}
		},
		"filtering: #[]": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			q := users.Find(doe, active)
			equal(c, value[ohmUser](c)(q.Get(c.ctx, john.ID)), john)
			equal(c, value[ohmUser](c)(q.Get(c.ctx, jane.ID)), jane)
		},
		"filtering: #except": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			mustCreate(c, users, ohmUser{Status: ptr("inactive"), Lname: "Doe"})
			inactive := model.Eq("status", "inactive")
			equal(c, found(c, users.Find(doe, model.Not(inactive))), []string{john.ID, jane.ID})
			equal(c, found(c, users.Find(model.Not(inactive))), []string{john.ID, jane.ID})
		},
		"filtering: #except unions keys when passing an array": func(c *ohmCase) {
			users, _, _ := ohmJohnAndJane(c)
			jean := mustCreate(c, users, ohmUser{Fname: "Jean", Status: ptr("inactive")})
			not := model.Not(model.In("fname", "John", "Jane"))
			equal(c, found(c, users.Find(model.Eq("status", "inactive"), not)), []string{jean.ID})
			equal(c, found(c, users.Find(not)), []string{jean.ID})
		},
		"filtering: indices bug related to a nil attribute": func(c *ohmCase) {
			users, _, _ := ohmJohnAndJane(c)
			out := mustCreate(c, users, ohmUser{Lname: "Doe"})
			out.Status = ptr("inactive")
			c.ok(errOf(users.Save(c.ctx, out)))
			equal(c, found(c, users.Find(model.Eq("status", ""))), []string{})
			equal(c, found(c, users.Find(model.Eq("status", "inactive"))), []string{out.ID})
		},
		"filtering: #union": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			mustCreate(c, users, ohmUser{Status: ptr("super"), Lname: "Doe"})
			included := mustCreate(c, users, ohmUser{Status: ptr("inactive"), Lname: "Doe"})
			either := model.Or(active, model.Eq("status", "inactive"))
			equal(c, found(c, users.Find(either)), []string{john.ID, jane.ID, included.ID})
			equal(c, found(c, users.Find(either, doe)), []string{john.ID, jane.ID, included.ID})
		},
		"filtering: #combine": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			equal(c, found(c, users.Find(active, model.In("fname", "John", "Jane"))), []string{john.ID, jane.ID})
		},
		"filtering: straight up intersection + union": func(c *ohmCase) {
			authors, one, _ := ohmBooks(c)
			equal(c, found(c, authors.Find(ofBook(one), model.Or(happy, sad))), []string{"1", "2"})
		},
		"filtering: appending an empty set via union": func(c *ohmCase) {
			authors, one, two := ohmBooks(c)
			equal(c, found(c, authors.Find(model.Or(model.And(ofBook(one), happy), model.And(ofBook(two), sad), model.And(ofBook(two), happy)))), []string{"1", "3"})
		},
		"filtering: revert by applying the original intersection": func(c *ohmCase) {
			authors, one, two := ohmBooks(c)
			equal(c, found(c, authors.Find(model.Or(model.And(ofBook(one), happy), model.And(ofBook(two), sad)), ofBook(one), happy)), []string{"1"})
		},
		"filtering: remove original intersection by doing diff": func(c *ohmCase) {
			authors, one, two := ohmBooks(c)
			q := authors.Find(model.Or(model.And(ofBook(one), happy), model.And(ofBook(two), sad)), model.Not(model.And(ofBook(one), happy)))
			equal(c, found(c, q), []string{"3"})
		},
		"filtering: @myobie usecase": func(c *ohmCase) {
			authors, one, _ := ohmBooks(c)
			equal(c, found(c, authors.Find(model.Or(model.And(ofBook(one), happy), model.And(ofBook(one), sad)))), []string{"1", "2"})
		},
	}
}

// ohmMails returns the records of indices.rb.
func ohmMails(c *ohmCase) (*model.Store[ohmMail], []ohmMail) {
	s := ohmStore[ohmMail](c, "user")
	return s, []ohmMail{
		mustCreate(c, s, ohmMail{Email: ptr("foo"), Activation: "bar", Update: "baz"}),
		mustCreate(c, s, ohmMail{Email: ptr("bar")}),
		mustCreate(c, s, ohmMail{Email: ptr("baz qux")}),
		mustCreate(c, s, ohmMail{Email: ptr("foo@gmail.com")}),
		mustCreate(c, s, ohmMail{Email: ptr("bar@gmail.com")}),
		mustCreate(c, s, ohmMail{Email: ptr("bazqux@yahoo.com")}),
	}
}

// ohmListCases returns the cases of list.rb.
func ohmListCases() map[string]func(c *ohmCase) {
	return map[string]func(c *ohmCase){
		"list: include?": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			for _, id := range ids {
				equal(c, value[bool](c)(comments.Has(c.ctx, id)), true)
			}
			equal(c, value[bool](c)(comments.Has(c.ctx, "99")), false)
		},
		"list: first / last / size / empty?": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			equal(c, value[int64](c)(comments.Len(c.ctx)), 3)
			equal(c, value[[]string](c)(comments.Range(c.ctx, 0, 0)), ids[:1])
			equal(c, value[[]string](c)(comments.Range(c.ctx, -1, -1)), ids[2:])
		},
		"list: replace": func(c *ohmCase) {
			posts, _, comments, _ := ohmComments(c)
			four := mustCreate(c, posts, ohmPost{})
			c.ok(comments.Replace(c.ctx, four.ID))
			equal(c, value[[]string](c)(comments.Range(c.ctx, 0, -1)), []string{four.ID})
		},
		"list: push / unshift": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			c.ok(errOf(comments.PushFront(c.ctx, "98")))
			c.ok(errOf(comments.PushBack(c.ctx, "99")))
			equal(c, value[[]string](c)(comments.Range(c.ctx, 0, -1)), slices.Concat([]string{"98"}, ids, []string{"99"}))
		},
		"list: delete": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			for i, id := range ids {
				equal(c, value[int](c)(comments.Remove(c.ctx, id)), 1)
				equal(c, value[[]string](c)(comments.Range(c.ctx, 0, -1)), append([]string{}, ids[i+1:]...))
			}
		},
		"list: deleting main model cleans up the collection": func(c *ohmCase) {
			posts, post, _, _ := ohmComments(c)
			c.ok(posts.Delete(c.ctx, post.ID))
			equal(c, c.redis("EXISTS", "post.of.comments:"+post.ID), "0")
		},
		"list: #ids returns an array with the ids": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			equal(c, value[[]string](c)(comments.Range(c.ctx, 0, -1)), ids)
		},
		"list: range": func(c *ohmCase) {
			_, _, comments, ids := ohmComments(c)
			for _, r := range []struct {
				from, to int64
				want     []string
			}{{0, 100, ids}, {0, 2, ids}, {0, 1, ids[:2]}, {1, 2, ids[1:]}, {0, -1, ids}, {0, -2, ids[:2]}, {1, -1, ids[1:]}} {
				equal(c, value[[]string](c)(comments.Range(c.ctx, r.from, r.to)), r.want)
			}
		},
	}
}

// ohmUniqueCases returns the cases of uniques.rb, and one of indices.rb.
func ohmUniqueCases() map[string]func(c *ohmCase) {
	setup := func(c *ohmCase) (*model.Store[ohmUnique], ohmUnique) {
		s := ohmStore[ohmUnique](c, "user")
		return s, mustCreate(c, s, ohmUnique{Email: ptr("a@a.com")})
	}
	taken := func(c *ohmCase, _ any, err error) {
		c.Helper()
		if !errors.Is(err, model.ErrTaken) {
			c.Errorf("%v; want ErrTaken", err)
		}
	}
	byEmail := func(email string) model.Cond { return model.Eq("email", email) }
	return map[string]func(c *ohmCase){
		"uniques: findability": func(c *ohmCase) {
			s, u := setup(c)
			equal(c, value[ohmUnique](c)(s.Find(byEmail("a@a.com")).First(c.ctx)), u)
		},
		"uniques: raises when it already exists during create": func(c *ohmCase) {
			s, _ := setup(c)
			_, err := s.Create(c.ctx, ohmUnique{Email: ptr("a@a.com")})
			taken(c, nil, err)
		},
		"uniques: raises when it already exists during save": func(c *ohmCase) {
			s, _ := setup(c)
			u := mustCreate(c, s, ohmUnique{Email: ptr("b@b.com")})
			u.Email = ptr("a@a.com")
			_, err := s.Save(c.ctx, u)
			taken(c, nil, err)
		},
		"uniques: raises if the index doesn't exist": func(c *ohmCase) {
			s, _ := setup(c)
			if _, err := s.Find(model.Eq("address", "b@b.com")).First(c.ctx); !errors.Is(err, model.ErrValue) {
				c.Errorf("%v; want ErrValue", err)
			}
		},
		"uniques: doesn't raise when saving again and again": func(c *ohmCase) {
			s, u := setup(c)
			for range 3 {
				c.ok(errOf(s.Save(c.ctx, u)))
			}
		},
		"uniques: removes the previous index when changing": func(c *ohmCase) {
			s, u := setup(c)
			for _, email := range []*string{ptr("d@d.com"), nil} {
				before := *u.Email
				u.Email = email
				u = value[ohmUnique](c)(s.Save(c.ctx, u))
				equal(c, found(c, s.Find(byEmail(before))), []string{})
				equal(c, c.redis("HEXISTS", "user.by.email", before), "0")
				if email != nil {
					equal(c, found(c, s.Find(byEmail(*email))), []string{u.ID})
				}
			}
		},
		"uniques: removes the previous index when deleting": func(c *ohmCase) {
			s, u := setup(c)
			c.ok(s.Delete(c.ctx, u.ID))
			equal(c, found(c, s.Find(byEmail("a@a.com"))), []string{})
			equal(c, c.redis("HEXISTS", "user.by.email", "a@a.com"), "0")
		},
		"uniques: unique virtual attribute": func(c *ohmCase) {
			s, _ := setup(c)
			u := mustCreate(c, s, ohmUnique{Email: ptr("foo@yahoo.com")})
			equal(c, found(c, s.Find(model.Eq("provider", "yahoo"))), []string{u.ID})
			u.Email = ptr("bar@yahoo.com")
			u = value[ohmUnique](c)(s.Save(c.ctx, u))
			u.Email = ptr("bar@a.com")
			_, err := s.Save(c.ctx, u)
			taken(c, nil, err)
			_, err = s.Create(c.ctx, ohmUnique{Email: ptr("baz@yahoo.com")})
			taken(c, nil, err)
		},
		"uniques: nil doesn't count for uniques": func(c *ohmCase) {
			s, _ := setup(c)
			a, b := mustCreate(c, s, ohmUnique{}), mustCreate(c, s, ohmUnique{})
			equal(c, []string{a.ID, b.ID}, []string{"2", "3"})
		},
		"indices: uniques bug": func(c *ohmCase) {
			s, u := setup(c)
			u.Email = nil
			c.ok(errOf(s.Save(c.ctx, u)))
			equal(c, found(c, s.Find(model.Eq("provider", "a"))), []string{})
		},
	}
}
