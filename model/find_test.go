package model_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

type pupil struct {
	ID     string             `redis:",id"`
	Name   string             `redis:"name,index"`
	Class  int                `redis:"class,range"`
	Grade  float32            `redis:"grade,range"`
	Nick   *string            `redis:"nick,unique"`
	Tutor  model.Ref[pupil]   `redis:"tutor,index"`
	Pals   []model.Ref[pupil] `redis:"pals,index"`
	Marks  []int              `redis:"marks,range"`
	Waits  []time.Duration    `redis:"waits,range"`
	Born   time.Time          `redis:"born,range"`
	Raw    []byte             `redis:"raw,range"`
	Small  uint8              `redis:"small,range"`
	Notes  map[string]string
	Secret string
	Floor  int
	Door   int
	Clubs  model.Set
}

func (pupil) Indexes() []model.Index[pupil] {
	return []model.Index[pupil]{
		model.Composite[pupil]("floor", "door"),
		model.Computed("code", func(p pupil) string { return p.Name + p.ID }).Unique(),
	}
}

// pupils creates a model of n pupils: nth returns the pupil with id i.
func pupils(t *testing.T, client rueidis.Client, opt model.Options, n int, nth func(i int) pupil) *model.Store[pupil] {
	t.Helper()
	opt.IDs = model.ClientAssigned
	s := store[pupil](t, client, opt)
	all := make([]pupil, n)
	for i := range all {
		all[i] = nth(i)
		all[i].ID = strconv.Itoa(i)
	}
	_, err := s.CreateMany(t.Context(), all)
	checkErr(t, err)
	return s
}

