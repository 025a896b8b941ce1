package model_test

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"retwis/model"
)

// filled is a model with records.
type filled struct {
	things  *model.Store[thing]
	records []thing // records that have not expired
	among   []model.Collection

	created  func(a, b *thing) int // compares by creation
	answered *int                  // number of queries on indexes that do not contain all records
}

// find returns the query for a condition, within the sets.
func (f *filled) find(cond model.Cond) *model.Query[thing] {
	q := f.things.Find(cond)
	for _, c := range f.among {
		q = q.Among(c)
	}
	return q
}

// ask runs a query in every way.
func (f *filled) ask(ctx context.Context, t *rapid.T) {
	what := drawTest(t, 3)
	o := some(t, "order", orders()...)
	q := f.find(what.cond).OrderBy(o.fields...)
	if o.created {
		q = q.Newest().Reverse()
	}
	ordered := len(o.fields) > 0 || o.created
	turned := ordered && rapid.Bool().Draw(t, "desc")
	if turned {
		q = q.Reverse()
	}
	loose := what.loose || o.loose
	noIndex := func(err error) bool { return loose && errors.Is(err, model.ErrNoIndex) }
	if err := q.Check(); err != nil && !noIndex(err) {
		t.Fatal(err)
	}
	compare := o.compare
	if o.created {
		compare = f.created
	}
	var fitting, want []string
	byID := map[string]*thing{}
	for i := range f.records {
		x := &f.records[i]
		if byID[x.ID] = x; what.fits(x) {
			fitting = append(fitting, x.ID)
			if o.has(x) {
				want = append(want, x.ID)
			}
		}
	}
	limit := rapid.IntRange(0, 7).Draw(t, "limit")
	n, err := q.Count(ctx)
	if !noIndex(err) && (err != nil || int(n) != len(fitting)) {
		explained, _ := f.find(what.cond).Explain(ctx)
		t.Fatalf("counted %d, %v; want %d\n%s", n, err, len(fitting), explained)
	}
	counts := err == nil
	all, err := q.Slice(ctx)
	if noIndex(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	if loose {
		*f.answered++
	}
	got := idsOf(all)
	explained, err := q.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) && len(got)+len(want) > 0 {
		t.Fatalf("found %q, want %q\n%s", got, want, explained)
	}
	for i := 1; i < len(got); i++ {
		c := compare(byID[got[i-1]], byID[got[i]])
		if turned && c < 0 || !turned && c > 0 {
			t.Fatalf("%s is before %s\n%s", got[i-1], got[i], explained)
		}
	}
	f.askPages(ctx, t, q.Limit(limit), got, limit)
	ids, err := q.Limit(limit).IDs(ctx)
	if limit == 0 {
		limit = len(got)
	}
	if err != nil || !slices.Equal(ids, got[:min(limit, len(got))]) && ordered || len(ids) != min(limit, len(got)) {
		t.Fatalf("ids %q of %q, %v", ids, got, err)
	}
	first, err := q.First(ctx)
	if len(got) == 0 && !errors.Is(err, model.ErrNotFound) || len(got) > 0 && (err != nil || !slices.Contains(got, first.ID)) {
		t.Fatalf("first: %v, %v", first.ID, err)
	}
	if !counts {
		return
	}
	most := rapid.IntRange(1, 10).Draw(t, "most")
	if n, err := q.CountUpTo(ctx, most); err != nil || int(n) != min(most, len(fitting)) {
		t.Fatalf("counted %d of %d up to %d, %v\n%s", n, len(fitting), most, err, explained)
	}
	f.askFacets(ctx, t, q, fitting)
}

