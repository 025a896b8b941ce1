package model_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// After random writes through one or two stores of a model, with random options and with or
// without computed indexes, the records, sets and lists equal those of maps in memory, and every
// query returns what a loop over the maps finds. At the end, Verify finds no problem, and deleted
// records leave no key behind.
func TestAgainstMaps(t *testing.T) {
	t.Parallel()
	client, other := redistest.DB(t).Client(t), redistest.DB(t).Client(t)
	models, answered := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		models++
		m := newMachine(t, r, client, other, fmt.Sprintf("thing%d", models))
		m.fill(r)
		r.Repeat(map[string]func(*rapid.T){
			"create": m.create, "create many": m.createMany, "put": m.put, "put many": m.putMany, "save": m.save,
			"update": m.update, "patch": m.patch, "update all": m.updateAll, "incr": m.incr, "touch": m.touch, "delete": m.remove,
			"read": m.read, "set": m.repeat(m.set), "list": m.repeat(m.list), "find": m.find, "find again": m.find, "find among": m.findAmong, "find one": m.findOne,
		})
		m.end(r)
		answered += m.answered
	})
	if answered == 0 {
		t.Error("no query on an index that lacks records was answered")
	}
}

// machine applies operations to stores and to maps.
type machine struct {
	ctx      context.Context
	client   rueidis.Client
	name     string
	ids      model.IDs
	stores   []*model.Store[thing]
	owners   *model.Store[traveller] // in the same or another database
	parts    int
	records  map[string]*thing
	ended    []thing         // deleted and expired things
	born     map[string]int  // number of the call that created a record, for byCreation
	unswept  map[string]bool // ids of expired records that are not deleted: a new record may keep the old position
	calls    int
	sets     map[string]map[string]bool
	lists    map[string][]string
	writes   int
	answered int // number of queries on indexes that do not contain all records
}

func newMachine(t *testing.T, r *rapid.T, client, other rueidis.Client, name string) *machine {
	opt := model.Options{Name: name, Partitions: some(r, "partitions", 1, 3), IDs: some(r, "ids", model.Counter, model.ULID, model.ClientAssigned)}
	computes = rapid.Bool().Draw(r, "computed")
	m := &machine{
		ctx: t.Context(), client: client, name: name, ids: opt.IDs, parts: opt.Partitions,
		records: map[string]*thing{}, born: map[string]int{}, unswept: map[string]bool{}, sets: map[string]map[string]bool{}, lists: map[string][]string{},
	}
	if rapid.Bool().Draw(r, "cache") { // only one store: a cache does not see writes of other stores immediately
		opt.Cache = time.Minute
	} else {
		m.stores = append(m.stores, store[thing](t, client, opt))
	}
	m.stores = append(m.stores, store[thing](t, client, opt))
	m.owners = store[traveller](t, some(r, "owners", client, other), model.Options{Name: name + "owner"})
	return m
}

func (m *machine) store(r *rapid.T) *model.Store[thing] {
	return m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(r, "store")]
}

// id draws the id of a record, the id of a deleted or expired record, or an unused id.
func (m *machine) id(r *rapid.T) string {
	ids := append(slices.Sorted(maps.Keys(m.records)), "none")
	if len(m.ended) > 0 {
		ids = append(ids, m.ended[len(m.ended)-1].ID)
	}
	return some(r, "id", ids...)
}

// newID draws an id for a new record. An empty id lets the store choose.
func (m *machine) newID(r *rapid.T) string {
	switch m.ids {
	case model.ClientAssigned:
		return some(r, "new id", "a", "b", "c:d", "é", "1", "2", "10", "long"+strings.Repeat("x", 40))
	case model.Counter:
		return some(r, "own id", "", "", "", "0", "3", "17", "24", "30")
	}
	return ""
}

// draw draws a record whose unique values other records may have.
func (m *machine) draw(r *rapid.T) thing {
	m.writes++
	x := drawThing(r, m.writes)
	x.Row, x.Seat = rapid.IntRange(0, 5).Draw(r, "row"), rapid.IntRange(0, 5).Draw(r, "seat")
	if x.Mail != nil {
		x.Mail = ptr(some(r, "mail of", "m1", "m2", "m3", "m4"))
	}
	if x.Nicks != nil {
		x.Nicks = some(r, "nicks of", []string{}, []string{"n1"}, []string{"n2", "STRASSE"}, []string{"straße", "N1"}, []string{"k3"})
	}
	return x
}

