package model_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/redistest"
	"retwis/internal/require"
	"retwis/model"
)

func TestGetBy(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		ctx := t.Context()
		opt.Cache = time.Minute
		citizens := store[citizen](t, client, opt)
		phone := "123"
		c := mustCreate(t, citizens, citizen{Name: "n", Email: "Ada@x", Phone: &phone})
		for _, q := range [][2]any{{"email", "ada@X"}, {"email", "ADA@x"}, {"phone", "123"}, {"phone", &phone}} {
			if got, err := citizens.GetBy(ctx, q[0].(string), q[1]); err != nil || got.ID != c.ID || got.Name != "n" {
				t.Errorf("GetBy(%v): %+v, %v; want record %s", q, got, err, c.ID)
			}
		}
		for name, test := range map[string]struct {
			field string
			value any
			err   error
			text  string
		}{
			"no record":     {"email", "b@x", model.ErrNotFound, `email is "b@x"`},
			"not unique":    {"name", "n", model.ErrNoIndex, `declare it`},
			"no field":      {"nothing", "n", model.ErrValue, `"nothing"`},
			"a wrong value": {"email", 7, model.ErrValue, "email"},
			"nil":           {"phone", nil, model.ErrValue, "nil"},
			"the Go name":   {"Email", "x", model.ErrValue, `stored as "email"`},
		} {
			if _, err := citizens.GetBy(ctx, test.field, test.value); !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v; want %v and %q", name, err, test.err, test.text)
			}
		}
		// GetBy finds a record that takes over a value, but no expired and no deleted record.
		require.OK(t)(citizens.Patch(ctx, c.ID, map[string]any{"email": "c@x"}))
		require.Fails(t, model.ErrNotFound)(citizens.GetBy(ctx, "email", "ada@x"))
		other := mustCreate(t, citizens, citizen{Email: "ada@x"})
		if got, err := citizens.GetBy(ctx, "email", "ada@x"); err != nil || got.ID != other.ID {
			t.Errorf("GetBy: %+v, %v; want record %s", got, err, other.ID)
		}
		mustCreate(t, citizens, citizen{Email: "past@x", Expires: time.Now().Add(-time.Second)})
		require.Fails(t, model.ErrNotFound)(citizens.GetBy(ctx, "email", "past@x"))
		d := damager{t, client, opt}
		gone := mustCreate(t, citizens, citizen{Email: "gone@x"})
		d.do("DEL", d.keyIn(gone.ID, ""))
		require.Fails(t, model.ErrNotFound)(store[citizen](t, client, model.Options{Name: opt.Name, Partitions: opt.Partitions}).GetBy(ctx, "email", "gone@x"))
		d.set(other.ID, "age", "old")
		require.Fails(t, model.ErrCorrupt)(store[citizen](t, client, model.Options{Name: opt.Name, Partitions: opt.Partitions}).GetBy(ctx, "email", "ada@x"))
		for _, base := range d.bases() {
			d.do("HDEL", base+".meta", "built:email=email:string unique fold")
		}
		require.Fails(t, model.ErrSchema)(store[citizen](t, client, opt).GetBy(ctx, "email", "ada@x"))
	})
}

// And adds conditions to a query, and Check returns the errors of a query without asking the
// server.
func TestAndAndCheck(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redistest.DB(t).Client(t)
	s := pupils(t, client, model.Options{Name: "pupil"}, 20, func(i int) pupil {
		return pupil{Name: fmt.Sprint("n", i%2), Class: i % 5, Tutor: model.To[pupil](fmt.Sprint(i % 3))}
	})
	saved := s.Refs("tutor", "1")
	named, high := saved.And(model.Eq("name", "n1")), saved.And(model.AtLeast("class", 3))
	var oldest []string
	for i, q := range []*model.Query[pupil]{saved, high, named.And(model.Eq("class", 2)), named, named.Newest()} {
		want := []string{"1 4 7 10 13 16 19", "4 13 19", "7", "1 7 13 19", "1 7 13 19"}[i]
		ids, err := q.IDs(ctx)
		switch i {
		case 3:
			oldest = slices.Clone(ids)
		case 4:
			slices.Reverse(oldest)
			if !slices.Equal(ids, oldest) {
				t.Errorf("newest first %q, want %q", ids, oldest)
			}
		}
		slices.SortFunc(ids, func(a, b string) int { return strings.Compare(fmt.Sprintf("%2s", a), fmt.Sprintf("%2s", b)) })
		if got := strings.Join(ids, " "); got != want || err != nil || q.Check() != nil {
			t.Errorf("query %d: %s, want %s, %v, %v", i, got, want, err, q.Check())
		}
	}
	for want, q := range map[string]*model.Query[pupil]{
		`"nothing"`: s.Find(model.Eq("nothing", 1)), "not int": s.Find(model.Eq("name", "x"), model.Eq("class", "x")),
		"not a model.Ref": s.Refs("name", "1"), "the order of name": s.Find().OrderBy("name"), "negative": s.Find().Limit(-1),
		"After and Before": s.Find().After("x").Before("y"), "illegal base64": s.Find().Before("!"),
	} {
		if err := q.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v; want %q", err, want)
		}
	}
	page, err := s.Find().Limit(5).After("").Page(ctx)
	require.OK(t)(err)
	before := s.Find().Before(page.Next) // only allowed with Page
	_, sliceErr := before.Slice(ctx)
	_, idsErr := before.IDs(ctx)
	_, firstErr := before.First(ctx)
	_, zeroErr := s.Find().CountUpTo(ctx, 0)
	_, rangeErr := s.Find().CountBy(ctx, "class", 3)
	_, negativeErr := s.Find().CountBy(ctx, "name", -1)
	_, unknownErr := s.Find().CountBy(ctx, "nothing", 3)
	_, computedErr := s.Find().CountBy(ctx, "code", 3) // a computed index has no tag
	for i, err := range []error{sliceErr, idsErr, firstErr, zeroErr, negativeErr, unknownErr} {
		if !errors.Is(err, model.ErrValue) {
			t.Errorf("call %d: %v; want ErrValue", i, err)
		}
	}
	require.Fails(t, model.ErrNoIndex, "class,index")(rangeErr)
	require.Fails(t, model.ErrNoIndex, "the field is computed")(computedErr)
}