func pupilIDs(all []pupil) []string {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

func TestFindErrors(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 1, func(int) pupil { return pupil{} })
	tooMany := make([]model.Cond, 257)
	for i := range tooMany {
		tooMany[i] = model.Eq("class", i)
	}
	for name, test := range map[string]struct {
		query *model.Query[pupil]
		want  error
		text  string
	}{
		"no field":                {s.Find(model.Eq("nothing", 1)), model.ErrValue, `no field is called "nothing"`},
		"the name in Go":          {s.Find(model.Eq("Name", "x")), model.ErrValue, `it is stored as "name"`},
		"the id":                  {s.Find(model.Eq("id", "x")), model.ErrValue, "Get and GetMany"},
		"a composite":             {s.Find(model.Eq("floor,door", 1)), model.ErrValue, "query its fields"},
		"a set":                   {s.Find(model.Eq("clubs", 1)), model.ErrValue, "stored outside the record"},
		"no index":                {s.Find(model.Eq("secret", "x")), model.ErrNoIndex, "declare it `redis:\"secret,index\"`"},
		"no range":                {s.Find(model.Above("name", "x")), model.ErrNoIndex, "declare it `redis:\"name,range\"`"},
		"no prefix":               {s.Find(model.Prefix("name", "x")), model.ErrNoIndex, "declare it `redis:\"name,range\"`"},
		"a range of unique":       {s.Find(model.AtMost("nick", "x")), model.ErrNoIndex, "declare it `redis:\"nick,range\"`"},
		"a range of a computed":   {s.Find(model.AtMost("code", "x")), model.ErrNoIndex, "declare a model.Computed without Unique"},
		"a map":                   {s.Find(model.Eq("notes", map[string]string{})), model.ErrNoIndex, "model.Computed"},
		"the second column":       {s.Find(model.Eq("door", 1)), model.ErrNoIndex, "or add an equality condition on floor"},
		"after a range":           {s.Find(model.AtLeast("floor", 1), model.Eq("door", 1)), model.ErrNoIndex, "or add an equality condition on floor"},
		"in another branch":       {s.Find(model.Or(model.Eq("floor", 1), model.Eq("door", 1))), model.ErrNoIndex, "equality condition on floor"},
		"text for a number":       {s.Find(model.Eq("class", "5")), model.ErrValue, "class: it is string, not int"},
		"a number for text":       {s.Find(model.Eq("name", 5)), model.ErrValue, "name: it is int, not string"},
		"a fraction":              {s.Find(model.Between("class", 1.5, 2)), model.ErrValue, "class: 1.5 does not fit into int"},
		"too large":               {s.Find(model.Eq("small", 256)), model.ErrValue, "small: 256 does not fit into uint8"},
		"below zero":              {s.Find(model.Eq("small", -1)), model.ErrValue, "small: -1 does not fit into uint8"},
		"not exact":               {s.Find(model.Eq("grade", 0.12345678901)), model.ErrValue, "grade: 0.12345678901 does not fit into float32"},
		"not a number":            {s.Find(model.Eq("grade", math.NaN())), model.ErrValue, "grade: NaN"},
		"nil":                     {s.Find(model.Eq("nick", nil)), model.ErrValue, "use Not"},
		"a nil pointer":           {s.Find(model.Eq("nick", (*string)(nil))), model.ErrValue, "use Not"},
		"an empty Ref":            {s.Find(model.Eq("tutor", "")), model.ErrValue, "use Not"},
		"no time":                 {s.Find(model.Eq("born", time.Time{})), model.ErrValue, "use Not"},
		"text that is not a time": {s.Find(model.Eq("born", "yesterday")), model.ErrValue, "born: "},
		"a struct":                {s.Find(model.Eq("class", struct{}{})), model.ErrValue, "class: it is struct {}, not int"},
		"a list for an element":   {s.Find(model.Eq("marks", []int{1})), model.ErrValue, "marks: it is []int, not int"},
		"a prefix of a number":    {s.Find(model.Prefix("class", "1")), model.ErrValue, "class: Prefix needs text"},
		"an empty condition":      {s.Find(model.Cond{}), model.ErrValue, "empty"},
		"nested":                  {s.Find(model.Not(model.And(model.Or(model.Eq("nothing", 1))))), model.ErrValue, `"nothing"`},
		"too many conditions":     {s.Find(tooMany...), model.ErrValue, "256 conditions"},
		"too many values":         {s.Find(model.In("class", manyInts(1001)...)), model.ErrValue, "In has 1001 values"},
		"a negative limit":        {s.Find().Limit(-1), model.ErrValue, "Limit(-1)"},
		"no order":                {s.Find().OrderBy("secret"), model.ErrNoIndex, "declare it `redis:\"secret,range\"`"},
		"the order of digests":    {s.Find().OrderBy("name"), model.ErrNoIndex, "declare it `redis:\"name,range\"`"},
		"the order of a hash":     {s.Find().OrderBy("code"), model.ErrNoIndex, "declare a model.Computed without Unique"},
		"the order of a list":     {s.Find().OrderBy("marks"), model.ErrValue, "cannot be ordered by a list"},
		"no composite":            {s.Find().OrderBy("class", "grade desc"), model.ErrNoIndex, `declare model.Composite[T]("class", "grade desc")`},
		"half reversed":           {s.Find().OrderBy("floor", "door desc"), model.ErrNoIndex, `declare model.Composite[T]("floor", "door desc")`},
		"a second column alone":   {s.Find().OrderBy("door"), model.ErrNoIndex, "`redis:\"door,range\"`"},
		"no such direction":       {s.Find().OrderBy("class down"), model.ErrValue, `"down" is not an order`},
		"twice":                   {s.Find().OrderBy("class", "class"), model.ErrValue, "names class twice"},
		"an order of nothing":     {s.Find().OrderBy("nothing"), model.ErrValue, `no field is called "nothing"`},
		"Refs of no Ref":          {s.Refs("name", "1"), model.ErrValue, "it is not a model.Ref"},
		"Refs of no field":        {s.Refs("nothing", "1"), model.ErrValue, `"nothing"`},
		"a malformed cursor":      {s.Find().After("!"), model.ErrCursor, "illegal base64"},
		"a short cursor":          {s.Find().After("AAAA"), model.ErrCursor, "belongs to another query"},
		"a long cursor":           {s.Find().After(strings.Repeat("A", 20000)), model.ErrCursor, "20000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			_, sliceErr := test.query.Slice(ctx)
			_, pageErr := test.query.Page(ctx)
			_, firstErr := test.query.First(ctx)
			_, idsErr := test.query.IDs(ctx)
			_, explainErr := test.query.Explain(ctx)
			for i, err := range []error{sliceErr, pageErr, firstErr, idsErr, explainErr} {
				if i == 2 && name == "a negative limit" { // First sets its own limit
					continue
				}
				if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) || !strings.HasPrefix(err.Error(), "model: pupil: ") {
					t.Errorf("method %d: %v; want %v and %q", i, err, test.want, test.text)
				}
			}
		})
	}
}