// drawFree draws a record whose unique values no other record has.
func (m *machine) drawFree(r *rapid.T) thing {
	m.writes++
	x := drawThing(r, m.writes)
	x.Row, x.Seat = 10+m.writes, m.writes
	if x.Mail != nil {
		x.Mail = ptr(fmt.Sprint("free", m.writes))
	}
	if x.Nicks != nil {
		x.Nicks = []string{fmt.Sprint("free", m.writes)}
	}
	if past(&x) {
		x.Expires = time.Time{}
	}
	return x
}

// past reports whether a record has expired.
func past(x *thing) bool { return !x.Expires.IsZero() && x.Expires.Before(day) }

// clashes reports whether two records have the same unique value.
func clashes(a, b *thing) bool {
	return a.Row == b.Row && a.Seat == b.Seat || a.Mail != nil && b.Mail != nil && *a.Mail == *b.Mail ||
		slices.ContainsFunc(a.Nicks, func(n string) bool {
			return slices.ContainsFunc(b.Nicks, func(o string) bool { return folded(n, o) == 0 })
		})
}

// owner returns the id of another record that has a unique value of x.
func (m *machine) owner(x *thing) string {
	for id, y := range m.records {
		if id != x.ID && clashes(x, y) {
			return id
		}
	}
	return ""
}

// toJSON formats a record for comparisons and messages.
func toJSON(x thing) string {
	s, err := json.Marshal(x)
	return fmt.Sprintf("%s %v", s, err)
}

