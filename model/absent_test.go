package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/maintain"
	"retwis/model"
)

// issue is the first declaration of a ticket.
type issue struct {
	ID    string `redis:",id"`
	Title string `redis:"title,index"`
}

// ticket is an issue with more fields, and an index of each kind.
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

// Once the index is built, a record written before a field was declared is found by the zero
// value that Get returns.
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
				mustCreate(t, issues, issue{Title: fmt.Sprint("n", i)})
			}
			tickets := store[ticket](t, client, opt)
			r, err := tickets.Migrate(t.Context(), maintain.Options{})
			if err != nil || r.Invalid != 2 { // code is unique: only one of the three records gets the zero value
				t.Fatalf("Migrate: %+v, %v; want 2 invalid records", r, err)
			}
			mustCreate(t, tickets, ticket{Title: "new", Age: 3, Open: true, Label: "l", Code: "c"})
			checkAbsent(t, tickets)
			// A program without the Go type finds the same problems.
			m, err := model.Open(t.Context(), client, "ticket")
			require.OK(t)(err)
			if r, err := m.Verify(t.Context(), maintain.Options{}); err != nil || r.Problems() != 2 || r.Invalid != 2 {
				t.Fatalf("Verify: %+v, %v; want 2 invalid records", r, err)
			}
		})
	}
}

// checkAbsent queries the records by the zero values of fields that were declared later.
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
		if order == "open" { // which only has an equality index
			all, err = tickets.Find().OrderBy("open", "age desc").Slice(t.Context())
		}
		if err != nil || len(all) != 4 || all[3].Title != "new" {
			t.Errorf("by %s: %v, %v; want 4 records, the new one last", order, all, err)
		}
	}
}

// If another program removes a field of a record, Repair indexes the zero value of the field.
func TestAbsentFieldsOfOtherWriters(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	opt := model.Options{Name: "ticket"}
	tickets := store[ticket](t, client, opt)
	mustCreate(t, tickets, ticket{Age: 4, Open: true})
	d := damager{t, client, opt}
	d.do("HDEL", "ticket:1", "age", "open")
	if r, err := tickets.Repair(t.Context(), maintain.Options{}); err != nil || r.Repaired != 1 {
		t.Fatalf("Repair: %+v, %v; want 1 repaired record", r, err)
	}
	all, err := tickets.Find(model.Eq("age", 0), model.Eq("open", false)).Slice(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("found %v, %v; want 1 record", all, err)
	}
}

// meeting has only composite indexes. Due and Tags can be absent.
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

// An index that lacks some records does not answer a condition that these records may match.
func TestCompositeWithAnAbsentColumn(t *testing.T) {
	t.Parallel()
	meetings := store[meeting](t, redistest.DB(t).Client(t), model.Options{Name: "meeting"})
	for _, m := range []meeting{{Room: "a"}, {Room: "a", Due: ptr(7)}, {Room: "b", Due: ptr(8)}} {
		mustCreate(t, meetings, m)
	}
	for _, cond := range []model.Cond{model.Eq("room", "a"), model.Not(model.Eq("room", "a")), model.In("room", "a"), model.Prefix("room", "a")} {
		q := meetings.Find(cond)
		_, sliceErr := q.Slice(t.Context())
		_, countErr := q.Count(t.Context())
		_, explainErr := q.Explain(t.Context())
		for _, err := range []error{sliceErr, countErr, explainErr} {
			if !errors.Is(err, model.ErrNoIndex) || !strings.Contains(err.Error(), "records without due are not in index room") {
				t.Errorf("%v: %v; want ErrNoIndex", cond, err)
			}
		}
	}
	for what, q := range map[string]*model.Query[meeting]{
		"with a condition": meetings.Find(model.Eq("room", "a"), model.AtLeast("due", 0)),
		"in an order":      meetings.Find(model.Eq("room", "a")).OrderBy("due"),
	} {
		if all, err := q.Slice(t.Context()); err != nil || len(all) != 1 || *all[0].Due != 7 {
			t.Errorf("%s: %v, %v; want the meeting of room a with due 7", what, all, err)
		}
	}
}
