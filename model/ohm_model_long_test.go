//go:build long

package model_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

// ohmModelCases returns the first cases of model.rb.
func ohmModelCases() map[string]func(c *ohmCase) {
	return map[string]func(c *ohmCase){
		"model: booleans": func(c *ohmCase) {
			posts := ohmStore[ohmPost](c, "post")
			for _, is := range []bool{true, false} {
				post := mustCreate(c, posts, ohmPost{Published: is})
				equal(c, value[ohmPost](c)(posts.Get(c.ctx, post.ID)).Published, is)
			}
		},
		"model: empty model is ok": func(c *ohmCase) {
			empties := ohmStore[ohmEmpty](c, "empty")
			equal(c, mustCreate(c, empties, ohmEmpty{}).ID, "1")
			equal(c, value[ohmEmpty](c)(empties.Get(c.ctx, "1")).ID, "1")
		},
		"model: counters are cleaned up during deletion": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{})
			equal(c, value[int64](c)(events.Incr(c.ctx, event.ID, "votes", 10)), 10)
			c.ok(events.Delete(c.ctx, event.ID))
			equal(c, c.redis("EXISTS", "event:"+event.ID), "0")
		},
		"model: get": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			p := mustCreate(c, people, ohmPerson{Name: "Foo"})
			p.Name = "Bar"
			equal(c, value[string](c)(model.Field[string](c.ctx, people, p.ID, "name")), "Foo")
		},
		"model: set": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{Name: ptr("Foo")})
			c.ok(errOf(events.Patch(c.ctx, event.ID, map[string]any{"name": "Bar"})))
			equal(c, *value[ohmEvent](c)(events.Get(c.ctx, event.ID)).Name, "Bar")
			c.ok(errOf(events.Patch(c.ctx, event.ID, map[string]any{"name": nil})))
			equal(c, c.redis("HEXISTS", "event:"+event.ID, "name"), "0")
		},
		"model: assign attributes from the hash": func(c *ohmCase) {
			equal(c, *ohmEvent{Name: ptr("Ruby Tuesday")}.Name, "Ruby Tuesday")
		},
		"model: assign an ID and save the object": ohmIDs,
		"model: updates attributes": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			p := mustCreate(c, people, ohmPerson{Name: "Ruby Tuesday"})
			c.ok(errOf(people.Update(c.ctx, p.ID, func(p *ohmPerson) error { p.Name = "Ruby Meetup"; return nil })))
			equal(c, value[ohmPerson](c)(people.Get(c.ctx, p.ID)).Name, "Ruby Meetup")
		},
		"model: reload attributes": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			one := mustCreate(c, events, ohmEvent{Name: ptr("Foo"), Location: ptr("Bar")})
			c.ok(errOf(events.Patch(c.ctx, one.ID, map[string]any{"name": nil})))
			two := value[ohmEvent](c)(events.Get(c.ctx, one.ID))
			equal(c, two.Name, nil)
			equal(c, *two.Location, "Bar")
		},
		"model: save the attributes in UTF8": ohmUTF8,
		"model: delete the attribute if set to nil": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{Name: ptr("Ruby Tuesday"), Location: ptr("Los Angeles")})
			event.Location = nil
			c.ok(errOf(events.Save(c.ctx, event)))
			equal(c, value[ohmEvent](c)(events.Get(c.ctx, event.ID)).Location, nil)
			equal(c, c.redis("HEXISTS", "event:"+event.ID, "location"), "0")
		},
		"model: allow arbitrary IDs": func(c *ohmCase) {
			events := store[ohmOwn](c, c.client, model.Options{Name: "event", IDs: model.ClientAssigned})
			mustCreate(c, events, ohmOwn{ID: "abc123", Name: "Concert"})
			equal(c, value[int64](c)(events.Len(c.ctx)), 1)
			equal(c, value[ohmOwn](c)(events.Get(c.ctx, "abc123")).Name, "Concert")
			people := ohmStore[ohmPerson](c, "person")
			equal(c, mustCreate(c, people, ohmPerson{ID: "123"}).ID, "123")
			equal(c, mustCreate(c, people, ohmPerson{}).ID, "124")
		},
		"model: return an instance of Event": ohmExisting,
		"model: return an instance of User":  ohmExisting,
	}
}