// checkWrite checks the outcome of a write of a whole record that began at from, and updates the
// maps.
func (m *machine) checkWrite(r *rapid.T, given, got thing, version int64, from time.Time, err error) {
	old := m.records[given.ID]
	var taken *model.TakenError
	if m.owner(&given) != "" {
		if !errors.As(err, &taken) || m.records[taken.Owner] == nil || taken.Owner == given.ID || !clashes(&given, m.records[taken.Owner]) {
			r.Fatalf("%s is taken by %s: %v", toJSON(given), m.owner(&given), err)
		}
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	given.ID = got.ID
	if past(&given) { // then Put returns no version
		m.forget(given.ID)
		m.ended, m.unswept[given.ID] = append(m.ended, given), true
		return
	}
	if old != nil {
		given.Hits, given.Total, given.Plain, given.Made = old.Hits, old.Total, old.Plain, old.Made
		if version == old.Version {
			given.Changed = old.Changed
		}
	}
	if given.Version = version; old == nil || version > old.Version {
		checkTime(r, "updated", got.Changed, from)
		given.Changed = got.Changed
	}
	if old == nil {
		checkTime(r, "created", got.Made, from)
		given.Made = got.Made
		m.born[given.ID] = m.calls
	}
	if toJSON(given) != toJSON(got) {
		r.Fatalf("wrote\n%s, want\n%s", toJSON(got), toJSON(given))
	}
	m.records[given.ID] = &given
}

// checkTime checks a time that the store has set since from, with a tolerance of a minute.
func checkTime(r *rapid.T, what string, at, from time.Time) {
	if at.Before(from.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		r.Fatalf("%s is %v, want between %v and %v", what, at, from, time.Now())
	}
}

// forget removes a deleted or expired record from the maps.
func (m *machine) forget(id string) {
	if x := m.records[id]; x != nil {
		m.ended = append(m.ended, *x)
	}
	delete(m.records, id)
	delete(m.sets, id)
	delete(m.lists, id)
}

// fill writes the first records.
func (m *machine) fill(r *rapid.T) {
	all := make([]thing, rapid.IntRange(0, 16).Draw(r, "records"))
	for i := range all {
		all[i] = m.drawFree(r)
		if m.ids == model.ClientAssigned {
			all[i].ID = fmt.Sprint("f", i)
		}
		if rapid.Bool().Draw(r, "found by others") {
			all[i].Row, all[i].Seat = i/5, i%5
		}
	}
	m.createAll(r, m.stores[0], all)
}

func (m *machine) create(r *rapid.T) {
	given := m.draw(r)
	given.ID = m.newID(r)
	m.calls++
	from := time.Now()
	got, err := m.store(r).Create(m.ctx, given)
	m.checkCreate(r, given, got, from, err)
}

// checkCreate checks the outcome of creating a record.
func (m *machine) checkCreate(r *rapid.T, given, got thing, from time.Time, err error) {
	var taken *model.TakenError
	if given.ID != "" && m.records[given.ID] != nil {
		if !errors.As(err, &taken) {
			r.Fatalf("Create with the used id %s: %v; want a TakenError", given.ID, err)
		}
		return
	}
	if err == nil && m.records[got.ID] != nil {
		r.Fatalf("Create assigned the used id %s", got.ID)
	}
	m.checkWrite(r, given, got, 1, from, err)
}

// createMany writes records, some of which may be refused.
func (m *machine) createMany(r *rapid.T) {
	all := make([]thing, rapid.IntRange(1, 4).Draw(r, "many"))
	for i := range all {
		all[i] = m.drawFree(r)
		all[i].ID = m.newID(r)
	}
	last := &all[len(all)-1]
	if owner := m.records[m.id(r)]; owner != nil {
		last.Row, last.Seat = owner.Row, owner.Seat
	} else if len(m.ended) > 0 {
		before := m.ended[len(m.ended)-1]
		last.Row, last.Seat, last.Mail = before.Row, before.Seat, before.Mail
	}
	m.createAll(r, m.store(r), all)
}

func (m *machine) createAll(r *rapid.T, s *model.Store[thing], all []thing) {
	m.calls++
	from := time.Now()
	got, err := s.CreateMany(m.ctx, all)
	refused := refusedOf(r, err)
	for _, isRefused := range []bool{false, true} { // written records first: they can be why others in the batch are refused
		for i := range all {
			if (refused[i] != nil) == isRefused {
				m.checkCreate(r, all[i], got[i], from, refused[i])
			}
			if m.parts == 1 { // records are created in slice order
				m.calls++
			}
		}
	}
}

// refusedOf returns the errors of the records of a batch by position.
func refusedOf(r *rapid.T, err error) map[int]error {
	refused := map[int]error{}
	var many *model.ManyError
	if errors.As(err, &many) {
		for _, x := range many.Refused {
			refused[x.Position] = x.Err
		}
	} else if err != nil {
		r.Fatal(err)
	}
	return refused
}

// next returns the next version of the record with an id.
func (m *machine) next(id string) int64 {
	if old := m.records[id]; old != nil {
		return old.Version + 1
	}
	return 1
}

func (m *machine) putID(r *rapid.T) string {
	if m.ids != model.ULID && rapid.Bool().Draw(r, "new") || len(m.records) == 0 {
		return m.newID(r)
	}
	return some(r, "id", slices.Sorted(maps.Keys(m.records))...)
}

func (m *machine) put(r *rapid.T) {
	given := m.draw(r)
	given.ID, given.Version = m.putID(r), 77
	m.calls++
	from := time.Now()
	got, err := m.store(r).Put(m.ctx, given)
	m.checkWrite(r, given, got, m.next(given.ID), from, err)
}

func (m *machine) putMany(r *rapid.T) {
	all := make([]thing, rapid.IntRange(0, 5).Draw(r, "many"))
	for i := range all {
		all[i] = m.drawFree(r)
		all[i].ID = m.putID(r)
	}
	m.calls++
	from := time.Now()
	got, err := m.store(r).PutMany(m.ctx, all)
	refused := refusedOf(r, err)
	for i := range all {
		m.checkWrite(r, all[i], got[i], m.next(all[i].ID), from, refused[i])
	}
}

func (m *machine) save(r *rapid.T) {
	given, id := m.draw(r), m.id(r)
	given.ID, given.Version = id, m.next(id)-1
	stale := rapid.IntRange(0, 4).Draw(r, "old version") == 0
	if stale {
		given.Version--
	}
	from := time.Now()
	got, err := m.store(r).Save(m.ctx, given)
	switch {
	case m.records[id] == nil:
		m.checkMissing(r, err)
	case stale:
		if !errors.Is(err, model.ErrConflict) {
			r.Fatalf("Save of an old version: %v; want ErrConflict", err)
		}
	default:
		m.checkWrite(r, given, got, m.next(id), from, err)
	}
}

// checkMissing checks the error for a record that does not exist.
func (m *machine) checkMissing(r *rapid.T, err error) {
	if !errors.Is(err, model.ErrNotFound) {
		r.Fatalf("missing record: %v; want ErrNotFound", err)
	}
}

func (m *machine) update(r *rapid.T) {
	given, id := m.draw(r), m.id(r)
	old := m.records[id]
	if old != nil && rapid.Bool().Draw(r, "nothing new") {
		given = *old
	}
	from := time.Now()
	got, err := m.store(r).Update(m.ctx, id, func(x *thing) error {
		stored := x.ID
		*x = given
		x.ID = stored
		return nil
	})
	m.checkChange(r, id, given, got, from, err)
}

// checkChange is like checkWrite, for a record that is not written if nothing changes.
func (m *machine) checkChange(r *rapid.T, id string, given, got thing, from time.Time, err error) {
	old := m.records[id]
	if old == nil {
		m.checkMissing(r, err)
		return
	}
	given.ID = id
	version := old.Version + 1
	same := given
	same.Hits, same.Total, same.Plain, same.Made, same.Changed, same.Version = old.Hits, old.Total, old.Plain, old.Made, old.Changed, old.Version
	if toJSON(same) == toJSON(*old) {
		version = old.Version
	}
	m.checkWrite(r, given, got, version, from, err)
}

func (m *machine) patch(r *rapid.T) {
	drawn, id := m.draw(r), m.id(r)
	var given thing
	if old := m.records[id]; old != nil {
		given = *old
	}
	values := map[string]any{}
	for _, f := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"age", "mail", "nicks", "tags", "city", "name", "expires", "score", "due", "seat"}), 1, 4, rapid.ID[string]).Draw(r, "fields") {
		switch f {
		case "age":
			values[f], given.Age = drawn.Age, drawn.Age
		case "mail":
			values[f], given.Mail = drawn.Mail, drawn.Mail
		case "nicks":
			values[f], given.Nicks = drawn.Nicks, drawn.Nicks
		case "tags":
			values[f], given.Tags = drawn.Tags, drawn.Tags
		case "city":
			values[f], given.City = drawn.City, drawn.City
		case "name":
			values[f], given.Name = drawn.Name, drawn.Name
		case "expires":
			values[f], given.Expires = drawn.Expires, drawn.Expires
		case "score":
			values[f], given.Score = drawn.Score, drawn.Score
		case "due":
			values[f], given.Due = drawn.Due, drawn.Due
		case "seat":
			values[f], given.Seat = drawn.Seat, drawn.Seat
		}
	}
	from := time.Now()
	got, err := m.store(r).Patch(m.ctx, id, values)
	m.checkChange(r, id, given, got, from, err)
}