// Intersections of sets too large for one step are counted and read page by page, in both
// directions.
func TestLargeSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redistest.Own(t).Client(t)
	n := redistest.Cases(6000, 60_000) // with 60,000, more than Count intersects in one step
	type member struct {
		ID    string   `redis:",id"`
		Even  bool     `redis:"even,index"`
		Third int      `redis:"third,index"`
		Tags  []string `redis:"tags,index"`
	}
	s := store[member](t, client, model.Options{Name: "member"})
	var batch []member
	ids := []string{""}
	for i := 1; i <= n; i++ {
		m := member{Even: i%2 == 0, Third: i % 3, Tags: []string{"all", fmt.Sprint("h", i%2)}}
		if i%(n/5) == 0 {
			m.Tags = append(m.Tags, "rare")
		}
		if batch = append(batch, m); len(batch) == 2000 {
			made, err := s.CreateMany(ctx, batch)
			require.OK(t)(err)
			for _, m := range made {
				ids = append(ids, m.ID)
			}
			batch = nil
		}
	}
	count := func(want int, conds ...model.Cond) {
		t.Helper()
		got, err := s.Count(ctx, conds...)
		few, err2 := s.Find(conds...).CountUpTo(ctx, 7)
		if int(got) != want || int(few) != min(want, 7) || err != nil || err2 != nil {
			t.Errorf("Count = %d, %v; CountUpTo(7) = %d, %v; want %d", got, err, few, err2, want)
		}
	}
	count(n/2, model.Eq("even", true))
	count(n/2, model.Eq("even", true), model.Eq("tags", "all"))
	count(n/2, model.Eq("tags", "all"), model.Eq("tags", "h1"), model.Eq("even", false))
	count(n/6, model.Eq("even", true), model.Eq("third", 0))
	count(0, model.Eq("even", true), model.Eq("tags", "h1"))
	count(5, model.Eq("even", true), model.Eq("tags", "rare"))
	count(n-n/3, model.In("third", 1, 2))
	count(n/3, model.In("third", 1, 2), model.Not(model.Eq("even", true)), model.Not(model.Eq("tags", "rare")))
	count(n/2+n/6, model.Or(model.Eq("even", true), model.Eq("third", 0)))
	facets, err := s.Find(model.Eq("even", true), model.Eq("tags", "all")).CountBy(ctx, "third", 2)
	if err != nil || !slices.Equal(facets, []model.ValueCount{{Value: "0", Count: int64(n / 6)}, {Value: "1", Count: int64(n / 6)}}) {
		t.Errorf("CountBy = %v, %v; want 0 and 1, %d times each", facets, err, n/6)
	}
	for _, q := range []*model.Query[member]{
		s.Find(model.Eq("even", true), model.Eq("third", 0)).Newest(),
		s.Find(model.Eq("tags", "h0"), model.Eq("third", 0), model.Not(model.Eq("even", false))).Newest(),
		s.Find(model.Or(model.Eq("even", true), model.Eq("tags", "h0")), model.In("third", 0, 7, 9)).Newest(),
	} {
		var cursor string
		size := n / 60
		nth := func(i int) string { return ids[n-6*i] } // id of the result with index i
		for page := range 3 {
			p, err := q.Limit(size).After(cursor).Page(ctx)
			if err != nil || len(p.Items) != size || p.Items[0].ID != nth(size*page) || p.Items[size-1].ID != nth(size*(page+1)-1) {
				t.Fatalf("page %d: %v, %v", page, p.Items[:min(3, len(p.Items))], err)
			}
			if page == 2 {
				cursor = p.Prev
				break
			}
			cursor = p.Next
		}
		p, err := q.Limit(size / 2).Before(cursor).Page(ctx)
		if err != nil || len(p.Items) != size/2 || p.Items[0].ID != nth(2*size-size/2) {
			t.Fatalf("previous page: %v, %v", p.Items[:min(3, len(p.Items))], err)
		}
	}
}

// CountBy returns the error of any of its commands.
func TestCountByFails(t *testing.T) {
	t.Parallel()
	forEachLayout(t, "citizen", func(t *testing.T, client rueidis.Client, opt model.Options) {
		cut := &failing{Client: client}
		cut.left.Store(math.MaxInt64)
		citizens := store[citizen](t, cut, opt)
		for i := range 10 {
			mustCreate(t, citizens, citizen{Name: fmt.Sprint(i % 2), Email: fmt.Sprint(i), City: "Rome", Age: i})
		}
		for _, q := range []*model.Query[citizen]{
			citizens.Find(), citizens.Find(model.Eq("name", "1")), citizens.Find(model.Eq("city", "Rome"), model.AtLeast("age", 3)),
		} {
			for left := int64(0); ; left++ {
				cut.left.Store(left)
				counts, err := q.CountBy(t.Context(), "name", 0)
				if err == nil && len(counts) > 0 {
					break
				} else if err == nil {
					t.Fatalf("CountBy = %v without an error after %d commands", counts, left)
				}
			}
			cut.left.Store(math.MaxInt64)
		}
	})
}