// ohmExisting reads a record written by another program.
func ohmExisting(c *ohmCase) {
	c.redis("SADD", "Event:all", "1")
	c.redis("HSET", "Event:1", "name", "Concert")
	events := store[ohmOwn](c, c.client, model.Options{Name: "event", Keys: model.Keys{Record: "Event:", Counter: "Event:id"}})
	equal(c, value[ohmOwn](c)(events.Get(c.ctx, "1")), ohmOwn{"1", "Concert"})
}

// ohmSavingCases returns the cases of model.rb on saving, deleting, finding and counting.
func ohmSavingCases() map[string]func(c *ohmCase) {
	save := func(c *ohmCase) {
		people := ohmStore[ohmPerson](c, "person")
		p := mustCreate(c, people, ohmPerson{Name: "albert@example.com"})
		for range 2 {
			p.Name = "maria@example.com"
			p = value[ohmPerson](c)(people.Save(c.ctx, p))
		}
		equal(c, value[ohmPerson](c)(people.Get(c.ctx, p.ID)).Name, "maria@example.com")
	}
	return map[string]func(c *ohmCase){
		"model: change its attributes":        save,
		"model: save the new values":          save,
		"model: assign a new id to the event": ohmIDs,
		"model: load attributes as a strings": func(c *ohmCase) {
			// Text remains text, and numbers remain numbers.
			people := ohmStore[ohmPerson](c, "person")
			equal(c, value[ohmPerson](c)(people.Get(c.ctx, mustCreate(c, people, ohmPerson{Name: "1"}).ID)).Name, "1")
		},
		"model: event shows the correct states": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			equal(c, ohmEvent{}.ID, "")
			event := mustCreate(c, events, ohmEvent{})
			equal(c, value[bool](c)(events.Has(c.ctx, event.ID)), true)
			c.ok(events.Delete(c.ctx, event.ID))
			equal(c, value[bool](c)(events.Has(c.ctx, event.ID)), false)
		},
		"model: create the model if it is new": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			p := value[ohmPerson](c)(people.Put(c.ctx, ohmPerson{Name: "Foo"}))
			equal(c, value[ohmPerson](c)(people.Get(c.ctx, p.ID)).Name, "Foo")
			p.Name = "Bar"
			equal(c, value[ohmPerson](c)(people.Put(c.ctx, p)), p)
			equal(c, value[int64](c)(people.Len(c.ctx)), 1)
		},
		"model: save it only if it was previously created": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			if _, err := people.Save(c.ctx, ohmPerson{ID: "7", Name: "Lorem"}); !errors.Is(err, model.ErrNotFound) {
				c.Errorf("%v; want ErrNotFound", err)
			}
			p := mustCreate(c, people, ohmPerson{Name: "Lorem ipsum"})
			p.Name = "Lorem"
			equal(c, value[ohmPerson](c)(people.Save(c.ctx, p)).Name, "Lorem")
		},
		"model: save counters": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{Name: ptr("Foo")})
			c.ok(errOf(events.Incr(c.ctx, event.ID, "votes", 1)))
			c.ok(errOf(events.Save(c.ctx, event)))
			equal(c, value[ohmEvent](c)(events.Get(c.ctx, event.ID)).Votes, 1)
		},
		"model: delete an existing model": func(c *ohmCase) {
			posts, post, _, ids := ohmComments(c)
			c.ok(errOf(posts.Set("posts", post.ID).Put(c.ctx, ids...)))
			for _, id := range append(ids, post.ID) {
				c.ok(posts.Delete(c.ctx, id))
			}
			equal(c, c.redis("EXISTS", "post:"+post.ID, "post.of.posts:"+post.ID, "post.of.comments:"+post.ID), "0")
			equal(c, found(c, posts.Find()), []string{})
		},
		"model: no leftover keys": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			p := mustCreate(c, people, ohmPerson{Name: "Bar"})
			c.ok(people.Delete(c.ctx, p.ID))
			keys, err := c.client.Do(c.ctx, c.client.B().Keys().Pattern("*").Build()).AsStrSlice()
			c.ok(err)
			slices.Sort(keys)
			equal(c, keys, []string{"models", "next_person_id", "person.meta"}) // these keys describe the model
		},
		"model: find all": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			equal(c, value[[]ohmUser](c)(users.Find().Slice(c.ctx)), []ohmUser{john, jane})
		},
		"model: fetch ids": func(c *ohmCase) {
			users, john, jane := ohmJohnAndJane(c)
			equal(c, value[[]ohmUser](c)(users.GetMany(c.ctx, john.ID, jane.ID)), []ohmUser{john, jane})
		},
		"model: be zero if not initialized": func(c *ohmCase) {
			equal(c, mustCreate(c, ohmStore[ohmEvent](c, "event"), ohmEvent{}).Votes, 0)
		},
		"model: be able to increment a counter": func(c *ohmCase) { ohmCount(c, 1, 2) },
		"model: be able to decrement a counter": func(c *ohmCase) { ohmCount(c, -1, -2) },
		"model: scripts are flushed": func(c *ohmCase) {
			people := ohmStore[ohmPerson](c, "person")
			p := mustCreate(c, people, ohmPerson{Name: "Foo"})
			c.redis("SCRIPT", "FLUSH")
			p.Name = "Bar"
			c.ok(errOf(people.Save(c.ctx, p)))
			equal(c, value[ohmPerson](c)(people.Get(c.ctx, p.ID)).Name, "Bar")
		},
		"model: typecast attributes": func(c *ohmCase) {
			mails := ohmStore[ohmMail](c, "option")
			m := mustCreate(c, mails, ohmMail{Capacity: 20})
			c.ok(errOf(mails.Update(c.ctx, m.ID, func(m *ohmMail) error { m.Capacity++; return nil })))
			equal(c, value[ohmMail](c)(mails.Get(c.ctx, m.ID)).Capacity, 21)
		},
	}
}