// updateAll changes or deletes the results of a query.
func (m *machine) updateAll(r *rapid.T) {
	city, deletes := some(r, "city", cities()...), rapid.IntRange(0, 3).Draw(r, "delete") == 0
	q := m.store(r).Find(model.Eq("city", city), model.Not(model.Eq("took", 5*time.Second)))
	var n int64
	var err error
	from := time.Now()
	if deletes {
		n, err = q.DeleteAll(m.ctx, nil)
	} else {
		n, err = q.UpdateAll(m.ctx, func(x *thing) error { x.Took = 5 * time.Second; return nil }, nil)
	}
	want := int64(0)
	for id, x := range m.records {
		if x.City != city || x.Took == 5*time.Second {
			continue
		}
		if want++; deletes {
			m.forget(id)
			continue
		}
		got, err := m.stores[0].Get(m.ctx, id)
		given := *x
		given.Took = 5 * time.Second
		m.checkWrite(r, given, got, x.Version+1, from, err)
	}
	if n != want || err != nil {
		r.Fatalf("changed %d records, %v; want %d", n, err, want)
	}
}

func (m *machine) incr(r *rapid.T) {
	id, field, by := m.id(r), some(r, "counter", "hits", "total", "plain"), rapid.Int64Range(-8, 8).Draw(r, "by")
	if field == "total" {
		by *= 1 << 59
	}
	sum, err := m.store(r).Incr(m.ctx, id, field, by)
	old := m.records[id]
	if old == nil {
		m.checkMissing(r, err)
		return
	}
	now := map[string]int64{"hits": int64(old.Hits), "plain": int64(old.Plain)}[field]
	if field == "total" && old.Total != nil {
		now = *old.Total
	}
	next := now + by
	var bound *model.BoundError
	switch {
	case field == "hits" && (next < -3 || next > 9):
		if !errors.As(err, &bound) || !errors.Is(err, model.ErrBound) || bound.Value != now || sum != now {
			r.Fatalf("Incr of %d by %d: %v", now, by, err)
		}
		return
	case by > 0 && next < now || by < 0 && next > now:
		if !errors.Is(err, model.ErrValue) {
			r.Fatalf("Incr of %d by %d: %v", now, by, err)
		}
		return
	case err != nil || sum != next:
		r.Fatalf("Incr of %d by %d = %d, %v", now, by, sum, err)
	}
	x := *old
	switch field {
	case "hits":
		x.Hits = int(sum)
	case "plain":
		x.Plain = int(sum)
	default:
		x.Total = &sum
	}
	m.records[id] = &x
}