// askFacets counts matching records by the values of a field.
func (f *filled) askFacets(ctx context.Context, t *rapid.T, q *model.Query[thing], fitting []string) {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ß", "ss") }
	values := map[string]func(x *thing) []string{
		"name": func(x *thing) []string { return []string{fold(x.Name)} },
		"long": func(x *thing) []string { return []string{short(x.Long)} },
		"tags": func(x *thing) []string { return slices.Compact(slices.Sorted(slices.Values(x.Tags))) },
		"live": func(x *thing) []string { return []string{map[bool]string{true: "1", false: "0"}[x.Live]} },
		"boss": func(x *thing) []string {
			if x.Boss.ID == "" {
				return nil
			}
			return []string{x.Boss.ID}
		},
	}
	field := some(t, "facets", "name", "long", "tags", "live", "boss")
	counts := map[string]int64{}
	for i := range f.records {
		if x := &f.records[i]; slices.Contains(fitting, x.ID) {
			for _, v := range values[field](x) {
				counts[v]++
			}
		}
	}
	want := []model.ValueCount{}
	for v, n := range counts {
		want = append(want, model.ValueCount{Value: v, Count: n})
	}
	slices.SortFunc(want, func(a, b model.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	most := rapid.IntRange(0, 4).Draw(t, "values")
	if most > 0 {
		want = want[:min(most, len(want))]
	}
	if got, err := q.CountBy(ctx, field, most); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s: counted %v, %v; want %v", field, got, err, want)
	}
}

// askPages reads page by page, and compares the result with that of one query.
func (f *filled) askPages(ctx context.Context, t *rapid.T, q *model.Query[thing], all []string, limit int) {
	var got []string
	var each [][]string
	last := ""
	for pages, cursor := 0, ""; ; pages++ {
		page, err := q.After(cursor).Page(ctx)
		if err != nil || pages > len(all) {
			t.Fatalf("page %d: %v", pages, err)
		}
		got = append(got, idsOf(page.Items)...)
		each = append(each, idsOf(page.Items))
		if last = page.Prev; (last == "") != (cursor == "" || len(page.Items) == 0) {
			t.Fatalf("page %d of %d has the previous one %q", pages, len(page.Items), last)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
		if limit > 0 && len(page.Items) != limit {
			t.Fatalf("a page of %d, not %d", len(page.Items), limit)
		}
	}
	for i := len(each) - 2; i >= 0 && last != ""; i-- {
		page, err := q.Before(last).Page(ctx)
		if err != nil || !slices.Equal(idsOf(page.Items), each[i]) || page.Next == "" || (page.Prev == "") != (i == 0) {
			t.Fatalf("before page %d: %q, want %q; %q, %q, %v", i+1, idsOf(page.Items), each[i], page.Prev, page.Next, err)
		}
		last = page.Prev
	}
	// Without an order the plan may differ from that query's, but all pages have the same plan.
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(all)); !slices.Equal(got, want) {
		t.Fatalf("pages %q, want %q", got, want)
	}
}

func idsOf(things []thing) []string {
	ids := make([]string, len(things))
	for i := range things {
		ids[i] = things[i].ID
	}
	return ids
}

// askOne reads single records and single fields: Get finds a record if and only if the query
// does, and Pluck returns the field values of the records.
func (f *filled) askOne(ctx context.Context, t *rapid.T) {
	what := drawTest(t, 2)
	q := f.find(what.cond)
	if what.loose {
		return
	}
	for i := range f.records {
		x := &f.records[i]
		has, err := q.Has(ctx, x.ID)
		if err != nil || has != what.fits(x) {
			t.Fatalf("%s: %v, %v", x.ID, has, err)
		}
		got, err := q.Limit(1).Get(ctx, x.ID)
		if has && (err != nil || got.ID != x.ID) || !has && !errors.Is(err, model.ErrNotFound) {
			t.Fatalf("%s: %v, %v", x.ID, got, err)
		}
	}
	if has, err := q.Has(ctx, "none"); has || err != nil {
		t.Fatal("a record that does not exist is found", err)
	}
	o := some(t, "order", orders()...)
	if o.loose {
		return
	}
	all, err := q.OrderBy(o.fields...).Slice(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range all {
		want = append(want, all[i].ID+" "+all[i].Long)
	}
	var longs []string
	for long, err := range model.Pluck[string](ctx, q.OrderBy(o.fields...), "long") {
		if err != nil {
			t.Fatal(err)
		}
		longs = append(longs, long)
	}
	for i := range longs {
		got = append(got, all[min(i, len(all)-1)].ID+" "+longs[i])
	}
	if !slices.Equal(got, want) && len(o.fields) > 0 || len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range all {
		if score, err := model.Field[*float64](ctx, f.things, all[i].ID, "score"); err != nil || (score == nil) != (all[i].Score == nil) {
			t.Fatal(score, err)
		}
		if born, err := model.Field[time.Time](ctx, f.things, all[i].ID, "born"); err != nil || !born.Equal(all[i].Born) {
			t.Fatal(born, err)
		}
	}
}