func ohmCount(c *ohmCase, first, second int64) {
	events := ohmStore[ohmEvent](c, "event")
	event := mustCreate(c, events, ohmEvent{})
	equal(c, value[int64](c)(events.Incr(c.ctx, event.ID, "votes", first)), first)
	equal(c, value[int64](c)(events.Incr(c.ctx, event.ID, "votes", second)), first+second)
}

// ohmSortingCases returns the cases of model.rb on sorting and enumerables.
func ohmSortingCases() map[string]func(c *ohmCase) {
	people := func(c *ohmCase, names ...string) *model.Store[ohmPerson] {
		s := ohmStore[ohmPerson](c, "person")
		for _, name := range names {
			mustCreate(c, s, ohmPerson{Name: name})
		}
		return s
	}
	return map[string]func(c *ohmCase){
		"model: sort all": func(c *ohmCase) {
			equal(c, plucked(c, people(c, "D", "C", "B", "A").Find().OrderBy("name")), []string{"A", "B", "C", "D"})
		},
		"model: return an empty array if there are no elements to sort": func(c *ohmCase) {
			equal(c, value[[]ohmPerson](c)(people(c).Find().OrderBy("name").Slice(c.ctx)), []ohmPerson{})
		},
		"model: return the first element sorted by id when using first": func(c *ohmCase) {
			equal(c, value[ohmPerson](c)(people(c, "A", "B").Find().First(c.ctx)).Name, "A")
		},
		"model: return the first element sorted by name if first receives a sorting option": func(c *ohmCase) {
			equal(c, value[ohmPerson](c)(people(c, "B", "A").Find().OrderBy("name").First(c.ctx)).Name, "A")
		},
		"model: return attribute values when the get parameter is specified": func(c *ohmCase) {
			equal(c, plucked(c, people(c, "B", "A").Find().OrderBy("name")), []string{"A", "B"})
		},
		"model: finding by one entry in the enumerable": func(c *ohmCase) {
			entries := ohmStore[ohmEntry](c, "entry")
			mustCreate(c, entries, ohmEntry{Tags: "foo bar baz"})
			for _, tag := range []string{"foo", "bar", "baz"} {
				equal(c, found(c, entries.Find(model.Eq("tag", tag))), []string{"1"})
			}
		},
		"model: finding by multiple entries in the enumerable": func(c *ohmCase) {
			entries := ohmStore[ohmEntry](c, "entry")
			mustCreate(c, entries, ohmEntry{Tags: "foo bar baz"})
			both := func(a, b string) *model.Query[ohmEntry] { return entries.Find(model.Eq("tag", a), model.Eq("tag", b)) }
			equal(c, found(c, both("foo", "bar")), []string{"1"})
			equal(c, found(c, both("bar", "baz")), []string{"1"})
			equal(c, found(c, both("baz", "oof")), []string{})
		},
	}
}