func (m *machine) touch(r *rapid.T) {
	id, from := m.id(r), time.Now()
	s := m.store(r)
	err := s.Touch(m.ctx, id, 100*time.Hour)
	if m.records[id] == nil {
		m.checkMissing(r, err)
		return
	}
	got, err2 := s.Get(m.ctx, id)
	if err != nil || err2 != nil {
		r.Fatal(err, err2)
	}
	checkTime(r, "expires", got.Expires.Add(-100*time.Hour), from)
	given := *m.records[id]
	given.Expires = got.Expires
	if computes { // Touch is a Patch
		m.checkChange(r, id, given, got, from, nil)
	} else if m.records[id] = &given; toJSON(got) != toJSON(given) {
		r.Fatalf("after Touch\n%s, want\n%s", toJSON(got), toJSON(given))
	}
}

func (m *machine) remove(r *rapid.T) {
	id := m.id(r)
	err := m.store(r).Delete(m.ctx, id)
	delete(m.unswept, id)
	if m.records[id] == nil {
		m.checkMissing(r, err)
	} else if err != nil {
		r.Fatal(err)
	}
	m.forget(id)
}

// read reads records one by one, together, and by a unique value.
func (m *machine) read(r *rapid.T) {
	s, id := m.store(r), m.id(r)
	got, err := s.Get(m.ctx, id)
	has, err2 := s.Has(m.ctx, id)
	x := m.records[id]
	if err2 != nil || has != (x != nil) {
		r.Fatalf("Has(%s) = %v, %v; want %v", id, has, err2, x != nil)
	}
	if x == nil {
		m.checkMissing(r, err)
	} else if err != nil || toJSON(got) != toJSON(*x) {
		r.Fatalf("read\n%s, want\n%s, %v", toJSON(got), toJSON(*x), err)
	}
	mail := some(r, "mail", "m1", "m2", "m3", "m4")
	got, err = s.GetBy(m.ctx, "mail", mail)
	owner := m.owner(&thing{Mail: &mail, Row: -1})
	if owner == "" {
		m.checkMissing(r, err)
	} else if err != nil || got.ID != owner {
		r.Fatalf("GetBy(mail, %s) = record %s, %v; want %s", mail, got.ID, err, owner)
	}
	ids := slices.Sorted(maps.Keys(m.records))
	all, err := s.GetMany(m.ctx, append([]string{"none"}, ids...)...)
	if err != nil || len(all) != len(ids) {
		r.Fatalf("GetMany of %q: %d records, %v", ids, len(all), err)
	}
	for i, id := range ids {
		if toJSON(all[i]) != toJSON(*m.records[id]) {
			r.Fatalf("read\n%s, want\n%s", toJSON(all[i]), toJSON(*m.records[id]))
		}
	}
}

// members draws ids of records and other ids.
func (m *machine) members(r *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.records)), "x", "", "y")), 0, 6).Draw(r, "members")
}

// repeat applies an operation to a record several times.
func (m *machine) repeat(do func(r *rapid.T, id string)) func(*rapid.T) {
	return func(r *rapid.T) {
		id := m.id(r)
		for range rapid.IntRange(1, 6).Draw(r, "times") {
			do(r, id)
		}
	}
}

