package model_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"retwis/internal/redistest"
	"retwis/maintain"
	"retwis/model"
)

// issue is a ticket as it was first declared.
type issue struct {
	ID    string `redis:",id"`
	Title string `redis:"title,index"`
}

// ticket is an issue that has got more fields since, with an index of each kind.
type ticket struct {
	ID     string        `redis:",id"`
	Title  string        `redis:"title,index"`
	Age    int           `redis:"age,range"`
	Open   bool          `redis:"open,index"`
	Weight float64       `redis:"weight,range"`
	Took   time.Duration `redis:"took,range"`
	Label  string        `redis:"label,range,caseinsensitive"`
	Code   string        `redis:"code,unique"`
	Rank   *int          `redis:"rank,range"`
	Tags   []string      `redis:"tags,index"`
	Due    time.Time     `redis:"due,range"`
}

func (ticket) Indexes() []model.Index[ticket] {
	return []model.Index[ticket]{model.Composite[ticket]("open", "age desc"), model.Composite[ticket]("age", "label").CaseInsensitive()}
}

// A record written before a field was declared is found by the zero value that Get
// reads, once the index is built.
func TestAbsentFieldsAreIndexedAsZero(t *testing.T) {
	t.Parallel()
	for _, opt := range []model.Options{
		{Name: "ticket"}, {Name: "ticket", Partitions: 3},
	} {
		t.Run(fmt.Sprint(opt.Partitions), func(t *testing.T) {
			t.Parallel()
			client := redistest.DB(t).Client(t)
			issues := store[issue](t, client, opt)
			for i := range 3 {
				if _, err := issues.Create(t.Context(), issue{Title: fmt.Sprint("n", i)}); err != nil {
					t.Fatal(err)
				}
			}
			tickets := store[ticket](t, client, opt)
			r, err := tickets.Migrate(t.Context(), maintain.Options{})
			if err != nil || r.Invalid != 2 { // one of three has the empty code
				t.Fatalf("%+v, %v", r, err)
			}
			if _, err := tickets.Create(t.Context(), ticket{Title: "new", Age: 3, Open: true, Label: "l", Code: "c"}); err != nil {
				t.Fatal(err)
			}
			checkAbsent(t, tickets)
			// A program without the type agrees.
			m, err := model.Open(t.Context(), client, "ticket")
			if err != nil {
				t.Fatal(err)
			}
			if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 2 || r.Invalid != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
		})
	}
}

func checkAbsent(t *testing.T, tickets *model.Store[ticket]) {
	t.Helper()
	for _, c := range []struct {
		cond model.Cond
		want int64
	}{
		{model.Eq("age", 0), 3},
		{model.AtMost("age", 0), 3},
		{model.Not(model.Eq("age", 3)), 3},
		{model.Eq("open", false), 3},
		{model.Eq("weight", 0), 4},
		{model.Eq("took", time.Duration(0)), 4},
		{model.Eq("label", ""), 3},
		{model.Prefix("label", ""), 4},
		{model.And(model.Eq("open", false), model.Between("age", -1, 1)), 3},
		{model.Eq("code", ""), 1},
		{model.Eq("rank", 0), 0},
		{model.Eq("tags", ""), 0},
		{model.AtLeast("due", time.Unix(0, 0)), 0},
	} {
		n, err := tickets.Find(c.cond).Count(t.Context())
		all, err2 := tickets.Find(c.cond).Slice(t.Context())
		if err := errors.Join(err, err2); err != nil || n != c.want || len(all) != int(c.want) {
			t.Errorf("%v: counted %d, found %d, want %d, %v", c.cond, n, len(all), c.want, err)
		}
	}
	for _, order := range []string{"age", "open", "label"} {
		all, err := tickets.Find().OrderBy(order).Slice(t.Context())
		if order == "open" { // which has only an index for equality
			all, err = tickets.Find().OrderBy("open", "age desc").Slice(t.Context())
		}
		if err != nil || len(all) != 4 || all[3].Title != "new" {
			t.Errorf("by %s: %v, %v", order, all, err)
		}
	}
}

// A record that another program writes without a field is indexed as Get reads it.
func TestAbsentFieldsOfOtherWriters(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "ticket"}
	tickets := store[ticket](t, client, opt)
	if _, err := tickets.Create(t.Context(), ticket{Age: 4, Open: true}); err != nil {
		t.Fatal(err)
	}
	d := damaging{t, client, opt}
	d.do("HDEL", "ticket:1", "age", "open")
	if r, err := tickets.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	all, err := tickets.Find(model.Eq("age", 0), model.Eq("open", false)).Slice(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}

// meeting has indexes on several fields only, some of which can be absent.
type meeting struct {
	ID   string   `redis:",id"`
	Room string   `redis:"room"`
	Day  int      `redis:"day"`
	Due  *int     `redis:"due"`
	Tags []string `redis:"tags"`
}

func (meeting) Indexes() []model.Index[meeting] {
	return []model.Index[meeting]{
		model.Composite[meeting]("room", "due"),
		model.Composite[meeting]("day", "tags"),
		model.Composite[meeting]("due", "day"),
		model.Composite[meeting]("room", "day", "due"),
	}
}