// plucked returns the names in the results of a query, in its order.
func plucked(c *ohmCase, q *model.Query[ohmPerson]) []string {
	c.Helper()
	names := []string{}
	for name, err := range model.Pluck[string](c.ctx, q, "name") {
		c.ok(err)
		names = append(names, name)
	}
	return names
}

// ohmSetCases returns the cases of model.rb on sets and lists.
func ohmSetCases() map[string]func(c *ohmCase) {
	return map[string]func(c *ohmCase){
		"model: delete elements": func(c *ohmCase) {
			_, attendees, _, b, _ := ohmAttendees(c)
			equal(c, value[int](c)(attendees.Remove(c.ctx, b.ID)), 1)
			equal(c, value[int64](c)(attendees.Len(c.ctx)), 1)
		},
		"model: not be available if the model is new": func(c *ohmCase) {
			_, err := ohmStore[ohmEvent](c, "event").Set("attendees", "").Put(c.ctx, "1")
			if !errors.Is(err, model.ErrValue) {
				c.Errorf("%v; want ErrValue", err)
			}
		},
		"model: remove an element if sent delete": func(c *ohmCase) {
			_, attendees, a, b, d := ohmAttendees(c)
			c.ok(errOf(attendees.Put(c.ctx, d.ID)))
			c.redis("SREM", "event.of.attendees:1", b.ID)
			equal(c, sortedOf(c, attendees.All(c.ctx)), []string{a.ID, d.ID})
		},
		"model: return true if the set includes some member": func(c *ohmCase) {
			_, attendees, _, b, d := ohmAttendees(c)
			equal(c, value[bool](c)(attendees.Has(c.ctx, b.ID)), true)
			equal(c, value[bool](c)(attendees.Has(c.ctx, d.ID)), false)
		},
		"model: return the size of the set": func(c *ohmCase) {
			_, attendees, _, _, _ := ohmAttendees(c)
			equal(c, value[int64](c)(attendees.Len(c.ctx)), 2)
		},
		"model: empty the set": func(c *ohmCase) {
			_, attendees, _, _, _ := ohmAttendees(c)
			c.redis("DEL", "event.of.attendees:1")
			equal(c, value[int64](c)(attendees.Len(c.ctx)), 0)
		},
		"model: replace the values in the set": func(c *ohmCase) {
			_, attendees, _, b, d := ohmAttendees(c)
			c.ok(attendees.Replace(c.ctx, b.ID, d.ID))
			equal(c, sortedOf(c, attendees.All(c.ctx)), []string{b.ID, d.ID})
		},
		"model: return instances of the passed model (2)": func(c *ohmCase) {
			people, attendees, a, b, _ := ohmAttendees(c)
			var got []ohmPerson
			for p, err := range people.Records(c.ctx, attendees.All(c.ctx)) {
				c.ok(err)
				got = append(got, p)
			}
			slices.SortFunc(got, func(a, b ohmPerson) int { return strings.Compare(a.ID, b.ID) })
			equal(c, got, []ohmPerson{a, b})
		},
		"model: filter elements": func(c *ohmCase) {
			people, attendees, a, b, _ := ohmAttendees(c)
			for initial, want := range map[string][]string{"A": {a.ID}, "B": {b.ID}, "C": {}, "Z": {}} {
				equal(c, found(c, people.Find(model.Eq("initial", initial)).Among(attendees)), want)
			}
		},
		"model: return instances of the passed model": func(c *ohmCase) {
			people, attendees, a, b, d := ohmAttendees(c)
			equal(c, value[[]ohmPerson](c)(people.Find().Among(attendees).Slice(c.ctx)), []ohmPerson{a, b})
			equal(c, value[ohmPerson](c)(people.Find().Among(attendees).Get(c.ctx, a.ID)), a)
			equal(c, value[bool](c)(people.Find().Among(attendees).Has(c.ctx, d.ID)), false)
		},
		"model: sort the model instances by the values provided": func(c *ohmCase) {
			people, attendees := ohmSorted(c)
			equal(c, plucked(c, people.Find().Among(attendees).OrderBy("name")), []string{"A", "B", "C", "D"})
		},
		"model: accept a number in the limit parameter": func(c *ohmCase) {
			people, attendees := ohmSorted(c)
			equal(c, plucked(c, people.Find().Among(attendees).OrderBy("name").Limit(2)), []string{"A", "B"})
		},
		"model: use the start parameter as an offset if the limit is provided": func(c *ohmCase) {
			people, attendees := ohmSorted(c)
			q := people.Find().Among(attendees).OrderBy("name")
			first := value[model.Results[ohmPerson]](c)(q.Limit(1).Page(c.ctx))
			equal(c, plucked(c, q.Limit(2).After(first.Next)), []string{"B", "C"})
		},
		"model: use counter attributes for sorting": func(c *ohmCase) {
			people, attendees := ohmSorted(c)
			equal(c, plucked(c, people.Find().Among(attendees).OrderBy("logins").Limit(3)), []string{"C", "A", "D"})
		},
		"model: use counter attributes for sorting with key option": func(c *ohmCase) {
			people, attendees := ohmSorted(c)
			var logins []int
			for n, err := range model.Pluck[int](c.ctx, people.Find().Among(attendees).OrderBy("logins").Limit(3), "logins") {
				c.ok(err)
				logins = append(logins, n)
			}
			equal(c, logins, []int{2, 3, 4})
		},
		"model: work on lists": func(c *ohmCase) {
			posts, post, _, _ := ohmComments(c)
			related := posts.List("related", post.ID)
			for _, body := range []string{"C", "B", "A"} {
				c.ok(errOf(related.PushBack(c.ctx, mustCreate(c, posts, ohmPost{Body: body}).ID)))
			}
			bodies := ""
			for p, err := range posts.Find().Among(related).OrderBy("body").All(c.ctx) {
				c.ok(err)
				bodies += p.Body
			}
			equal(c, bodies, "ABC")
		},
		"model: remove an object from the set":    ohmRemoveMember,
		"model: remove an object id from the set": ohmRemoveMember,
	}
}