// Conditions accept values of any equivalent type.
func TestFindValues(t *testing.T) {
	t.Parallel()
	type text string
	born := time.Date(2016, 2, 29, 8, 0, 0, 5, time.FixedZone("", 3600))
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 1, func(int) pupil {
		return pupil{
			Name: "Ada", Class: 5, Grade: 1.5, Nick: ptr("a"), Tutor: model.To[pupil]("7"), Pals: []model.Ref[pupil]{model.To[pupil]("8")},
			Marks: []int{3}, Waits: []time.Duration{time.Second}, Born: born, Raw: []byte("raw"), Small: 200,
		}
	})
	five, name := 5, text("Ada")
	for i, c := range []model.Cond{
		model.Eq("name", "Ada"), model.Eq("name", name), model.Eq("name", &name), model.In("name", "x", "Ada"),
		model.Eq("class", 5), model.Eq("class", uint8(5)), model.Eq("class", 5.0), model.Eq("class", &five), model.Eq("class", int64(5)), model.Eq("class", time.Duration(5)),
		model.Eq("grade", 1.5), model.Eq("grade", float32(1.5)), model.Above("grade", 1), model.Below("grade", uint64(2)),
		model.Eq("nick", "a"), model.Eq("nick", ptr("a")),
		model.Eq("tutor", "7"), model.Eq("tutor", model.To[pupil]("7")), model.Eq("pals", "8"), model.Eq("pals", model.To[pupil]("8")),
		model.Eq("marks", uint(3)), model.AtMost("waits", time.Second), model.AtLeast("waits", int64(time.Second)),
		model.Eq("born", born), model.Eq("born", born.UTC()), model.Eq("born", &born), model.Eq("born", "2016-02-29T08:00:00.000000005+01:00"),
		model.Eq("raw", []byte("raw")), model.Eq("raw", "raw"), model.Prefix("raw", "r"), model.Eq("small", 200), model.Eq("code", "Ada0"),
		model.Prefix("raw", strings.Repeat("r", 0)), model.Below("raw", strings.Repeat("x", 100_000)), model.AtMost("raw", strings.Repeat("s", 1<<20)),
		model.Not(model.Eq("raw", strings.Repeat("r", 1<<20))), model.Not(model.Prefix("raw", strings.Repeat("r", 1<<20))),
	} {
		if ids, err := s.Find(c).IDs(t.Context()); err != nil || len(ids) != 1 {
			t.Errorf("condition %d: ids %q, %v; want 1", i, ids, err)
		}
		if all, err := s.Find(c).Slice(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("condition %d: %d records, %v; want 1", i, len(all), err)
		}
	}
}

// A query with other conditions, another order or another model refuses a cursor.
func TestCursorsOfOthers(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	nth := func(i int) pupil { return pupil{Class: i, Grade: 1} }
	s := pupils(t, client, model.Options{Name: "pupil"}, 10, nth)
	other := pupils(t, client, model.Options{Name: "other"}, 10, nth)
	queries := []*model.Query[pupil]{
		s.Find(), s.Find().Reverse(), other.Find(), s.Find(model.Above("class", 1)), s.Find(model.Above("class", 2)), s.Find(model.AtLeast("class", 1)),
		s.Find(model.Above("class", 1)).OrderBy("class"), s.Find(model.Above("class", 1)).OrderBy("class").Reverse(), s.Find(model.Above("class", 1)).OrderBy("grade"),
		s.Find(model.Not(model.Eq("class", 1))), s.Find(model.In("class", 1, 2, 3)), s.Find(model.Or(model.Eq("class", 1), model.Eq("class", 2), model.Eq("class", 3))),
	}
	for i, q := range queries {
		page, err := q.Limit(2).Page(t.Context())
		if err != nil || page.Next == "" {
			t.Fatalf("query %d: next cursor %q, %v", i, page.Next, err)
		}
		for j, other := range queries {
			_, err := other.Limit(3).After(page.Next).Page(t.Context())
			if i == j && err != nil || i != j && !errors.Is(err, model.ErrCursor) {
				t.Errorf("cursor of query %d in query %d: %v", i, j, err)
			}
		}
	}
}

// A program may list the conditions of a query in a different order for each page, for example
// from a map.
func TestCursorWithConditionsInAnyOrder(t *testing.T) {
	t.Parallel()
	client := redistest.DB(t).Client(t)
	s := pupils(t, client, model.Options{Name: "pupil"}, 30, func(i int) pupil { return pupil{Class: i % 2, Grade: float32(1 + i%3)} })
	class, grade := model.AtLeast("class", 1), model.Or(model.Eq("grade", 2), model.Eq("grade", 1))
	other := model.Or(model.Eq("grade", 1), model.Eq("grade", 2))
	page, err := s.Find(class, grade).Limit(4).Page(t.Context())
	require.OK(t)(err)
	all, err := s.Find(class, grade).IDs(t.Context())
	require.OK(t)(err)
	rest, err := s.Find(other, class).After(page.Next).IDs(t.Context())
	if err != nil || len(page.Items) != 4 || !slices.Equal(rest, all[4:]) {
		t.Errorf("first page %v, then %q, %v; want the rest of %q", page.Items, rest, err, all)
	}
}

// canceled returns a canceled context.
func canceled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func TestFindEnds(t *testing.T) {
	t.Parallel()
	s := pupils(t, redistest.DB(t).Client(t), model.Options{Name: "pupil"}, 3, func(int) pupil { return pupil{Class: 1} })
	ctx := canceled(t.Context())
	q := s.Find(model.Eq("class", 1), model.AtLeast("grade", 0))
	_, sliceErr := q.Slice(ctx)
	_, idsErr := q.IDs(ctx)
	_, countErr := q.Count(ctx)
	_, firstErr := q.First(ctx)
	for i, err := range []error{sliceErr, idsErr, countErr, firstErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("method %d: %v; want Canceled", i, err)
		}
	}
	n := 0
	for _, err := range q.All(t.Context()) {
		require.OK(t)(err)
		if n++; n == 2 {
			break
		}
	}
}