// set changes the set of a record.
func (m *machine) set(r *rapid.T, id string) {
	values := m.maybeMany(r, m.members(r))
	set, want := m.store(r).Set("friends", id), map[string]bool{}
	maps.Copy(want, m.sets[id])
	var n, expected int
	var err error
	switch op := some(r, "op", "put", "remove", "replace", "clear"); op {
	case "put":
		n, err = set.Put(m.ctx, values...)
		before := len(want)
		for _, v := range values {
			want[v] = true
		}
		expected = len(want) - before
	case "remove":
		n, err = set.Remove(m.ctx, values...)
		before := len(want)
		for _, v := range values {
			delete(want, v)
		}
		expected = before - len(want)
	case "clear":
		err, values = set.Clear(m.ctx), nil
		clear(want)
	default:
		err = set.Replace(m.ctx, values...)
		clear(want)
		for _, v := range values {
			want[v] = true
		}
	}
	if m.records[id] == nil {
		m.checkMissingUnlessEmpty(r, err, len(values))
		return
	}
	got, err2 := slicesOf(set.All(m.ctx))
	length, err3 := set.Len(m.ctx)
	has, err4 := set.Has(m.ctx, "x")
	sorted := slices.Sorted(maps.Keys(want))
	slices.Sort(got)
	if err := errors.Join(err, err2, err3, err4); err != nil || n != expected || int(length) != len(want) || has != want["x"] || !slices.Equal(got, sorted) {
		r.Fatalf("returned %d, want %d; members %.200q, want %.200q; %v", n, expected, got, sorted, err)
	}
	m.sets[id] = want
}

// checkMissingUnlessEmpty expects ErrNotFound, unless the call has no values and so does not
// check the record.
func (m *machine) checkMissingUnlessEmpty(r *rapid.T, err error, values int) {
	if err != nil || values > 0 {
		m.checkMissing(r, err)
	}
}

// maybeMany sometimes appends more values than one command takes.
func (m *machine) maybeMany(r *rapid.T, values []string) []string {
	if rapid.IntRange(0, 5).Draw(r, "many") == 0 {
		for i := range 2100 {
			values = append(values, strconv.Itoa(i))
		}
	}
	return values
}

// list changes the list of a record.
func (m *machine) list(r *rapid.T, id string) {
	values := m.members(r)
	list, want := m.store(r).List("history", id), slices.Clone(m.lists[id])
	maxLen := some(r, "max", 0, 1, 3, 10)
	if maxLen > 0 {
		list = list.Max(maxLen)
	}
	n, expected := int64(0), int64(0)
	var err error
	op := some(r, "op", "back", "front", "pop front", "pop back", "remove", "replace", "clear")
	switch op {
	case "back":
		n, err = list.PushBack(m.ctx, values...)
		want = append(want, values...)
		if maxLen > 0 && len(values) > 0 {
			want = want[max(0, len(want)-maxLen):]
		}
		expected = int64(len(want))
	case "front":
		n, err = list.PushFront(m.ctx, values...)
		for _, v := range values {
			want = slices.Insert(want, 0, v)
		}
		if maxLen > 0 && len(values) > 0 {
			want = want[:min(maxLen, len(want))]
		}
		expected = int64(len(want))
	case "pop front", "pop back":
		pop, at := list.PopFront, 0
		if op == "pop back" {
			pop, at = list.PopBack, max(0, len(want)-1)
		}
		v, ok, err2 := pop(m.ctx)
		if err = err2; m.records[id] != nil && (ok != (len(want) > 0) || ok && v != want[at]) {
			r.Fatalf("%s of %q: %q, %v", op, want, v, ok)
		}
		if len(want) > 0 {
			want = slices.Delete(want, at, at+1)
		}
	case "remove":
		v := some(r, "value", append(values, "x")...)
		removed, err2 := list.Remove(m.ctx, v)
		n, err = int64(removed), err2
		left := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return s == v })
		expected, want = int64(len(want)-len(left)), left
	case "clear":
		err, values, want = list.Clear(m.ctx), nil, nil
	default:
		values = m.maybeMany(r, values)
		err = m.stores[0].List("history", id).Replace(m.ctx, values...)
		want = values
	}
	if m.records[id] == nil {
		m.checkMissingUnlessEmpty(r, err, len(values))
		return
	}
	got, err2 := slicesOf(list.All(m.ctx))
	head, err3 := list.Range(m.ctx, 0, 4)
	length, err4 := list.Len(m.ctx)
	has, err5 := list.Has(m.ctx, "x")
	if err := errors.Join(err, err2, err3, err4, err5); err != nil || n != expected || !slices.Equal(got, want) ||
		!slices.Equal(head, want[:min(5, len(want))]) || int(length) != len(want) || has != slices.Contains(want, "x") {
		r.Fatalf("%s: returned %d, want %d; values %.200q, want %.200q; %v", op, n, expected, got, want, err)
	}
	m.lists[id] = want
}