// ohmSorted returns the records of the sorting tests.
func ohmSorted(c *ohmCase) (*model.Store[ohmPerson], *model.Members) {
	people, attendees, _, _, _ := ohmAttendees(c)
	var ids []string
	for _, name := range []string{"D", "C", "B", "A"} {
		ids = append(ids, mustCreate(c, people, ohmPerson{Name: name}).ID)
		c.ok(errOf(people.Incr(c.ctx, ids[len(ids)-1], "logins", map[string]int64{"D": 4, "C": 2, "B": 5, "A": 3}[name])))
	}
	c.ok(attendees.Replace(c.ctx, ids...))
	return people, attendees
}

func ohmRemoveMember(c *ohmCase) {
	_, attendees, a, _, _ := ohmAttendees(c)
	equal(c, value[bool](c)(attendees.Has(c.ctx, a.ID)), true)
	c.redis("SREM", "event.of.attendees:1", a.ID)
	equal(c, value[bool](c)(attendees.Has(c.ctx, a.ID)), false)
}

// ohmDatabaseCases returns the cases of model.rb on databases and stored data.
func ohmDatabaseCases() map[string]func(c *ohmCase) {
	databases := func(c *ohmCase) {
		other := redistest.DB(c).Client(c)
		car, maker := store[ohmOwn](c, other, model.Options{Name: "car"}), ohmStore[ohmOwn](c, "make")
		mustCreate(c, car, ohmOwn{Name: "Twingo"})
		mustCreate(c, maker, ohmOwn{Name: "Renault"})
		equal(c, c.redis("EXISTS", "car:1", "make:1"), "1")
		equal(c, redisDo(c.T, other, "EXISTS", "car:1", "make:1"), "1")
		c.redis("FLUSHDB")
		equal(c, value[ohmOwn](c)(car.Get(c.ctx, "1")).Name, "Twingo")
		if _, err := maker.Get(c.ctx, "1"); !errors.Is(err, model.ErrNotFound) {
			c.Errorf("%v; want ErrNotFound", err)
		}
		equal(c, value[int64](c)(store[ohmOwn](c, c.client, model.Options{Name: "car"}).Len(c.ctx)), 0)
	}
	return map[string]func(c *ohmCase){
		"model: save to the selected database": databases,
		"model: allow changing the database":   databases,
		"model: persist attributes to a hash": func(c *ohmCase) {
			events := ohmStore[ohmEvent](c, "event")
			event := mustCreate(c, events, ohmEvent{Name: ptr("Redis Meetup")})
			c.ok(errOf(events.Incr(c.ctx, event.ID, "votes", 1)))
			equal(c, c.redis("HGET", "event:1", "name")+c.redis("HGET", "event:1", "votes"), "Redis Meetup1")
		},
		"model: be persisted": func(c *ohmCase) {
			books, authors := ohmStore[ohmBook](c, "SomeNamespace::Foo"), ohmStore[ohmAuthor](c, "SomeNamespace::Bar")
			book := mustCreate(c, books, ohmBook{Name: "foo"})
			author := mustCreate(c, authors, ohmAuthor{Book: model.To[ohmBook](book.ID)})
			equal(c, c.redis("TYPE", "SomeNamespace::Foo:1"), "hash")
			equal(c, value[ohmBook](c)(author.Book.Get(c.ctx, books)).Name, "foo")
		},
	}
}