// An index that does not hold all records does not change what a condition means.
func TestCompositeWithAnAbsentColumn(t *testing.T) {
	t.Parallel()
	meetings := store[meeting](t, redistest.DB(t).Client(t), model.Options{Name: "meeting"})
	for _, m := range []meeting{{Room: "a"}, {Room: "a", Due: ptr(7)}, {Room: "b", Due: ptr(8)}} {
		if _, err := meetings.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, cond := range []model.Cond{model.Eq("room", "a"), model.Not(model.Eq("room", "a")), model.In("room", "a"), model.Prefix("room", "a")} {
		q := meetings.Find(cond)
		_, all := q.Slice(t.Context())
		_, count := q.Count(t.Context())
		_, explain := q.Explain(t.Context())
		for _, err := range []error{all, count, explain} {
			if !errors.Is(err, model.ErrNoIndex) || !strings.Contains(err.Error(), "records without due are not in index room") {
				t.Errorf("%v: %v", cond, err)
			}
		}
	}
	for what, q := range map[string]*model.Query[meeting]{
		"with a condition": meetings.Find(model.Eq("room", "a"), model.AtLeast("due", 0)),
		"in an order":      meetings.Find(model.Eq("room", "a")).OrderBy("due"),
	} {
		if all, err := q.Slice(t.Context()); err != nil || len(all) != 1 || *all[0].Due != 7 {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
}

// meetingTest is a condition on a meeting and what it means.
type meetingTest struct {
	cond model.Cond
	fits func(*meeting) bool
}

func drawMeetingTest(t *rapid.T, depth int) meetingTest {
	op := "leaf"
	if depth > 0 {
		op = some(t, "op", "leaf", "and", "and", "or", "not")
	}
	n := rapid.IntRange(0, 2).Draw(t, "n")
	switch op {
	case "not":
		kid := drawMeetingTest(t, depth-1)
		return meetingTest{model.Not(kid.cond), func(m *meeting) bool { return !kid.fits(m) }}
	case "and", "or":
		kids := []meetingTest{drawMeetingTest(t, depth-1), drawMeetingTest(t, depth-1)}
		if op == "and" {
			return meetingTest{model.And(kids[0].cond, kids[1].cond), func(m *meeting) bool { return kids[0].fits(m) && kids[1].fits(m) }}
		}
		return meetingTest{model.Or(kids[0].cond, kids[1].cond), func(m *meeting) bool { return kids[0].fits(m) || kids[1].fits(m) }}
	}
	room := string(rune('a' + n))
	switch some(t, "field", "room", "rooms", "day", "days", "due", "dues", "tags") {
	case "room":
		return meetingTest{model.Eq("room", room), func(m *meeting) bool { return m.Room == room }}
	case "rooms":
		return meetingTest{model.Above("room", room), func(m *meeting) bool { return m.Room > room }}
	case "day":
		return meetingTest{model.Eq("day", n), func(m *meeting) bool { return m.Day == n }}
	case "days":
		return meetingTest{model.AtMost("day", n), func(m *meeting) bool { return m.Day <= n }}
	case "due":
		return meetingTest{model.In("due", n, n+1), func(m *meeting) bool { return m.Due != nil && (*m.Due == n || *m.Due == n+1) }}
	case "dues":
		return meetingTest{model.Below("due", n), func(m *meeting) bool { return m.Due != nil && *m.Due < n }}
	}
	return meetingTest{model.Eq("tags", room), func(m *meeting) bool { return slices.Contains(m.Tags, room) }}
}

// Any query on indexes that do not hold all records is answered rightly, or
// refused.
func TestCompositesAgainstAMap(t *testing.T) {
	t.Parallel()
	meetings := store[meeting](t, redistest.DB(t).Client(t), model.Options{Name: "meeting"})
	random := rand.New(rand.NewPCG(1, 1))
	var records []meeting
	for range 60 {
		m := meeting{Room: string(rune('a' + random.IntN(3))), Day: random.IntN(3)}
		if random.IntN(2) == 0 {
			m.Due = ptr(random.IntN(4))
		}
		m.Tags = [][]string{nil, {}, {"a"}, {"a", "b"}}[random.IntN(4)]
		m, err := meetings.Create(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, m)
	}
	answered := 0
	rapid.Check(t, func(rt *rapid.T) {
		what := drawMeetingTest(rt, 3)
		order := some(rt, "order", nil, []string{"room", "due"}, []string{"due"}, []string{"day"})
		var want []string
		fitting := 0
		for i := range records {
			if m := &records[i]; what.fits(m) {
				fitting++
				if !slices.Contains(order, "due") || m.Due != nil {
					want = append(want, m.ID)
				}
			}
		}
		all, err := meetings.Find(what.cond).OrderBy(order...).Slice(t.Context())
		if err == nil {
			answered++
			var got []string
			for _, m := range all {
				got = append(got, m.ID)
			}
			byNumber := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
			if slices.SortFunc(got, byNumber); !slices.Equal(got, want) {
				rt.Fatalf("found %q, want %q", got, want)
			}
		} else if !errors.Is(err, model.ErrNoIndex) {
			rt.Fatal(err)
		}
		if n, err := meetings.Find(what.cond).Count(t.Context()); err != nil && !errors.Is(err, model.ErrNoIndex) || err == nil && int(n) != fitting {
			rt.Fatalf("counted %d, want %d, %v", n, fitting, err)
		}
	})
	if answered == 0 {
		t.Error("no query was answered")
	}
}