// slicesOf returns the values of a sequence.
func slicesOf(all func(yield func(string, error) bool)) ([]string, error) {
	var got []string
	for v, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, v)
	}
	return got, nil
}

// queryModel returns the records for queries.
func (m *machine) queryModel(r *rapid.T) *queryModel {
	f := &queryModel{things: m.store(r), created: m.byCreation, answered: &m.answered}
	for _, id := range slices.Sorted(maps.Keys(m.records)) {
		f.records = append(f.records, *m.records[id])
	}
	return f
}

// byCreation compares records by counter or, without a counter, by the calls that created the
// records, regardless of later writes.
func (m *machine) byCreation(a, b *thing) int {
	if m.ids == model.Counter {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
	}
	if m.unswept[a.ID] || m.unswept[b.ID] {
		return 0
	}
	return cmp.Compare(m.born[a.ID], m.born[b.ID])
}

func (m *machine) find(r *rapid.T) { m.queryModel(r).checkQuery(m.ctx, r) }

func (m *machine) findOne(r *rapid.T) { m.queryModel(r).checkSingle(m.ctx, r) }

// findAmong queries within sets and lists that are smaller or larger than the results of the
// conditions.
func (m *machine) findAmong(r *rapid.T) {
	f := m.queryModel(r)
	for range rapid.IntRange(1, 2).Draw(r, "collections") {
		ids := m.members(r)
		if rapid.Bool().Draw(r, "all") {
			ids = append(ids, slices.Sorted(maps.Keys(m.records))...)
		}
		for i := range some(r, "more", 0, 0, 0, 3, 100, 600) {
			ids = append(ids, fmt.Sprint("more", i))
		}
		f.records = slices.DeleteFunc(f.records, func(x thing) bool { return !slices.Contains(ids, x.ID) })
		owner, err := m.owners.Create(m.ctx, traveller{})
		if err != nil {
			r.Fatal(err)
		}
		if rapid.Bool().Draw(r, "list") {
			err, f.among = m.owners.List("seen", owner.ID).Replace(m.ctx, ids...), append(f.among, m.owners.List("seen", owner.ID))
		} else {
			err, f.among = m.owners.Set("friends", owner.ID).Replace(m.ctx, ids...), append(f.among, m.owners.Set("friends", owner.ID))
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	if f.checkQuery(m.ctx, r); rapid.Bool().Draw(r, "one") {
		f.checkSingle(m.ctx, r)
	}
}

// end checks all records and indexes, deletes everything and checks for leftovers.
func (m *machine) end(r *rapid.T) {
	s := m.stores[0]
	all, err := s.Find().Slice(m.ctx)
	if err != nil || len(all) != len(m.records) {
		r.Fatalf("%d records, want %d, %v", len(all), len(m.records), err)
	}
	for _, x := range all {
		if want := m.records[x.ID]; want == nil || toJSON(x) != toJSON(*want) {
			r.Fatalf("%s, want %v", toJSON(x), want)
		}
	}
	if report, err := s.Verify(m.ctx, maintain.Options{Examples: 5}); err != nil || report.Problems() != 0 {
		r.Fatalf("%+v, %v", report, err)
	}
	n, err := s.Find().DeleteAll(m.ctx, nil)
	_, err2 := s.Sweep(m.ctx)
	if err != nil || err2 != nil || int(n) != len(all) {
		r.Fatalf("DeleteAll = %d, %v; Sweep: %v; want %d", n, err, err2, len(all))
	}
	keys, err := m.client.Do(m.ctx, m.client.B().Keys().Pattern("*"+m.name+"[.:}_]*").Build()).AsStrSlice()
	keys = slices.DeleteFunc(keys, func(k string) bool {
		return strings.HasSuffix(k, ".meta") || strings.HasSuffix(k, ".voids") || strings.HasPrefix(k, "next_") || strings.HasSuffix(k, "next_id")
	})
	if err != nil || len(keys) > 0 {
		r.Fatalf("keys %q are left, %v", keys, err)
	}
	if _, err := s.Drop(m.ctx, maintain.Options{}); err != nil {
		r.Fatal(err)
	}
}