func TestOhm(t *testing.T) {
	t.Parallel()
	for name, f := range ohmCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(&ohmCase{t, t.Context(), redistest.DB(t).Client(t)})
		})
	}
}

// ohmNumbers is the number of cases in each file of Ohm.
var ohmNumbers = map[string]int{
	"association": 2, "connection": 2, "core": 3, "counters": 3, "enumerable": 6, "filtering": 14, "hash_key": 4, "indices": 13,
	"json": 4, "list": 8, "model": 72, "set": 3, "thread_safety": 3, "to_hash": 3, "uniques": 9,
}

var ohmRow = regexp.MustCompile(`(?m)^\| (\w+: .*?) \| (passes|differs|not in Go)\b(.*)\|$`)

// Each case of Ohm has a test, or docs/ohm.md gives the reason why not.
func TestOhmPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/ohm.md")
	require.OK(t)(err)
	cases := ohmCases()
	verdicts := map[string]string{} // by case
	for name := range cases {
		verdicts[name] = "passes"
	}
	for _, row := range ohmRow.FindAllStringSubmatch(string(text), -1) {
		if row[2] == "passes" && cases[row[1]] == nil {
			t.Errorf("no test for %q", row[1])
		}
		if row[2] != "passes" && len(row[3]) < 10 {
			t.Errorf("docs/ohm.md gives no reason for %q", row[1])
		}
		verdicts[row[1]] = row[2]
	}
	files, numbers := map[string]int{}, map[string]int{}
	for name, verdict := range verdicts {
		file, _, _ := strings.Cut(name, ":")
		files[file]++
		numbers[verdict]++
	}
	if !maps.Equal(files, ohmNumbers) {
		t.Errorf("the page and the tests have these numbers of cases: %v, want %v", files, ohmNumbers)
	}
	summary := fmt.Sprintf("%d pass, %d differ on purpose, and %d need Ruby", numbers["passes"], numbers["differs"], numbers["not in Go"])
	if !strings.Contains(string(text), summary) {
		t.Errorf("docs/ohm.md does not contain %q", summary)
	}
}
